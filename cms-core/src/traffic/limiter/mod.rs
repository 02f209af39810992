//! The rate limiter: one token bucket for each caller, and a second one for some routes.

pub mod bucket;
mod memory;
#[cfg(feature = "redis")]
mod redis;

use bucket::{Bucket, Owner, Quota};
pub use memory::Memory;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::redis::Redis;
use crate::{
    Clock, Code, Error, Result,
    settings::{LimiterStore, Settings},
};

/// The rate limiter of a site.
pub struct Limiter {
    store: Store,
    clock: Clock,
}

enum Store {
    Memory(Memory),
    #[cfg(feature = "redis")]
    Redis(redis::Shared),
    Off,
}

/// A bucket that is not full.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Used {
    /// `key:7`, `user:3`, `app:` with a digest, or `ip:203.0.113.7`; an IPv6 network by its first
    /// address.
    pub owner: String,
    /// The kind of bucket.
    pub bucket: String,
    /// Whole tokens in it.
    pub remaining: u64,
    /// Tokens in a full bucket.
    pub limit: u64,
}

impl Limiter {
    pub(crate) fn new(settings: &Settings, redis: Option<&Redis>, clock: Clock) -> Self {
        let store = match (settings.limiter.store, redis) {
            (LimiterStore::Off, _) => Store::Off,
            #[cfg(feature = "redis")]
            (LimiterStore::Redis, Some(redis)) => Store::Redis(redis::Shared::new(redis.clone())),
            _ => Store::Memory(Memory::default()),
        };
        Self { store, clock }
    }

    /// Takes one token from every bucket that applies to a request: the caller's (`identity`), and
    /// the one of the route if its path has one. The route's bucket may have another owner.
    /// `None`: the limiter is off.
    pub async fn take(
        &self,
        owner: Owner,
        identity: Bucket,
        route: Option<(Owner, &str)>,
    ) -> Option<Quota> {
        let caller = (owner, identity);
        let of_route = |(owner, path)| bucket::of_route(path).map(|bucket| (owner, bucket));
        let both = [caller, route.and_then(of_route).unwrap_or(caller)];
        match &self.store {
            Store::Off => None,
            Store::Memory(memory) => Some(memory.take(applying(&both), self.clock.now())),
            #[cfg(feature = "redis")]
            Store::Redis(redis) => {
                // Boxed, so that the futures of requests without Redis do not reserve its memory.
                Some(Box::pin(redis.take(applying(&both), self.clock.now())).await)
            }
        }
    }

    /// The state that `/readyz` reports: `memory`, `redis`, `redis_away` (each process counts on
    /// its own) or `off`.
    #[must_use]
    pub fn state(&self) -> &'static str {
        match &self.store {
            Store::Memory(_) => "memory",
            #[cfg(feature = "redis")]
            Store::Redis(redis) if redis.is_away() => "redis_away",
            #[cfg(feature = "redis")]
            Store::Redis(_) => "redis",
            Store::Off => "off",
        }
    }

    /// Buckets that are not full, the emptiest first, at most 1,000. With `owner`, only that
    /// owner's buckets.
    ///
    /// # Errors
    /// `bad_query` for an invalid owner; `unavailable` when Redis cannot be reached.
    pub async fn used(&self, owner: Option<&str>) -> Result<Vec<Used>> {
        let owner = owner.map(parse).transpose()?;
        let mut used = match &self.store {
            Store::Memory(memory) => memory.used(self.clock.now()),
            #[cfg(feature = "redis")]
            Store::Redis(redis) if redis.is_away() => redis.own().used(self.clock.now()),
            #[cfg(feature = "redis")]
            Store::Redis(redis) => redis.used(owner).await?,
            Store::Off => Vec::new(),
        };
        used.retain(|(found, ..)| owner.is_none_or(|owner| owner == *found));
        used.sort_by(|a, b| a.2.total_cmp(&b.2));
        let shown = used.into_iter().take(1000).map(|(owner, name, tokens)| {
            let limit = bucket::ALL
                .iter()
                .find(|bucket| bucket.name == name)
                .map_or(0.0, |bucket| bucket.capacity);
            Used {
                owner: owner.to_string(),
                bucket: name.to_owned(),
                remaining: tokens as u64,
                limit: limit as u64,
            }
        });
        Ok(shown.collect())
    }

    /// Fills all buckets of an owner. While Redis is away, these are the buckets of this process;
    /// those in Redis stay as they are.
    ///
    /// # Errors
    /// `bad_query` for an invalid owner; `unavailable` when Redis fails at this moment.
    pub async fn reset(&self, owner: &str) -> Result<()> {
        let owner = parse(owner)?;
        match &self.store {
            Store::Memory(memory) => memory.reset(owner),
            #[cfg(feature = "redis")]
            Store::Redis(redis) => redis.reset(owner).await?,
            Store::Off => {}
        }
        Ok(())
    }

    /// Drops full buckets. Call it about once a minute.
    pub fn tidy(&self) {
        match &self.store {
            Store::Memory(memory) => memory.drop_full(self.clock.now()),
            #[cfg(feature = "redis")]
            Store::Redis(redis) => redis.own().drop_full(self.clock.now()),
            Store::Off => {}
        }
    }
}

/// The caller's bucket and the route's; only one when both are the same.
fn applying(both: &[(Owner, Bucket); 2]) -> &[(Owner, Bucket)] {
    if both[0] == both[1] { &both[..1] } else { both }
}

fn parse(owner: &str) -> Result<Owner> {
    owner.parse().map_err(|form| Error::new(Code::BadQuery, format!("{form}.")))
}
