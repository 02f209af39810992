//! The steps of a restore, written down before they are taken. If the process is killed, a later
//! command finds the journal: it undoes a restore that was only prepared, and finishes one that
//! was begun.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::{OnProgress, Progress, conflict, invalid, schemas::Schemas};
use crate::{Error, Result, ground::private, settings::Settings};

const FILE: &str = "restore.json";

/// The progress of a restore.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum State {
    /// The site is unchanged. The prepared files beside it are to be removed.
    Staging,
    /// The restore is decided: whatever is not in its place yet is moved there.
    Swapping,
}

/// A file or a folder that replaces another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Move {
    /// The replacement; `None`: the place is only cleared.
    pub(super) staged: Option<PathBuf>,
    pub(super) place: PathBuf,
    /// Where the replaced file or folder is moved.
    pub(super) kept: PathBuf,
}

/// The steps of one restore.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Journal {
    pub(super) format: u32,
    pub(super) archive: String,
    pub(super) state: State,
    pub(super) moves: Vec<Move>,
    pub(super) schemas: Option<Schemas>,
}

/// How an interrupted restore has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// There was no interrupted restore.
    Nothing,
    /// The restore was not decided yet: the site is unchanged.
    Undone,
    /// The site is the restored one. These places hold what it replaced.
    Finished(Vec<String>),
}

fn place(settings: &Settings) -> PathBuf {
    settings.dirs.data.join(FILE)
}

/// Whether a restore was interrupted, or is under way.
#[must_use]
pub fn is_pending(settings: &Settings) -> bool {
    place(settings).exists()
}

/// Fails while a restore is under way, or after one was interrupted.
pub(crate) fn expect_none(settings: &Settings) -> Result<()> {
    match is_pending(settings) {
        false => Ok(()),
        true => Err(conflict(
            "A restore of this site is under way or was broken off. If none is running: `cms db \
             restore --finish`.",
        )),
    }
}

