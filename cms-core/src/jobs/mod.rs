//! Background work: what runs once, when, and again after a fault.
//!
//! ```text
//! supervise  work that starts again after a panic
//! queue      the engine of queues: claim, attempt, settle
//! outcomes   how attempts ended, counted
//! worker     how many run here, when a stop ends them, why they ended
//! retention  removal of old rows
//! lease      a row that one process at a time works on (pure)
//! schedule   when a task is due (pure)
//! backoff    how long to wait after failures (pure)
//! rest       the rest after faults of this machine (pure)
//! ```

mod backoff;
mod lease;
mod outcomes;
mod queue;
mod rest;
mod retention;
mod schedule;
mod supervise;
mod worker;

pub(crate) use backoff::Backoff;
pub(crate) use lease::{LEASE_MS, Lease};
pub use outcomes::Outcomes;
pub(crate) use outcomes::{Counters, Kept};
pub(crate) use queue::{Engine, Flight, Queue};
pub(crate) use rest::Rest;
pub(crate) use retention::{days_before, expire, remove, seconds_before};
pub(crate) use schedule::{is_due, next_due};
pub(crate) use supervise::{Restarts, Stop};
pub use worker::Until;
pub(crate) use worker::{Running, stopped};
