//! The connection to Redis, shared by limiter and cache.
//!
//! When Redis does not answer in time, each process uses its own memory and logs that. Each process
//! returns to Redis by itself. A process that returns and leaves again soon waits longer each time;
//! the log then has one line for the first leave, and one for the return that lasts.

mod faults;
mod requests;

use std::{
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use arc_swap::{ArcSwap, ArcSwapOption};
use redis::{
    Client, RedisResult, Script,
    aio::{ConnectionManager, ConnectionManagerConfig},
};
use tokio::time::{Instant, sleep};

pub(crate) use self::requests::Take;
use self::{
    faults::{explain, invalid},
    requests::{TAKE, got, in_time, kept, once_more, taken},
};
use crate::{
    Code, Error, Result,
    ground::crypto,
    settings::{CacheStore, LimiterStore, Settings},
};

/// Longest time that a new connection may take. No request waits that long.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
/// Pause before each try to return to Redis.
const PAUSE: Duration = Duration::from_millis(200);
/// The pause doubles up to this while the process leaves Redis again and again.
const MAX_PAUSE: Duration = Duration::from_secs(30);
/// A process that uses Redis for this long after its return is back.
const STEADY: Duration = Duration::from_secs(5);

/// Part of the names of all buckets. The braces make a cluster keep all buckets on one node,
/// because a request takes tokens from buckets of two owners.
const BUCKETS: &str = "{limit}";

/// A connection. Clones share it and its state.
#[derive(Clone)]
pub(crate) struct Redis(Arc<Shared>);

struct Shared {
    client: Client,
    connection: ArcSwap<ConnectionManager>,
    prefix: String,
    /// `None`: the limiter does not use Redis.
    take: Option<Script>,
    /// Whether the cache uses Redis.
    keeps_replies: bool,
    /// Why Redis is away; `None`: Redis is in use.
    away: ArcSwapOption<String>,
    outage: Mutex<Outage>,
}

/// The last time away. If the process leaves Redis again soon after its return, that continues.
struct Outage {
    began: Instant,
    /// The last return.
    returned: Option<Instant>,
    pause: Duration,
}

impl Outage {
    fn begin() -> Self {
        Self { began: Instant::now(), returned: None, pause: PAUSE }
    }
}

impl Redis {
    /// The Redis of the site, if a store is set to `redis`. It connects later, because a site can
    /// start without Redis.
    pub(crate) fn of(settings: &Settings) -> Result<Option<Self>> {
        let limits = settings.limiter.store == LimiterStore::Redis;
        let keeps_replies = settings.cache.store == CacheStore::Redis;
        let wanted = limits || keeps_replies;
        let Some(url) = settings.redis_url.as_ref().filter(|_| wanted) else { return Ok(None) };
        let client = Client::open(url.expose()).map_err(invalid)?;
        let connection = ConnectionManager::new_lazy_with_config(client.clone(), config());
        let connection = ArcSwap::from_pointee(connection.map_err(invalid)?);
        // Sites that share a Redis may have the same settings, but not the same secrets.
        let secret = settings.encryption_key.as_ref().map_or("", |key| key.expose());
        let mark = crypto::sha256_hex(format!("redis {secret}").as_bytes());
        Ok(Some(Self(Arc::new(Shared {
            client,
            connection,
            prefix: format!("{}:{}", settings.key_prefix, &mark[..16]),
            take: limits.then(|| Script::new(TAKE)),
            keeps_replies,
            away: ArcSwapOption::empty(),
            outage: Mutex::new(Outage::begin()),
        }))))
    }

    /// The key of a bucket.
    pub(crate) fn bucket(&self, name: &str) -> String {
        self.0.bucket(name)
    }

    /// Whether Redis is away, so that this process uses its own memory.
    pub(crate) fn is_away(&self) -> bool {
        self.0.away.load().is_some()
    }

    /// Why this process left Redis; `None`: it uses Redis.
    pub(crate) fn why_away(&self) -> Option<Arc<String>> {
        self.0.away.load_full()
    }

    /// Whether Redis does what requests ask, in time. If this fails, the process leaves Redis.
    ///
    /// # Errors
    /// The fault, and the remedy.
    pub(crate) async fn ping(&self) -> Result<(), (Error, &'static str)> {
        let tried = if self.is_away() {
            self.0.reach().await.map(drop)
        } else {
            match self.0.probe(&self.0.connection.load_full()).await {
                // Only now: a new connection may be refused while the existing one still answers.
                Err(error) if error.is_io_error() => self.0.renew().await,
                tried => tried,
            }
        };
        let Err(error) = tried else { return Ok(()) };
        self.leave(&error.to_string());
        let (what, remedy) = explain(&error);
        Err((Error::new(Code::Unavailable, what).caused_by(error), remedy))
    }

    /// The answer to an operator, who waits longer than a request.
    ///
    /// # Errors
    /// `unavailable` with the fault.
    pub(crate) async fn query<T, F>(&self, asked: impl Fn(ConnectionManager) -> F) -> Result<T>
    where
        F: Future<Output = RedisResult<T>>,
    {
        let connection = self.0.connection.load_full();
        once_more(&connection, asked)
            .await
            .map_err(|error| Error::new(Code::Unavailable, explain(&error).0).caused_by(error))
    }

    /// The answer, if it comes in time. `None`: Redis is away, or the key holds something else.
    async fn ask<T, F>(&self, asked: impl Fn(ConnectionManager) -> F) -> Option<T>
    where
        F: Future<Output = RedisResult<T>>,
    {
        if self.is_away() {
            return None;
        }
        match in_time(&self.0.connection.load_full(), asked).await {
            Ok(answer) => Some(answer),
            Err(error) if error.code() == Some("WRONGTYPE") => None,
            Err(error) => {
                self.leave(&error.to_string());
                None
            }
        }
    }

    /// Takes a token from each bucket, or from none. Returns 1 or 0, then the tokens that are left
    /// in each. `None`: Redis is away, or the limiter does not use it.
    pub(crate) async fn take(&self, buckets: &[Take]) -> Option<Vec<String>> {
        let script = self.0.take.as_ref()?;
        self.ask(|connection| taken(script, buckets, connection)).await
    }

    /// The value of a key. Also `None` while Redis is away.
    pub(crate) async fn get(&self, name: &str) -> Option<Vec<u8>> {
        let key = format!("{}:{name}", self.0.prefix);
        self.ask(|connection| got(&key, connection)).await?
    }

    /// Keeps a value for `ttl_ms` milliseconds. Does nothing while Redis is away.
    pub(crate) async fn set(&self, name: &str, value: &[u8], ttl_ms: i64) {
        let key = format!("{}:{name}", self.0.prefix);
        self.ask(|connection| kept(&key, value, ttl_ms, connection)).await;
    }

    fn leave(&self, cause: &str) {
        let shared = &self.0;
        let mut outage = shared.outage();
        if self.is_away() {
            return;
        }
        shared.away.store(Some(Arc::new(cause.to_owned())));
        let is_again = outage.returned.is_some_and(|at| at.elapsed() < STEADY);
        if is_again {
            outage.pause = (outage.pause * 2).min(MAX_PAUSE);
        } else {
            *outage = Outage::begin();
            tracing::warn!(cause, "redis is away: this process counts and keeps replies by itself");
        }
        tokio::spawn(come_back(Arc::downgrade(shared), outage.pause, !is_again));
    }
}

/// Brings a process back that has left Redis. `logs`: whether the log names the fault of the first
/// try, which may explain why the process left.
async fn come_back(shared: Weak<Shared>, pause: Duration, logs: bool) {
    let mut is_first = true;
    let returned = loop {
        sleep(pause).await;
        let Some(shared) = shared.upgrade() else { return };
        let trying = shared.clone();
        // A task of its own, so that a panic is just a failed try.
        match tokio::spawn(async move { trying.renew().await }).await {
            Ok(Ok(())) => {
                let returned = Instant::now();
                shared.outage().returned = Some(returned);
                shared.away.store(None);
                break returned;
            }
            Ok(Err(error)) if std::mem::take(&mut is_first) => {
                let cause = error.to_string();
                if logs && shared.away.load().as_ref().is_some_and(|left| **left != cause) {
                    tracing::warn!(cause, "redis is still away");
                }
                shared.away.store(Some(Arc::new(cause)));
            }
            _ => {}
        }
    };
    sleep(STEADY).await;
    let Some(shared) = shared.upgrade() else { return };
    let outage = shared.outage();
    if shared.away.load().is_none() && outage.returned == Some(returned) {
        tracing::warn!(away_s = (returned - outage.began).as_secs(), "redis is back");
    }
}

impl Shared {
    fn bucket(&self, name: &str) -> String {
        format!("{}:{BUCKETS}:{name}", self.prefix)
    }

    fn outage(&self) -> MutexGuard<'_, Outage> {
        self.outage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a new connection that does what requests ask. An old connection may lead to a server
    /// that is now a replica.
    async fn reach(&self) -> RedisResult<ConnectionManager> {
        let connected = ConnectionManager::new_with_config(self.client.clone(), config()).await;
        let connection = connected.map_err(|error| match error.is_timeout() {
            true => {
                let late = format!("no connection within {} s", CONNECT_TIMEOUT.as_secs());
                io::Error::new(io::ErrorKind::NotConnected, late).into()
            }
            false => error,
        })?;
        self.probe(&connection).await?;
        Ok(connection)
    }

    /// Replaces the connection by a new one.
    async fn renew(&self) -> RedisResult<()> {
        self.connection.store(Arc::new(self.reach().await?));
        Ok(())
    }

    /// Does what requests do, within the same time. Otherwise a process would return to a Redis
    /// that the next request leaves again.
    async fn probe(&self, connection: &ConnectionManager) -> RedisResult<()> {
        if let Some(script) = &self.take {
            let bucket = [(self.bucket("probe"), 1.0, 1.0)];
            in_time(connection, |connection| taken(script, &bucket, connection)).await?;
        }
        if self.keeps_replies {
            let key = format!("{}:probe", self.prefix);
            in_time(connection, |connection| kept(&key, b"1", 1000, connection)).await?;
            // A full server may already have dropped the key.
            in_time(connection, |connection| got(&key, connection)).await?;
        }
        Ok(())
    }
}

/// No retries: they would hide the cause behind `requests::RESPONSE_TIMEOUT`.
fn config() -> ConnectionManagerConfig {
    ConnectionManagerConfig::new()
        .set_number_of_retries(0)
        .set_connection_timeout(Some(CONNECT_TIMEOUT))
        .set_response_timeout(Some(CONNECT_TIMEOUT))
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
        assert!(error.detail().contains("cannot be reached"), "{error}");
        assert_eq!(remedy, "start Redis or correct redis_url");
        assert!(redis.is_away());
        assert!(redis.why_away().expect("a cause").contains("refused"), "the true cause");
    }

    #[tokio::test]
    async fn a_process_that_leaves_again_soon_waits_longer() {
        let redis = nowhere();
        for pause_ms in [200, 400, 800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000, 30_000] {
            redis.leave("late");
            assert_eq!(redis.0.outage().pause, Duration::from_millis(pause_ms));
            redis.0.away.store(None);
            redis.0.outage().returned = Some(Instant::now());
        }
        redis.0.outage().returned = Instant::now().checked_sub(STEADY);
        redis.leave("late");
        assert_eq!(redis.0.outage().pause, PAUSE);
    }

    #[test]
    fn an_address_that_is_none_is_explained() {
        let mut settings = Settings::default();
        settings.cache.store = CacheStore::Redis;
        settings.redis_url = Some(Secret::new("redis://:pa#ss@h"));
        let Err(error) = Redis::of(&settings) else { panic!("# needs an escape") };
        assert_eq!(error.fields()[0].field, "redis_url");
        assert!(error.fields()[0].message.contains("# as %23"), "{error}");
    }
}
