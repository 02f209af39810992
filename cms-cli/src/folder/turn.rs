//! One process at a time makes a site in a folder.

use std::{
    fs::{self, File, TryLockError},
    path::Path,
};

use crate::output::{Done, Failure, Output};

/// Held while a process makes, completes or fills a site.
#[must_use = "the next process begins when this is dropped"]
pub(crate) struct Turn {
    _folder: File,
}

/// Makes the folder, and waits until no other process works on a site there.
pub(crate) fn take_turn(dir: &Path, out: &Output) -> Done<Turn> {
    let failed = |e| Failure::file(dir, &e);
    fs::create_dir_all(dir).map_err(failed)?;
    let folder = File::open(dir).map_err(failed)?;
    match folder.try_lock() {
        Err(TryLockError::WouldBlock) => {
            out.note("another process makes a site in this folder: waiting for it");
            folder.lock().map_err(failed)?;
        }
        // Some network file systems have no locks.
        Ok(()) | Err(TryLockError::Error(_)) => {}
    }
    Ok(Turn { _folder: folder })
}
