//! Work that time makes due: tasks that run in the background and come back after a fault, and the
//! removal of what is kept only for a time.

mod retention;
mod supervise;

pub(crate) use retention::{days_before, expire, seconds_before};
pub(crate) use supervise::{Stop, supervise};
