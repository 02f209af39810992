//! From a job to a request: claim (lane, lease), sign, send, settle (fenced, breaker, log).

pub(super) mod backlog;
mod bodies;
mod claim;
pub(super) mod claimed;
mod local_faults;
mod ping;
mod prefetch;
pub(super) mod request;
mod settle;
pub(super) mod sql;
pub(super) mod worker;

pub use ping::{PING, Pinged};
