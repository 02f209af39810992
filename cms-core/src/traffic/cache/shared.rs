//! Replies kept in Redis, for all processes of the site. What they mean is known to `cms-http`.

use super::Cache;

impl Cache {
    /// Where replies are kept: `memory`, `redis`, or `redis_away`: each process by itself for now.
    #[must_use]
    pub fn state(&self) -> &'static str {
        match self.0.redis.as_ref() {
            None => "memory",
            Some(redis) if redis.is_away() => "redis_away",
            Some(_) => "redis",
        }
    }

    /// What some process of the site has kept under this name. None as well while Redis is away or
    /// not set.
    pub async fn shared_reply(&self, name: &str) -> Option<Vec<u8>> {
        self.0.redis.as_ref()?.get(name).await
    }

    /// Keeps a reply for the other processes of the site for `ttl_s` seconds. Lost while Redis is
    /// away; ignored when it is not set.
    pub async fn share_reply(&self, name: &str, reply: &[u8], ttl_s: i64) {
        if let Some(redis) = self.0.redis.as_ref() {
            redis.set(name, reply, ttl_s * 1000).await;
        }
    }

    /// Whether replies are shared at all: else there is no need to prepare them for it.
    #[must_use]
    pub fn shares_replies(&self) -> bool {
        self.0.redis.as_ref().is_some_and(|redis| !redis.is_away())
    }
}
