//! What the site asks of Redis, and how long it waits.

use std::{io, time::Duration};

use redis::{RedisResult, Script, aio::ConnectionManager};
use tokio::time::timeout;

/// Longest time that a request waits for Redis.
pub(super) const RESPONSE_TIMEOUT: Duration = Duration::from_millis(40);

/// Takes a token from each bucket, or from none. A key that holds no bucket begins anew. Only such
/// a key is deleted: Redis lets a script that has written exceed `maxmemory`. Any other error of a
/// read is the reply: taken for an empty key, it would make every bucket full.
pub(super) const TAKE: &str = r"
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local tokens, ok = {}, 1
for i, key in ipairs(KEYS) do
    local capacity, rate = tonumber(ARGV[2 * i - 1]), tonumber(ARGV[2 * i])
    local kept = redis.pcall('HMGET', key, 'tokens', 'at')
    local left, at = tonumber(kept[1]), tonumber(kept[2])
    tokens[i] = capacity
    if left and left >= 0 and at then
        tokens[i] = math.min(capacity, left + math.max(0, now - at) * rate / 1000)
    elseif kept.err and not string.find(kept.err, 'WRONGTYPE') then
        return kept
    elseif kept.err or kept[1] or kept[2] then
        redis.call('DEL', key)
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

/// A bucket to take a token from: its key, its capacity, and its tokens per second.
pub(crate) type Take = (String, f64, f64);

pub(super) async fn taken(
    script: &Script,
    buckets: &[Take],
    mut connection: ConnectionManager,
) -> RedisResult<Vec<String>> {
    let mut call = script.prepare_invoke();
    for (key, capacity, per_second) in buckets {
        call.key(key).arg(*capacity).arg(*per_second);
    }
    call.invoke_async(&mut connection).await
}

pub(super) async fn got(
    key: &str,
    mut connection: ConnectionManager,
) -> RedisResult<Option<Vec<u8>>> {
    redis::cmd("GET").arg(key).query_async(&mut connection).await
}

pub(super) async fn kept(
    key: &str,
    value: &[u8],
    ttl_ms: i64,
    mut connection: ConnectionManager,
) -> RedisResult<()> {
    let mut set = redis::cmd("SET");
    set.arg(key).arg(value).arg("PX").arg(ttl_ms);
    set.query_async(&mut connection).await
}

/// The answer within the time of a request.
pub(super) async fn in_time<T, F>(
    connection: &ConnectionManager,
    asked: impl Fn(ConnectionManager) -> F,
) -> RedisResult<T>
where
    F: Future<Output = RedisResult<T>>,
{
    timeout(RESPONSE_TIMEOUT, once_more(connection, asked)).await.unwrap_or_else(|_| {
        let late = format!("no answer within {} ms", RESPONSE_TIMEOUT.as_millis());
        Err(io::Error::new(io::ErrorKind::TimedOut, late).into())
    })
}

/// Asks again if the connection was closed, as Redis does to idle ones and when it restarts: the
/// manager then opens a new connection. If only the answer was lost, a bucket gives a token twice.
pub(super) async fn once_more<T, F>(
    connection: &ConnectionManager,
    asked: impl Fn(ConnectionManager) -> F,
) -> RedisResult<T>
where
    F: Future<Output = RedisResult<T>>,
{
    match asked(connection.clone()).await {
        Err(error) if error.is_connection_dropped() => asked(connection.clone()).await,
        answer => answer,
    }
}
