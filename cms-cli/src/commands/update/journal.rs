//! The step that an update has reached, on disk beside the program. A start that finds a journal
//! finishes or undoes that update.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Write},
    path::PathBuf,
};

use serde::{Deserialize, Serialize};

use super::program::{Program, not_writable, remove};
use crate::output::{Done, Exit, Failure};

/// A journal is shorter.
const MAX_BYTES: u64 = 64 << 10;

/// What an update is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Step {
    /// Nothing was changed but files beside the program: undone.
    Preparing,
    /// The new version may have changed the database: finished, or undone with the backup.
    Migrating,
    /// The new version was judged and takes its place: finished if it stands there, else undone.
    Switching,
}

/// An update under way.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Journal {
    pub(super) step: Step,
    pub(super) from: String,
    pub(super) to: String,
    /// The digest of the program that takes the place.
    pub(super) sha256: String,
    pub(super) backup: Option<PathBuf>,
    /// The site whose database may have changed.
    pub(super) site: PathBuf,
}

impl Journal {
    pub(super) fn read(program: &Program) -> Done<Option<Self>> {
        let path = program.journal();
        let mut text = Vec::new();
        match File::open(&path).and_then(|file| file.take(MAX_BYTES).read_to_end(&mut text)) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Failure::file(&path, &error)),
        }
        serde_json::from_slice(&text).map(Some).map_err(|error| {
            let what = format!("{} is not a journal of an update: {error}", path.display());
            Failure::new(Exit::Failed, what).hint("cms version; if it is the right one, remove it")
        })
    }

    /// Writes it whole, or leaves the one before.
    pub(super) fn write(&self, program: &Program) -> Done {
        let path = program.journal();
        let beside = path.with_extension("json.new");
        let text = serde_json::to_vec(self).map_err(Failure::unexpected)?;
        OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .open(&beside)
            .and_then(|mut file| file.write_all(&text).and_then(|()| file.sync_all()))
            .and_then(|()| fs::rename(&beside, &path))
            .map_err(|e| {
                let _ = fs::remove_file(&beside);
                not_writable(&path, &e)
            })?;
        program.sync()
    }

    pub(super) fn remove(program: &Program) -> Done {
        let path = program.journal();
        remove(&path.with_extension("json.new"))
            .and_then(|()| remove(&path))
            .map_err(|e| not_writable(&path, &e))?;
        program.sync()
    }
}
