//! Buckets in Redis, shared by several machines. One script checks all buckets and takes a token
//! from each or from none, by the server's clock. While Redis is away, each process uses buckets
//! of its own.

use redis::Script;

use super::{
    bucket::{self, Bucket, Fill, Owner, Quota},
    memory::Memory,
};
use crate::{
    Result,
    ground::Millis,
    traffic::redis::{Redis, unreachable},
};

/// Part of every name. The braces make a cluster keep all buckets on one node, because a request
/// takes tokens from buckets of two owners.
const PLACE: &str = "{limit}";
/// Most buckets in a listing.
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
        local passed = math.max(0, now - tonumber(kept[2]))
        tokens[i] = math.min(capacity, tonumber(kept[1]) + passed * rate / 1000)
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

/// The shared buckets, and this process's own buckets for when Redis is away.
pub(super) struct Shared {
    redis: Redis,
    script: Script,
    own: Memory,
}

impl Shared {
    pub(super) fn new(redis: Redis) -> Self {
        Self { redis, script: Script::new(TAKE), own: Memory::default() }
    }

    pub(super) async fn take(&self, buckets: &[(Owner, Bucket)], now: Millis) -> Quota {
        let mut call = self.script.prepare_invoke();
        for (owner, bucket) in buckets {
            call.key(self.key(*owner, bucket.name));
            call.arg(bucket.capacity).arg(bucket.per_second);
        }
        let mut connection = self.redis.connection();
        let Some(reply) = self.redis.ask(call.invoke_async::<Vec<String>>(&mut connection)).await
        else {
            return self.own.take(buckets, now);
        };
        let mut numbers = reply.iter().map(|number| number.parse::<f64>().unwrap_or(0.0));
        let allowed = numbers.next() == Some(1.0);
        let fills: Vec<Fill> = numbers.map(|tokens| Fill { tokens, at: now }).collect();
        let kinds: Vec<Bucket> = buckets.iter().map(|(_, bucket)| *bucket).collect();
        bucket::quota(&kinds, &fills, allowed)
    }

    pub(super) fn is_away(&self) -> bool {
        self.redis.is_away()
    }

    pub(super) fn own(&self) -> &Memory {
        &self.own
    }

    pub(super) async fn reset(&self, owner: Owner) -> Result<()> {
        self.own.reset(owner);
        let mut connection = self.redis.connection();
        redis::cmd("DEL")
            .arg(self.keys(owner))
            .query_async::<i64>(&mut connection)
            .await
            .map(drop)
            .map_err(unreachable)
    }

    /// Buckets that are not full: those of one owner, or about a thousand of all owners.
    pub(super) async fn used(
        &self,
        owner: Option<Owner>,
    ) -> Result<Vec<(Owner, &'static str, f64)>> {
        if let Some(owner) = owner {
            return self.fills(self.keys(owner)).await;
        }
        let mut connection = self.redis.connection();
        let (mut cursor, mut used) = (0_u64, Vec::new());
        loop {
            let mut scan = redis::cmd("SCAN");
            scan.arg(cursor)
                .arg("MATCH")
                .arg(format!("{}:{PLACE}:*", self.redis.prefix()))
                .arg("COUNT")
                .arg(LISTED);
            let (next, keys): (u64, Vec<String>) =
                scan.query_async(&mut connection).await.map_err(unreachable)?;
            used.extend(self.fills(keys).await?);
            cursor = next;
            if cursor == 0 || used.len() >= LISTED {
                return Ok(used);
            }
        }
    }

    /// The present fill of these buckets, by the server's clock.
    async fn fills(&self, keys: Vec<String>) -> Result<Vec<(Owner, &'static str, f64)>> {
        let mut ask = redis::pipe();
        ask.cmd("TIME");
        for key in &keys {
            ask.cmd("HMGET").arg(key).arg("tokens").arg("at");
        }
        let answers: Vec<(Option<f64>, Option<i64>)> =
            ask.query_async(&mut self.redis.connection()).await.map_err(unreachable)?;
        let Some(((Some(seconds), Some(micros)), answers)) = answers.split_first() else {
            return Ok(Vec::new());
        };
        let now = *seconds as Millis * 1000 + micros / 1000;
        let fill = |(key, answer): (&String, &(Option<f64>, Option<i64>))| {
            let (owner, bucket) = self.parse(key)?;
            let (tokens, at) = (answer.0?, answer.1?);
            let fill = bucket.refilled(Fill { tokens, at }, now);
            (fill.tokens < bucket.capacity).then_some((owner, bucket.name, fill.tokens))
        };
        Ok(keys.iter().zip(answers).filter_map(fill).collect())
    }

    /// The keys of all buckets of an owner.
    fn keys(&self, owner: Owner) -> Vec<String> {
        bucket::ALL.iter().map(|bucket| self.key(owner, bucket.name)).collect()
    }

    fn key(&self, owner: Owner, bucket: &str) -> String {
        format!("{}:{PLACE}:{owner}:{bucket}", self.redis.prefix())
    }

    fn parse(&self, key: &str) -> Option<(Owner, Bucket)> {
        let name = key.strip_prefix(self.redis.prefix())?.strip_prefix(':')?;
        let (owner, bucket) = name.strip_prefix(PLACE)?.strip_prefix(':')?.rsplit_once(':')?;
        Some((owner.parse().ok()?, *bucket::ALL.iter().find(|known| known.name == bucket)?))
    }
}
