//! The folder of a site.
//!
//! ```text
//! settings  what its files say, and whether it is a site
//! make      makes a site, or completes one
//! secrets   the two secrets that a new site needs
//! report    what was made and what was there
//! new_file  files that must not exist yet
//! ```

mod make;
mod new_file;
mod report;
mod secrets;
mod settings;

pub(crate) use make::make;
pub(crate) use report::Report;
pub(crate) use settings::{existing, is_site, settings};
