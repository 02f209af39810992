//! What stands between the network and the work: the limiter, origins, the cache of replies.

pub mod address;
pub mod cache;
pub mod idempotency;
pub mod limiter;
pub mod origins;
#[cfg_attr(not(feature = "redis"), path = "no_redis.rs")]
pub(crate) mod redis;
