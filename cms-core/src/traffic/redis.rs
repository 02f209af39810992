//! The connection to Redis, shared by limiter and cache.
//!
//! When Redis does not answer within [`RESPONSE_TIMEOUT`], each process uses its own memory and
//! logs that. Each process returns to Redis by itself.

use std::{sync::Arc, time::Duration};

use arc_swap::{ArcSwap, ArcSwapOption};
use redis::{
    Client, RedisResult,
    aio::{ConnectionManager, ConnectionManagerConfig},
};

use crate::{
    Code, Error, Result,
    ground::crypto,
    settings::{CacheStore, LimiterStore, Settings},
};

/// Longest time that a request waits for Redis.
const RESPONSE_TIMEOUT: Duration = Duration::from_millis(40);
/// Interval between checks whether a Redis that was away is back.
const RETRY: Duration = Duration::from_millis(200);

const UNREACHABLE: &str = "Redis cannot be reached: check redis_url.";

/// A connection. Clones share it and its state.
#[derive(Clone)]
pub(crate) struct Redis(Arc<Shared>);

struct Shared {
    client: Client,
    connection: ArcSwap<ConnectionManager>,
    prefix: String,
    /// Why Redis is away; `None`: Redis is in use.
    away: ArcSwapOption<String>,
}

impl Redis {
    /// The Redis of the site, if a store is set to `redis`. It connects later, because a site can
    /// start without Redis.
    pub(crate) fn of(settings: &Settings) -> Result<Option<Self>> {
        let wanted = settings.limiter.store == LimiterStore::Redis
            || settings.cache.store == CacheStore::Redis;
        let Some(url) = settings.redis_url.as_ref().filter(|_| wanted) else { return Ok(None) };
        let client = Client::open(url.expose()).map_err(invalid)?;
        let connection = ArcSwap::from_pointee(connect(&client).map_err(invalid)?);
        // Sites that share a Redis may have the same settings, but not the same secrets.
        let secret = settings.encryption_key.as_ref().map_or("", |key| key.expose());
        let mark = crypto::sha256_hex(format!("redis {secret}").as_bytes());
        let prefix = format!("{}:{}", settings.key_prefix, &mark[..16]);
        let away = ArcSwapOption::empty();
        Ok(Some(Self(Arc::new(Shared { client, connection, prefix, away }))))
    }

    /// Prefix of all keys of this site.
    pub(crate) fn prefix(&self) -> &str {
        &self.0.prefix
    }

    pub(crate) fn connection(&self) -> ConnectionManager {
        self.0.connection.load().as_ref().clone()
    }

    /// Whether Redis is away, so that this process uses its own memory.
    pub(crate) fn is_away(&self) -> bool {
        self.0.away.load().is_some()
    }

    /// Why this process left Redis; `None`: it uses Redis.
    pub(crate) fn why_away(&self) -> Option<Arc<String>> {
        self.0.away.load_full()
    }

    /// Whether Redis can be written and read. If this fails, the process leaves Redis.
    ///
    /// # Errors
    /// The fault, and the remedy.
    pub(crate) async fn ping(&self) -> Result<(), (Error, &'static str)> {
        // A new connection may be refused while the existing one still answers.
        let tried = if self.is_away() {
            self.0.reach().await.map(drop)
        } else {
            self.0.probe(&mut self.connection()).await
        };
        let Err(error) = tried else { return Ok(()) };
        self.leave(&error.to_string());
        let (what, remedy) = explain(error.code());
        Err((Error::new(Code::Unavailable, what).caused_by(error), remedy))
    }

    /// The answer, if it comes in time. `None`: Redis is away.
    pub(crate) async fn ask<T>(&self, asked: impl Future<Output = RedisResult<T>>) -> Option<T> {
        if self.is_away() {
            return None;
        }
        let cause = match tokio::time::timeout(RESPONSE_TIMEOUT, asked).await {
            Ok(Ok(answer)) => return Some(answer),
            Ok(Err(error)) => error.to_string(),
            Err(_) => format!("no answer within {} ms", RESPONSE_TIMEOUT.as_millis()),
        };
        self.leave(&cause);
        None
    }

    /// The value of a key. Also `None` while Redis is away.
    pub(crate) async fn get(&self, name: &str) -> Option<Vec<u8>> {
        let mut connection = self.connection();
        let mut get = redis::cmd("GET");
        get.arg(format!("{}:{name}", self.prefix()));
        self.ask(get.query_async(&mut connection)).await?
    }

