//! Background work: tasks that restart after a fault, and removal of old rows.

mod retention;
mod supervise;

pub(crate) use retention::{days_before, expire, seconds_before};
pub(crate) use supervise::{Stop, Tasks};
