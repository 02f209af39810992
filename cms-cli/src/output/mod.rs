//! What a command prints, and how it ends.
//!
//! ```text
//! printer   the only place that prints: data to standard output, the rest to standard error; how
//!           far a long task is
//! failure   why a command failed; exit codes
//! table     records as tables, or tab-separated in a pipe; what the checks of a site found
//! record    records as the API sent them, column by column
//! csv_text  CSV that tells null from an empty text
//! file      files written whole, and for a secret that is shown once
//! ```

pub(crate) mod csv_text;
mod failure;
mod file;
mod printer;
pub(crate) mod record;
pub(crate) mod table;

pub(crate) use failure::{Done, Exit, Failure};
pub(crate) use file::{SecretFile, WholeFile};
pub(crate) use printer::{Output, Part, PrintFlags, Progress, Style, Visible, counted, listed};
