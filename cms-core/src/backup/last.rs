//! When the last backup was made: a small file in the data folder.

use std::{fs, io::Write as _, path::PathBuf};

use serde::{Deserialize, Serialize};

use crate::{Error, Result, settings::Settings};

const FILE: &str = "last-backup.json";

/// A backup that ended well.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Last {
    /// The moment whose state it holds.
    pub made_at: String,
    /// Where it was written; `-` for standard output.
    pub file: String,
    /// Bytes of the archive.
    pub bytes: u64,
    /// Whether it was restored to try it.
    pub verified: bool,
}

fn place(settings: &Settings) -> PathBuf {
    settings.dirs.data.join(FILE)
}

/// The last backup that ended well; None: there was none.
#[must_use]
pub fn last(settings: &Settings) -> Option<Last> {
    let text = fs::read(place(settings)).ok()?;
    serde_json::from_slice(&text).ok()
}

/// Writes it down.
pub(super) fn note(settings: &Settings, last: &Last) -> Result<()> {
    let folder = &settings.dirs.data;
    let text = serde_json::to_vec(last).map_err(Error::internal)?;
    let written = || {
        crate::ground::private::create_folder(folder)?;
        let mut beside = tempfile::NamedTempFile::new_in(folder)?;
        beside.write_all(&text)?;
        beside.persist(place(settings)).map_err(|refused| refused.error)
    };
    written().map(drop).map_err(Error::internal)
}
