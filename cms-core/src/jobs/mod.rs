//! Background work: queues, supervised workers, schedules and the removal of old rows.
//!
//! ```text
//! queue      the engine of queues: claim, attempt, settle
//! worker     work that starts again after a panic, how many run here, how attempts ended
//! schedule   what is due, leases of rows, waits after failures (pure)
//! retention  removal of old rows
//! faults     what the log says of faults that last
//! ```

mod faults;
mod queue;
mod retention;
mod schedule;
mod worker;

pub(crate) use faults::FaultLog;
pub(crate) use queue::{Engine, Flight, Queue};
pub(crate) use retention::{days_before, expire, remove, seconds_before};
pub(crate) use schedule::{Backoff, LEASE_MS, Lease, Rest, is_due, next_due};
pub(crate) use worker::{CachedFigure, Counters, Restarts, Stop, stopped};
pub use worker::{Outcomes, Until};
