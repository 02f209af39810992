//! What a command is given: files, standard input, durations, date-times.

mod duration;
mod file;
mod moment;

pub(crate) use duration::seconds;
pub(crate) use file::{bytes, object, text};
pub(crate) use moment::moment;