/// Makes renames in the folder of a path durable.
pub(super) fn sync_folder_of(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

/// Held during a restore, so that only one runs at a time.
pub(super) struct Turn(#[expect(dead_code, reason = "the lock ends with it")] File);

/// Fails while another process restores.
pub(super) fn turn(settings: &Settings) -> Result<Turn> {
    let taken = || {
        private::create_folder(&settings.dirs.data)?;
        let folder = File::open(&settings.dirs.data)?;
        match folder.try_lock() {
            Err(fs::TryLockError::WouldBlock) => Ok(None),
            // Some network file systems do not support locks.
            Ok(()) | Err(fs::TryLockError::Error(_)) => Ok::<_, io::Error>(Some(Turn(folder))),
        }
    };
    let turn = taken().map_err(|error| unmoved(&settings.dirs.data, error))?;
    turn.ok_or_else(|| conflict("Another process restores this site at this moment."))
}

/// The error for a file that could not be put in its place.
pub(super) fn unmoved(path: &Path, error: io::Error) -> Error {
    let what = format!("{} cannot be written or moved.", path.display());
    Error::new(crate::Code::ValidationFailed, what).caused_by(error)
}

impl Journal {
    /// Writes the journal durably.
    pub(super) fn write(&self, settings: &Settings) -> Result<()> {
        let (folder, to) = (&settings.dirs.data, place(settings));
        let text = serde_json::to_vec_pretty(self).map_err(Error::internal)?;
        let written = || {
            let mut beside = tempfile::NamedTempFile::new_in(folder)?;
            beside.write_all(&text)?;
            beside.as_file().sync_all()?;
            beside.persist(&to).map_err(|refused| refused.error)?;
            sync_folder_of(&to)
        };
        written().map_err(|error| unmoved(&to, error))
    }

    fn read(settings: &Settings) -> Result<Option<Self>> {
        let path = place(settings);
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(unmoved(&path, error)),
        };
        serde_json::from_slice(&text).map(Some).map_err(|error| {
            conflict(format!("{} cannot be read ({error}): was it edited?", path.display()))
        })
    }

    fn remove(settings: &Settings) -> Result<()> {
        let path = place(settings);
        let gone = || fs::remove_file(&path).and_then(|()| sync_folder_of(&path));
        gone().map_err(|error| unmoved(&path, error))
    }

    /// Removes the prepared files beside the site, and the journal. The site is unchanged.
    pub(super) async fn undo(self, settings: &Settings) -> Result<()> {
        for staged in self.moves.iter().filter_map(|one| one.staged.as_ref()) {
            remove_all(staged).map_err(|error| unmoved(staged, error))?;
        }
        #[cfg(feature = "postgres")]
        if let Some(schemas) = &self.schemas {
            super::schemas::drop_schema(settings, &schemas.staged).await?;
        }
        Self::remove(settings)
    }

    /// Takes the remaining steps. Returns the places of what was replaced.
    pub(super) async fn swap(
        mut self,
        settings: &Settings,
        told: &OnProgress,
    ) -> Result<Vec<String>> {
        let mut kept = Vec::new();
        if let Some(schemas) = self.schemas.clone() {
            if let Err(error) = exchange(settings, &schemas, &mut kept).await {
                // The exchange may have succeeded with only its answer lost. If that is unknown,
                // the journal stays.
                if is_staged(settings, &schemas).await.map_err(unknown)? {
                    // For example, a table was locked: nothing has been moved yet.
                    self.state = State::Staging;
                    self.write(settings)?;
                    self.undo(settings).await?;
                    return Err(error);
                }
                exchange(settings, &schemas, &mut kept).await?;
            }
            told(Progress::at("exchanged"));
        }
        for one in &self.moves {
            one.take(&mut kept, told).map_err(|error| unmoved(&one.place, error))?;
        }
        Self::remove(settings)?;
        Ok(kept)
    }
}

#[cfg(feature = "postgres")]
async fn exchange(settings: &Settings, schemas: &Schemas, kept: &mut Vec<String>) -> Result<()> {
    if super::schemas::exchange(settings, schemas).await? {
        kept.push(format!("schema {}", schemas.kept));
    }
    Ok(())
}

#[cfg(feature = "postgres")]
use super::schemas::is_staged;

#[cfg(not(feature = "postgres"))]
async fn is_staged(_: &Settings, _: &Schemas) -> Result<bool> {
    Ok(true)
}

/// The error when it is unknown whether the exchange was made.
fn unknown(why: Error) -> Error {
    let what = "PostgreSQL does not say whether the restored tables are in their place: when it \
                answers again, `cms db restore --finish`.";
    Error::new(crate::Code::Unavailable, what).caused_by(why)
}

#[cfg(not(feature = "postgres"))]
async fn exchange(_: &Settings, _: &Schemas, _: &mut Vec<String>) -> Result<()> {
    Err(Error::internal("this build has no PostgreSQL"))
}

impl Move {
    /// Takes this step. Each half may already have been taken.
    fn take(&self, kept: &mut Vec<String>, told: &OnProgress) -> io::Result<()> {
        let is_there = |path: &Path| fs::symlink_metadata(path).is_ok();
        let is_due = self.staged.as_deref().is_none_or(is_there);
        if is_due && is_there(&self.place) {
            let to = free(&self.kept);
            if let Some(folder) = to.parent() {
                private::create_folder(folder)?;
            }
            fs::rename(&self.place, &to)?;
            sync_folder_of(&to)?;
            sync_folder_of(&self.place)?;
            told(Progress::at("cleared"));
        }
        if is_there(&self.kept) {
            kept.push(self.kept.display().to_string());
        }
        if let Some(staged) = self.staged.as_deref().filter(|staged| is_there(staged)) {
            fs::rename(staged, &self.place)?;
            sync_folder_of(&self.place)?;
            told(Progress::at("placed"));
        }
        Ok(())
    }
}

/// The path, or a variant of it that does not exist.
fn free(path: &Path) -> PathBuf {
    let mut free = path.to_owned();
    for n in 1.. {
        if fs::symlink_metadata(&free).is_err() {
            break;
        }
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".{n}"));
        free = name.into();
    }
    free
}

fn remove_all(path: &Path) -> io::Result<()> {
    let removed = match fs::symlink_metadata(path) {
        Ok(about) if about.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Ends an interrupted restore.
///
/// # Errors
/// `conflict` while another process restores, or when the journal cannot be read.
pub async fn finish(settings: &Settings, told: OnProgress) -> Result<Ended> {
    settings.database().map_err(invalid)?;
    if !is_pending(settings) {
        return Ok(Ended::Nothing);
    }
    let _turn = turn(settings)?;
    let Some(journal) = Journal::read(settings)? else { return Ok(Ended::Nothing) };
    match journal.state {
        State::Staging => journal.undo(settings).await.map(|()| Ended::Undone),
        State::Swapping => journal.swap(settings, &told).await.map(Ended::Finished),
    }
}
