//! Buckets in Redis, shared by several machines. One script checks all buckets and takes a token
//! from each or from none, by the server's clock. While Redis is away, each process uses buckets
//! of its own.

use redis::RedisResult;

use super::{
    bucket::{self, Bucket, Fill, Owner, Quota},
    memory::Memory,
};
use crate::{
    Result,
    ground::Millis,
    traffic::redis::{Redis, Take},
};

/// Most buckets in a listing.
const LISTED: usize = 1000;

/// The shared buckets, and this process's own buckets for when Redis is away.
pub(super) struct Shared {
    redis: Redis,
    own: Memory,
}

impl Shared {
    pub(super) fn new(redis: Redis) -> Self {
        Self { redis, own: Memory::default() }
    }

    pub(super) async fn take(&self, buckets: &[(Owner, Bucket)], now: Millis) -> Quota {
        let asked: Vec<Take> = buckets
            .iter()
            .map(|(owner, bucket)| {
                (self.key(*owner, bucket.name), bucket.capacity, bucket.per_second)
            })
            .collect();
        let Some(reply) = self.redis.take(&asked).await else {
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

    /// While Redis is away, only this process's buckets count.
    pub(super) async fn reset(&self, owner: Owner) -> Result<()> {
        self.own.reset(owner);
        if self.is_away() {
            return Ok(());
        }
        let mut delete = redis::cmd("DEL");
        delete.arg(self.keys(owner));
        let delete = &delete;
        self.redis
            .query(|mut connection| async move { delete.exec_async(&mut connection).await })
            .await
    }

    /// Buckets that are not full: those of one owner, or about a thousand of all owners.
    pub(super) async fn used(
        &self,
        owner: Option<Owner>,
    ) -> Result<Vec<(Owner, &'static str, f64)>> {
        if let Some(owner) = owner {
            return self.fills(self.keys(owner)).await;
        }
        let (mut cursor, mut used) = (0_u64, Vec::new());
        loop {
            let mut scan = redis::cmd("SCAN");
            scan.arg(cursor).arg("MATCH").arg(self.redis.bucket("*")).arg("COUNT").arg(LISTED);
            let scan = &scan;
            let (next, keys): (u64, Vec<String>) = self
                .redis
                .query(|mut connection| async move { scan.query_async(&mut connection).await })
                .await?;
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
        // A key that holds no bucket hides only itself.
        ask.ignore_errors().cmd("TIME");
        for key in &keys {
            ask.cmd("HMGET").arg(key).arg("tokens").arg("at");
        }
        let ask = &ask;
        let answers: Vec<RedisResult<(Option<String>, Option<String>)>> = self
            .redis
            .query(|mut connection| async move { ask.query_async(&mut connection).await })
            .await?;
        let number = |text: &Option<String>| text.as_ref()?.parse::<f64>().ok();
        let numbers = |answer: &RedisResult<_>| {
            let (one, other) = answer.as_ref().ok()?;
            Some((number(one)?, number(other)?))
        };
        let Some((time, answers)) = answers.split_first() else { return Ok(Vec::new()) };
        let Some((seconds, micros)) = numbers(time) else { return Ok(Vec::new()) };
        let now = (seconds * 1000.0 + micros / 1000.0) as Millis;
        let fills = keys.iter().zip(answers).filter_map(|(key, answer)| {
            let (owner, bucket) = self.parse(key)?;
            let (tokens, at) = numbers(answer)?;
            let fill = bucket.refilled(Fill { tokens, at: at as Millis }, now);
            (fill.tokens < bucket.capacity).then_some((owner, bucket.name, fill.tokens))
        });
        Ok(fills.collect())
    }

    /// The keys of all buckets of an owner.
    fn keys(&self, owner: Owner) -> Vec<String> {
        bucket::ALL.iter().map(|bucket| self.key(owner, bucket.name)).collect()
    }

    fn key(&self, owner: Owner, bucket: &str) -> String {
        self.redis.bucket(&format!("{owner}:{bucket}"))
    }

    fn parse(&self, key: &str) -> Option<(Owner, Bucket)> {
        let (owner, bucket) = key.strip_prefix(&self.redis.bucket(""))?.rsplit_once(':')?;
        Some((owner.parse().ok()?, *bucket::ALL.iter().find(|known| known.name == bucket)?))
    }
}
