//! The connection to Redis, shared by limiter and cache.
//!
//! When Redis does not answer within [`RESPONSE_TIMEOUT`], each process uses its own memory, logs
//! that, and returns to Redis by itself.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use arc_swap::ArcSwap;
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
/// How often to ask whether a Redis that was away is back.
const RETRY: Duration = Duration::from_millis(200);

/// A connection. Clones share it and its state.
#[derive(Clone)]
pub(crate) struct Redis(Arc<Shared>);

struct Shared {
    client: Client,
    connection: ArcSwap<ConnectionManager>,
    prefix: String,
    away: AtomicBool,
}

impl Redis {
    /// The Redis of the site, if a store is set to `redis`. It connects later, because a site also
    /// starts without Redis.
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
        Ok(Some(Self(Arc::new(Shared {
            client,
            connection,
            prefix,
            away: AtomicBool::new(false),
        }))))
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
        self.0.away.load(Ordering::Relaxed)
    }

    /// Whether Redis answers at all.
    pub(crate) async fn ping(&self) -> Result<()> {
        let mut connection = self.connection();
        let answer: RedisResult<String> = redis::cmd("PING").query_async(&mut connection).await;
        answer.map(drop).map_err(unreachable)
    }

    /// The answer, if it comes in time. None: Redis is away.
    pub(crate) async fn ask<T>(&self, asked: impl Future<Output = RedisResult<T>>) -> Option<T> {
        if self.is_away() {
            return None;
        }
        let cause = match tokio::time::timeout(RESPONSE_TIMEOUT, asked).await {
            Ok(Ok(answer)) => return Some(answer),
            Ok(Err(error)) => error.to_string(),
            Err(_) => "no answer in time".to_owned(),
        };
        self.leave(&cause);
        None
    }

    /// The value of a key. None also while Redis is away.
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
        if self.0.away.swap(true, Ordering::Relaxed) {
            return;
        }
        tracing::warn!(cause, "redis is away: this process counts and keeps replies by itself");
        let shared = Arc::downgrade(&self.0);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(RETRY).await;
                let Some(shared) = shared.upgrade() else { return };
                let trying = shared.clone();
                // A task of its own: a panic is a failed try.
                let tried = tokio::spawn(async move {
                    tokio::time::timeout(RESPONSE_TIMEOUT * 5, trying.reach()).await
                });
                if let Ok(Ok(Ok(connection))) = tried.await {
                    shared.connection.store(Arc::new(connection));
                    shared.away.store(false, Ordering::Relaxed);
                    tracing::info!("redis is back");
                    return;
                }
            }
        });
    }
}

impl Shared {
    /// Opens a new connection and checks that it can write. An old connection may lead to a server
    /// that is now a replica, and a full server only reads.
    async fn reach(&self) -> RedisResult<ConnectionManager> {
        let mut connection = connect(&self.client)?;
        let mut probe = redis::cmd("SET");
        probe.arg(format!("{}:probe", self.prefix)).arg(1).arg("PX").arg(1000);
        probe.query_async::<()>(&mut connection).await?;
        Ok(connection)
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
    Error::new(Code::Unavailable, "Redis cannot be reached: check redis_url.").caused_by(error)
}
