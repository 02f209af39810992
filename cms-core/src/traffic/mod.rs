//! Rules that apply before the work of a request: rate limits, origins, cached replies.

pub mod address;
pub mod cache;
pub mod idempotency;
pub mod limiter;
pub mod origins;
#[cfg_attr(not(feature = "redis"), path = "no_redis.rs")]
pub(crate) mod redis;
