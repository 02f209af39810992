//! The steps of a restore, written down before they are taken. Whoever finds the journal of a
//! process that was killed undoes what was only prepared, and finishes what was begun.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::{OnProgress, Progress, conflict, invalid, schemas::Schemas};
use crate::{Error, Result, ground::private, settings::Settings};

const FILE: &str = "restore.json";

/// How far a restore is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum State {
    /// The site is as it was; what lies beside is undone.
    Staging,
    /// It is decided: what is not in its place yet is put there.
    Swapping,
}

/// A file or a folder that takes the place of another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Move {
    /// What is put in the place; none: the place is only cleared.
    pub(super) staged: Option<PathBuf>,
    pub(super) place: PathBuf,
    /// Where that goes which lies there.
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

/// How a restore that was broken off has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// There was none.
    Nothing,
    /// It had not been decided: the site is as it was.
    Undone,
    /// The site is the restored one. What it replaced lies here.
    Finished(Vec<String>),
}

fn place(settings: &Settings) -> PathBuf {
    settings.dirs.data.join(FILE)
}

/// Whether a restore was broken off, or is under way.
#[must_use]
pub fn is_pending(settings: &Settings) -> bool {
    place(settings).exists()
}

/// Fails while a restore is under way, or was broken off.
pub(crate) fn expect_none(settings: &Settings) -> Result<()> {
    match is_pending(settings) {
        false => Ok(()),
        true => Err(conflict(
            "A restore of this site is under way or was broken off. If none is running: `cms db \
             restore --finish`.",
        )),
    }
}

/// Makes renames in the folder of a path last.
pub(super) fn sync_folder_of(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

/// Held by whoever restores: one at a time.
pub(super) struct Turn(#[expect(dead_code, reason = "the lock ends with it")] File);

/// Fails while another process restores.
pub(super) fn turn(settings: &Settings) -> Result<Turn> {
    let taken = || {
        private::create_folder(&settings.dirs.data)?;
        let folder = File::open(&settings.dirs.data)?;
        match folder.try_lock() {
            Err(fs::TryLockError::WouldBlock) => Ok(None),
            // Some network file systems have no locks.
            Ok(()) | Err(fs::TryLockError::Error(_)) => Ok::<_, io::Error>(Some(Turn(folder))),
        }
    };
    let turn = taken().map_err(|error| unmoved(&settings.dirs.data, error))?;
    turn.ok_or_else(|| conflict("Another process restores this site at this moment."))
}

/// A file that could not be put in its place.
pub(super) fn unmoved(path: &Path, error: io::Error) -> Error {
    let what = format!("{} cannot be written or moved.", path.display());
    Error::new(crate::Code::ValidationFailed, what).caused_by(error)
}

impl Journal {
    /// Writes it down: after this it is there whatever happens.
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

    /// Removes what lies beside the site; the site is as it was.
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

    /// Takes the steps that are left. Returns where that lies which was replaced.
    pub(super) async fn swap(
        mut self,
        settings: &Settings,
        told: &OnProgress,
    ) -> Result<Vec<String>> {
        let mut kept = Vec::new();
        if let Some(schemas) = self.schemas.clone() {
            if let Err(error) = exchange(settings, &schemas, &mut kept).await {
                // Perhaps only the answer was lost. If nobody knows, the journal stays.
                if is_staged(settings, &schemas).await.map_err(unknown)? {
                    // As when somebody holds a table: nothing has been moved yet.
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

/// The exchange may have been made or not.
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
    /// Each half of it may have been done before.
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

/// The path, or one beside it that is not taken.
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

/// Ends a restore that was broken off.
///
/// # Errors
/// `conflict` while it is under way in another process, or when its journal cannot be read.
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
