//! Buckets shared by several machines, in Redis: one script that looks at all and takes from all or none, by the server's clock.
//!
//! While Redis does not answer within [`PATIENCE`] each process uses buckets of its own, says so, and returns by itself.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use redis::{
    Script,
    aio::{ConnectionManager, ConnectionManagerConfig},
};

use super::{
    bucket::{self, Bucket, Fill, Owner, Quota},
    memory::Memory,
};
use crate::{Code, Error, Result, clock::Millis, settings::Secret};

/// No request waits longer for Redis.
const PATIENCE: Duration = Duration::from_millis(40);
/// How often a Redis that was away is asked whether it is back.
const RETRY: Duration = Duration::from_millis(200);
/// Buckets that a listing shows at most.
const LISTED: usize = 1000;

const TAKE: &str = r"
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local tokens, ok = {}, 1
for i, key in ipairs(KEYS) do
    local capacity, rate = tonumber(ARGV[2 * i - 1]), tonumber(ARGV[2 * i])
    local kept = redis.call('HMGET', key, 'tokens', 'at')
    tokens[i] = capacity
    if kept[1] then
        tokens[i] = math.min(capacity, tonumber(kept[1]) + math.max(0, now - tonumber(kept[2])) * rate / 1000)
    end
    if tokens[i] < 1 then ok = 0 end
end
local reply = {ok}
for i, key in ipairs(KEYS) do
    local capacity, rate = tonumber(ARGV[2 * i - 1]), tonumber(ARGV[2 * i])
    if ok == 1 then tokens[i] = tokens[i] - 1 end
    redis.call('HSET', key, 'tokens', tostring(tokens[i]), 'at', now)
    redis.call('PEXPIRE', key, math.ceil((capacity - tokens[i]) / rate * 1000) + 1000)
    reply[i + 1] = tostring(tokens[i])
end
return reply
";

/// The shared buckets, and the process's own for the time without.
pub(super) struct Redis {
    shared: Arc<Shared>,
    own: Memory,
}

struct Shared {
    connection: ConnectionManager,
    script: Script,
    prefix: String,
    away: AtomicBool,
}

impl Redis {
    /// Does not connect yet: a site starts without Redis too.
    pub(super) fn new(url: &Secret, prefix: &str) -> Result<Self> {
        let invalid = |e: redis::RedisError| Error::new(Code::ValidationFailed, format!("redis_url cannot be used: {e}"));
        let client = redis::Client::open(url.expose()).map_err(invalid)?;
        let config = ConnectionManagerConfig::new()
            .set_number_of_retries(1)
            .set_max_delay(RETRY)
            .set_connection_timeout(Some(Duration::from_secs(1)))
            .set_response_timeout(Some(Duration::from_secs(1)));
        let connection = ConnectionManager::new_lazy_with_config(client, config).map_err(invalid)?;
        let shared = Shared { connection, script: Script::new(TAKE), prefix: prefix.to_owned(), away: AtomicBool::new(false) };
        Ok(Self { shared: Arc::new(shared), own: Memory::default() })
    }

    pub(super) async fn take(&self, owner: Owner, buckets: &[Bucket], now: Millis) -> Quota {
        if self.is_away() {
            return self.own.take(owner, buckets, now);
        }
        match tokio::time::timeout(PATIENCE, self.shared.take(owner, buckets, now)).await {
            Ok(Ok(quota)) => quota,
            Ok(Err(error)) => {
                self.leave(&error.to_string());
                self.own.take(owner, buckets, now)
            }
            Err(_) => {
                self.leave("no answer in time");
                self.own.take(owner, buckets, now)
            }
        }
    }

    /// Whether this process uses buckets of its own at the moment.
    pub(super) fn is_away(&self) -> bool {
        self.shared.away.load(Ordering::Relaxed)
    }

    pub(super) fn own(&self) -> &Memory {
        &self.own
    }

