//! What a command is given: files, standard input, ids, durations, date-times.

mod duration;
mod file;
mod moment;
mod named;

pub(crate) use duration::seconds;
pub(crate) use file::{bytes, object, text};
pub(crate) use moment::moment;
pub(crate) use named::{ids, named};