    /// Keeps a value for `ttl_ms` milliseconds. Does nothing while Redis is away.
    pub(crate) async fn set(&self, name: &str, value: &[u8], ttl_ms: i64) {
        let mut connection = self.connection();
        let mut set = redis::cmd("SET");
        set.arg(format!("{}:{name}", self.prefix())).arg(value).arg("PX").arg(ttl_ms);
        self.ask(set.query_async::<()>(&mut connection)).await;
    }

    fn leave(&self, cause: &str) {
        let why = Some(Arc::new(cause.to_owned()));
        if self.0.away.compare_and_swap(&None::<Arc<String>>, why).is_some() {
            return;
        }
        tracing::warn!(cause, "redis is away: this process counts and keeps replies by itself");
        let shared = Arc::downgrade(&self.0);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(RETRY).await;
                let Some(shared) = shared.upgrade() else { return };
                let trying = shared.clone();
                // A task of its own, so that a panic is just a failed try.
                let tried = tokio::spawn(async move {
                    tokio::time::timeout(RESPONSE_TIMEOUT * 5, trying.reach()).await
                });
                if let Ok(Ok(Ok(connection))) = tried.await {
                    shared.connection.store(Arc::new(connection));
                    shared.away.store(None);
                    tracing::info!("redis is back");
                    return;
                }
            }
        });
    }
}

impl Shared {
    /// Opens a new connection and checks that it can write and read. An old connection may lead to
    /// a server that is now a replica, and a full server can only read.
    async fn reach(&self) -> RedisResult<ConnectionManager> {
        let mut connection = connect(&self.client)?;
        self.probe(&mut connection).await?;
        Ok(connection)
    }

    /// Writes a value and reads it back.
    async fn probe(&self, connection: &mut ConnectionManager) -> RedisResult<()> {
        let key = format!("{}:probe", self.prefix);
        let mut write = redis::cmd("SET");
        write.arg(&key).arg(1).arg("PX").arg(1000);
        write.query_async::<()>(connection).await?;
        // A full server may already have dropped the key.
        redis::cmd("GET").arg(&key).query_async::<Option<String>>(connection).await.map(drop)
    }
}

/// The meaning of an error with this code, and the remedy. `None`: Redis has not answered.
fn explain(code: Option<&str>) -> (&'static str, &'static str) {
    match code {
        None => (UNREACHABLE, "start Redis or correct redis_url"),
        Some("OOM") => (
            "Redis is full and refuses writes.",
            "raise Redis's maxmemory, or set its maxmemory-policy to allkeys-lru",
        ),
        Some("READONLY") => (
            "Redis is a replica, which only reads.",
            "let redis_url name the primary, or make this server one with REPLICAOF NO ONE",
        ),
        Some(_) => ("Redis refuses this site.", "correct what Redis names, or redis_url"),
    }
}

fn connect(client: &Client) -> RedisResult<ConnectionManager> {
    let config = ConnectionManagerConfig::new()
        .set_number_of_retries(1)
        .set_max_delay(RETRY)
        .set_connection_timeout(Some(Duration::from_secs(1)))
        .set_response_timeout(Some(Duration::from_secs(1)));
    ConnectionManager::new_lazy_with_config(client.clone(), config)
}

fn invalid(error: redis::RedisError) -> Error {
    Error::new(Code::ValidationFailed, format!("redis_url cannot be used: {error}"))
}

pub(crate) fn unreachable(error: redis::RedisError) -> Error {
    Error::new(Code::Unavailable, UNREACHABLE).caused_by(error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Secret;

    fn nowhere() -> Redis {
        let mut settings = Settings::default();
        settings.limiter.store = LimiterStore::Redis;
        settings.redis_url = Some(Secret::new("redis://127.0.0.1:1/"));
        Redis::of(&settings).expect("an address").expect("a store")
    }

    #[tokio::test]
    async fn the_first_cause_of_leaving_is_kept() {
        let redis = nowhere();
        assert!(!redis.is_away() && redis.why_away().is_none());
        redis.leave("OOM");
        redis.leave("another");
        assert_eq!(redis.why_away().expect("a cause").as_str(), "OOM");
        assert!(redis.is_away());
    }

    #[tokio::test]
    async fn whoever_finds_redis_away_leaves_it() {
        let redis = nowhere();
        let (error, remedy) = redis.ping().await.expect_err("nobody listens");
        assert_eq!((error.detail(), remedy), (UNREACHABLE, explain(None).1));
        assert!(redis.is_away());
    }

    #[test]
    fn each_refusal_has_its_remedy() {
        for (code, words) in [
            (None, "start Redis"),
            (Some("OOM"), "maxmemory-policy to allkeys-lru"),
            (Some("READONLY"), "the primary"),
            (Some("NOAUTH"), "redis_url"),
        ] {
            assert!(explain(code).1.contains(words), "{code:?}");
        }
    }
}
