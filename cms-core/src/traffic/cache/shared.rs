//! Replies in Redis, shared by all processes of the site. `cms-http` defines their content.

use super::Cache;

impl Cache {
    /// Where replies are kept: `memory`, `redis`, or `redis_away` (Redis does not answer, so each
    /// process keeps its own).
    #[must_use]
    pub fn state(&self) -> &'static str {
        match self.0.redis.as_ref() {
            None => "memory",
            Some(redis) if redis.is_away() => "redis_away",
            Some(_) => "redis",
        }
    }

    /// The value that some process of the site kept under this name. None also while Redis is away
    /// or not configured.
    // For cms-http: the names and the form of replies are its own.
    #[doc(hidden)]
    pub async fn shared_reply(&self, name: &str) -> Option<Vec<u8>> {
        self.0.redis.as_ref()?.get(name).await
    }

    /// Keeps a reply for all processes of the site for `ttl_s` seconds. Does nothing while Redis is
    /// away or not configured.
    // For cms-http, as above.
    #[doc(hidden)]
    pub async fn share_reply(&self, name: &str, reply: &[u8], ttl_s: i64) {
        if let Some(redis) = self.0.redis.as_ref() {
            redis.set(name, reply, ttl_s * 1000).await;
        }
    }

    /// Whether replies are shared. If not, callers need not prepare them.
    // For cms-http, as above.
    #[doc(hidden)]
    #[must_use]
    pub fn shares_replies(&self) -> bool {
        self.0.redis.as_ref().is_some_and(|redis| !redis.is_away())
    }
}
