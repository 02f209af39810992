//! The folder of a site.
//!
//! ```text
//! settings  what its files say, and whether it is a site
//! turn      one process at a time makes a site
//! make      makes a site, or completes one
//! open      opens it as it is, or brought up to date
//! secrets   the two secrets that a new site needs
//! report    what was made and what was there
//! new_file  files that must not exist yet
//! ```

mod make;
mod new_file;
mod open;
mod report;
mod secrets;
mod settings;
mod turn;

pub(crate) use make::make;
pub(crate) use open::{SCRIPT, add_shop, as_is, bring_up_to_date, builder};
pub(crate) use report::Report;
pub(crate) use settings::{existing, settings};
pub(crate) use turn::take_turn;
