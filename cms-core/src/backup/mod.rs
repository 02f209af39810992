//! A site in one file: written while it is in use, read twice before it replaces anything.
//!
//! ```text
//! manifest  what an archive says of itself (pure)
//! archive   writes one: a tar in a frame of zstd
//! save      what goes in: database, media, plugins, settings
//! walk      reads one, and believes nothing
//! stage     lays its files beside those of the site
//! load      its rows, into PostgreSQL
//! restore   puts them in place of the site
//! journal   the steps of that, so that a kill leaves the old site or the new one
//! schemas   PostgreSQL's part of that
//! beside    copies of SQLite's database
//! check     whether database and media are whole
//! last      when the last backup was made
//! ```

mod archive;
mod beside;
mod check;
mod journal;
mod last;
#[cfg(feature = "postgres")]
mod load;
mod manifest;
mod restore;
mod save;
mod schemas;
mod stage;
mod walk;

use std::sync::Arc;

pub use check::{Checked, check, shrink};
pub(crate) use journal::expect_none;
pub use journal::{Ended, finish};
pub use last::{Last, last};
pub use manifest::Engine;
pub use restore::{Judged, Restored, judge};
pub use save::{Saved, Saving, To, save};

use crate::{Code, Error, settings::SettingsError};

/// How far a long step is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headway {
    /// The step.
    pub step: &'static str,
    /// Bytes that are done.
    pub done: u64,
    /// Bytes in all; 0 when it has none.
    pub total: u64,
}

impl Headway {
    const fn at(step: &'static str) -> Self {
        Self { step, done: 0, total: 0 }
    }
}

/// Hears how far a long step is, often.
pub type Told = Arc<dyn Fn(Headway) + Send + Sync>;

fn invalid(error: SettingsError) -> Error {
    Error::new(Code::ValidationFailed, error.to_string())
}

/// Refused in the present state.
fn conflict(detail: impl Into<String>) -> Error {
    Error::new(Code::Conflict, detail)
}
