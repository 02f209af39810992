//! From a job to a request: claim (lane, lease), sign, send, settle (fenced, breaker, log).

pub(super) mod backlog;
pub(super) mod batch;
mod claim;
mod claimed;
mod local_faults;
pub(super) mod queue;
pub(super) mod request;
mod settle;
pub(super) mod worker;

pub use request::{PING, Pinged};
