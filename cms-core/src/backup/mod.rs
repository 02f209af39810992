//! Backups: a site in one file. It is written while the site is in use, and read twice before it
//! replaces anything.
//!
//! ```text
//! manifest  what an archive says of itself (pure)
//! archive   writes one: a tar in a frame of zstd
//! out       where it goes: a file, an object of a bucket, a stream
//! cipher    encryption to public keys
//! save      what goes in: database, media, plugins, settings; when the last was made
//! source    the database, standing still; copies of SQLite's
//! walk      reads one, and believes nothing
//! stage     lays its files beside those of the site
//! load      its rows, into PostgreSQL
//! judge     an archive that was read to its end
//! restore   puts it in place of the site
//! place     where its parts lie beside the site
//! journal   the steps of that, so that a kill leaves the old site or the new one
//! schemas   PostgreSQL's part of that
//! check     whether database and media are whole
//! scheduled the backups that the service makes by itself
//! ```

mod archive;
mod check;
mod cipher;
mod journal;
mod judge;
#[cfg(feature = "postgres")]
mod load;
mod manifest;
mod out;
mod place;
mod restore;
mod save;
mod scheduled;
mod schemas;
mod source;
mod stage;
mod walk;

use std::sync::Arc;

pub use check::{CheckedArchive, check, shrink};
pub use cipher::{Identities, expect_recipients};
pub(crate) use journal::expect_none;
pub use journal::{Ended, finish, is_pending};
pub use judge::{JudgedArchive, judge};
pub use manifest::Engine;
pub use out::{Object, To};
pub use restore::{Obstacle, Restored};
pub use save::{Last, SavedBackup, Saving, last, save, save_until};
pub(crate) use scheduled::scheduled;

use crate::{Code, Error, settings::SettingsError};

/// The progress of a long step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// The step.
    pub step: &'static str,
    /// Bytes done so far.
    pub done: u64,
    /// Bytes in total; 0 when the step has no total.
    pub total: u64,
}

impl Progress {
    const fn at(step: &'static str) -> Self {
        Self { step, done: 0, total: 0 }
    }
}

/// Called often with the progress of a long step.
pub type OnProgress = Arc<dyn Fn(Progress) + Send + Sync>;

fn invalid(error: SettingsError) -> Error {
    Error::new(Code::ValidationFailed, error.to_string())
}

/// The error for an operation that the present state forbids.
fn conflict(detail: impl Into<String>) -> Error {
    Error::new(Code::Conflict, detail)
}

#[cfg(not(all(feature = "sqlite", feature = "postgres")))]
fn missing_engine() -> Error {
    let what = "This build does not include that database: enable the feature `sqlite` or \
                `postgres`.";
    Error::new(Code::Unavailable, what)
}
