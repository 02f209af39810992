//! What a command prints, and how it ends.
//!
//! ```text
//! printer      the only place that prints: data to standard output, the rest to standard error
//! style        colours by meaning
//! exit         exit codes
//! findings     what the checks of a site found
//! failure      why a command ended with another code than 0
//! table        records as tables, or tab-separated in a pipe
//! record       records as the API sent them, column by column
//! count        numbers of things, counted right
//! csv_text     CSV that tells null from an empty text
//! progress     how far a long task is
//! visible      long texts, in a file as they are, on a terminal without what it would obey
//! secret_file  a new file for a secret that is shown once
//! whole_file   a file that has its name only when it is complete
//! ```

mod count;
pub(crate) mod csv_text;
mod exit;
mod failure;
pub(crate) mod findings;
mod printer;
mod progress;
pub(crate) mod record;
mod secret_file;
mod style;
pub(crate) mod table;
mod visible;
mod whole_file;

pub(crate) use count::counted;
pub(crate) use exit::Exit;
pub(crate) use failure::{Done, Failure};
pub(crate) use printer::{Output, Part, PrintFlags};
pub(crate) use progress::Progress;
pub(crate) use secret_file::SecretFile;
pub(crate) use style::Style;
pub(crate) use visible::Visible;
pub(crate) use whole_file::WholeFile;
