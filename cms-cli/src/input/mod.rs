//! What a command is given: files, standard input, durations.

mod duration;
mod file;

pub(crate) use duration::seconds;
pub(crate) use file::{bytes, object, text};
