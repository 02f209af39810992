//! The file of this program, replaced by rename. Beside it stand `NAME.next` while an update is
//! made, `NAME.previous` after one, and `NAME.update.json`, the journal.

use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Seek},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use cms_core::update::{digest, unpack};

use super::killed::reached;
use crate::output::{Done, Exit, Failure};

/// The file of this program.
pub(super) struct Program {
    pub(super) path: PathBuf,
}

/// Held while an update of a program is made.
#[must_use = "the next process begins when this is dropped"]
pub(super) struct Turn {
    _folder: File,
}

impl Program {
    /// The file that this process was started from.
    pub(super) fn running() -> Done<Self> {
        let path = std::env::current_exe()?;
        match path.is_file() {
            true => Ok(Self { path }),
            false => {
                let what = "the file of this program was replaced since it was started";
                Err(Failure::new(Exit::Refused, what).hint("start the command again"))
            }
        }
    }

    fn beside(&self, ending: &str) -> PathBuf {
        let mut name = OsString::from(&self.path);
        name.push(ending);
        name.into()
    }

    /// The new version, not used yet.
    pub(super) fn next(&self) -> PathBuf {
        self.beside(".next")
    }

    /// The version before the last update.
    pub(super) fn previous(&self) -> PathBuf {
        self.beside(".previous")
    }

    pub(super) fn journal(&self) -> PathBuf {
        self.beside(".update.json")
    }

    fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("/"))
    }

    /// Locks out other updates of this program. None: one is under way.
    pub(super) fn try_turn(&self) -> Done<Option<Turn>> {
        let folder = File::open(self.folder()).map_err(|e| Failure::file(self.folder(), &e))?;
        match folder.try_lock() {
            Err(TryLockError::WouldBlock) => Ok(None),
            // Some network file systems have no locks.
            Ok(()) | Err(TryLockError::Error(_)) => Ok(Some(Turn { _folder: folder })),
        }
    }

    /// As [`Program::try_turn`]; refused while another update is under way.
    pub(super) fn turn(&self) -> Done<Turn> {
        self.try_turn()?.ok_or_else(|| {
            let what = format!("another update of {} is under way", self.path.display());
            Failure::new(Exit::Refused, what).hint("wait until it has ended")
        })
    }

    /// Unpacks the program of an archive beside this one. Returns its digest.
    pub(super) fn stage(&self, archive: &Path, sha256: &str) -> Done<String> {
        let next = self.next();
        remove(&next).map_err(|e| Failure::file(&next, &e))?;
        let mut packed = File::open(archive).map_err(|e| Failure::file(archive, &e))?;
        // The same bytes are checked and unpacked, whoever replaces the file meanwhile.
        let found = digest(&mut packed).map_err(|e| Failure::file(archive, &e))?;
        if found != sha256 {
            let what = format!("{} was changed after it was checked", archive.display());
            return Err(Failure::new(Exit::Failed, what).hint("cms update download"));
        }
        let size = packed.metadata().map_err(|e| Failure::file(archive, &e))?.len();
        packed.rewind().map_err(|e| Failure::file(archive, &e))?;
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o755)
            .open(&next)
            .map_err(|e| not_writable(&next, &e))?;
        unpack(packed, size, &mut file, |_| reached("unpacking"))?;
        file.sync_all().map_err(|e| Failure::file(&next, &e))?;
        drop(file);
        self.sync()?;
        self.digest_of(&next)
    }

    pub(super) fn digest_of(&self, path: &Path) -> Done<String> {
        File::open(path).and_then(digest).map_err(|e| Failure::file(path, &e))
    }

    /// Keeps this version as the previous one and puts the next one in its place. The place is
    /// never empty.
    pub(super) fn switch(&self) -> Done {
        let (kept, previous, next) = (self.beside(".keep"), self.previous(), self.next());
        remove(&kept)
            .and_then(|()| fs::hard_link(&self.path, &kept))
            // Some file systems have no links.
            .or_else(|_| fs::copy(&self.path, &kept).map(drop))
            .and_then(|()| File::open(&kept)?.sync_all())
            .and_then(|()| fs::rename(&kept, &previous))
            .map_err(|e| Failure::file(&previous, &e))?;
        reached("kept");
        fs::rename(&next, &self.path).map_err(|e| Failure::file(&self.path, &e))?;
        self.sync()
    }

    /// Puts the previous version back in its place.
    pub(super) fn switch_back(&self) -> Done {
        fs::rename(self.previous(), &self.path).map_err(|e| Failure::file(&self.path, &e))?;
        self.sync()
    }

    /// Removes what an update that was not made left beside.
    pub(super) fn clear(&self) -> Done {
        for path in [self.next(), self.beside(".keep")] {
            remove(&path).map_err(|e| Failure::file(&path, &e))?;
        }
        Ok(())
    }

    /// Makes renames outlive a power cut.
    pub(super) fn sync(&self) -> Done {
        let synced = File::open(self.folder()).and_then(|folder| folder.sync_all());
        synced.map_err(|e| Failure::file(self.folder(), &e))
    }
}

/// Removes a file, if it is there.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

pub(super) fn not_writable(path: &Path, error: &io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            let what = format!("{}: {error}, so this program cannot be replaced", path.display());
            Failure::new(Exit::Refused, what).hint("run it as the owner of the program's folder")
        }
        _ => Failure::file(path, error),
    }
}
