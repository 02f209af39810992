//! A mark that changes with every commit of anybody, read without asking the database.
//!
//! In WAL mode a commit becomes visible when the header of the index beside the file (`-shm`) is
//! written; all processes share that file in memory (sqlite.org/walformat.html, 2). SQLite itself
//! compares the header to see whether it may go on with what it knows. Reading it costs a fraction
//! of a microsecond; asking the engine costs a turn of a worker thread.

use std::{
    collections::HashMap,
    fs::File,
    os::unix::fs::{FileExt, MetadataExt},
    path::Path,
    sync::{Arc, LazyLock, Mutex, PoisonError},
};

/// First copy of the header: a counter of commits, the number of frames, their check sum and salts.
pub(crate) type Mark = [u8; 48];

/// Where the header says that it is there.
const INITIALISED: usize = 12;

/// The index of a database file.
#[derive(Clone)]
pub(super) struct Index(Arc<File>);

/// Device and inode of each index that was opened. They stay open until the process ends: closing
/// one would end the locks that SQLite holds on it in this process (sqlite.org/howtocorrupt.html,
/// 2.2).
static OPEN: LazyLock<Mutex<HashMap<(u64, u64), Index>>> = LazyLock::new(Mutex::default);

impl Index {
    /// The index beside `database`, which must have been read or written by now. None: the system
    /// does not show in a file what was written to memory, or there is no index.
    pub(super) fn of(database: &Path) -> Option<Self> {
        if !cfg!(target_os = "linux") {
            return None;
        }
        let mut path = database.as_os_str().to_owned();
        path.push("-shm");
        let seen = std::fs::metadata(&path).ok()?;
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(index) = open.get(&(seen.dev(), seen.ino())) {
            return Some(index.clone());
        }
        let index = Self(Arc::new(File::open(&path).ok()?));
        open.insert((seen.dev(), seen.ino()), index.clone());
        index.mark().map(|_| index)
    }

    pub(super) fn mark(&self) -> Option<Mark> {
        let mut mark = [0; 48];
        self.0.read_exact_at(&mut mark, 0).ok()?;
        (mark[INITIALISED] == 1).then_some(mark)
    }
}