    fn leave(&self, cause: &str) {
        if self.shared.away.swap(true, Ordering::Relaxed) {
            return;
        }
        tracing::warn!(cause, "redis is away: the limiter counts in this process alone");
        let shared = Arc::downgrade(&self.shared);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(RETRY).await;
                let Some(shared) = shared.upgrade() else { return };
                let mut connection = shared.connection.clone();
                let ping = redis::cmd("PING");
                let answer = tokio::time::timeout(PATIENCE * 5, ping.query_async::<String>(&mut connection)).await;
                if matches!(answer, Ok(Ok(_))) {
                    shared.away.store(false, Ordering::Relaxed);
                    tracing::info!("redis is back: the limiter counts for all processes together");
                    return;
                }
            }
        });
    }

    pub(super) async fn reset(&self, owner: Owner) -> Result<()> {
        self.own.reset(owner);
        let keys: Vec<String> = bucket::ALL.iter().map(|bucket| self.shared.key(owner, bucket.name)).collect();
        let mut connection = self.shared.connection.clone();
        redis::cmd("DEL").arg(keys).query_async::<i64>(&mut connection).await.map(drop).map_err(unreachable)
    }

    /// Buckets that are not full, a thousand at most.
    pub(super) async fn used(&self) -> Result<Vec<(Owner, &'static str, f64)>> {
        let mut connection = self.shared.connection.clone();
        let (mut cursor, mut used) = (0_u64, Vec::new());
        loop {
            let mut scan = redis::cmd("SCAN");
            scan.arg(cursor).arg("MATCH").arg(format!("{}:limit:*", self.shared.prefix)).arg("COUNT").arg(500);
            let (next, keys): (u64, Vec<String>) = scan.query_async(&mut connection).await.map_err(unreachable)?;
            for key in keys {
                let Some((owner, bucket)) = self.shared.parse(&key) else { continue };
                let mut get = redis::cmd("HMGET");
                get.arg(&key).arg("tokens").arg("at");
                let (tokens, at): (Option<f64>, Option<i64>) = get.query_async(&mut connection).await.map_err(unreachable)?;
                let (seconds, micros): (i64, i64) = redis::cmd("TIME").query_async(&mut connection).await.map_err(unreachable)?;
                if let (Some(tokens), Some(at)) = (tokens, at) {
                    let fill = bucket.refilled(Fill { tokens, at }, seconds * 1000 + micros / 1000);
                    used.push((owner, bucket.name, fill.tokens));
                }
            }
            cursor = next;
            if cursor == 0 || used.len() >= LISTED {
                return Ok(used);
            }
        }
    }
}

impl Shared {
    /// The braces make a cluster keep all buckets of an owner in one place.
    fn key(&self, owner: Owner, bucket: &str) -> String {
        format!("{}:limit:{{{owner}}}:{bucket}", self.prefix)
    }

    fn parse(&self, key: &str) -> Option<(Owner, Bucket)> {
        let (owner, bucket) = key.strip_prefix(&format!("{}:limit:{{", self.prefix))?.split_once("}:")?;
        Some((owner.parse().ok()?, *bucket::ALL.iter().find(|known| known.name == bucket)?))
    }

    async fn take(&self, owner: Owner, buckets: &[Bucket], now: Millis) -> Result<Quota> {
        let mut call = self.script.prepare_invoke();
        for bucket in buckets {
            call.key(self.key(owner, bucket.name));
            call.arg(bucket.capacity).arg(bucket.per_second);
        }
        let reply: Vec<String> = call.invoke_async(&mut self.connection.clone()).await.map_err(unreachable)?;
        let mut numbers = reply.iter().map(|number| number.parse::<f64>().unwrap_or(0.0));
        let allowed = numbers.next() == Some(1.0);
        let fills: Vec<Fill> = numbers.map(|tokens| Fill { tokens, at: now }).collect();
        Ok(bucket::quota(buckets, &fills, allowed))
    }
}

fn unreachable(error: redis::RedisError) -> Error {
    Error::new(Code::Unavailable, "Redis cannot be reached: check redis_url.").caused_by(error)
}
