//! Numbers the states of a SQLite file: the number grows when anybody commits, in any process.
//!
//! In WAL mode a commit becomes visible when the header of the index beside the file (`-shm`) is
//! written; all processes share that file in memory (sqlite.org/walformat.html, 2). SQLite compares
//! the header itself to see whether it may go on with what it knows. Reading it costs a fraction of
//! a microsecond, a query costs a turn of a worker thread.
//!
//! No header occurs twice for two states of the data: each commit counts up a field of it, a
//! restart of the log changes its salts, and both survive while one process has the file open, as
//! this one has. A checkpoint does not touch the header. A restart or a torn read gives another
//! number to a state that had one: something is read again without need, nothing old is believed.

use std::{
    collections::HashMap,
    fs::File,
    os::unix::fs::{FileExt, MetadataExt},
    path::Path,
    sync::{Arc, LazyLock, Mutex, PoisonError},
};

use super::Mark;

/// First copy of the header, which a commit writes last: a counter of commits, the number of
/// frames, their check sum and salts.
type Header = [u8; 48];

/// The byte that says that the header is there.
const INITIALISED: usize = 12;

/// The index of a database file.
#[derive(Clone)]
pub(super) struct Index(Arc<Open>);

struct Open {
    file: File,
    last: Mutex<(Header, Mark)>,
}

/// Device and inode of each index that was opened. They stay open until the process ends: closing
/// one would end the locks that SQLite holds on it in this process (sqlite.org/howtocorrupt.html,
/// 2.2).
static OPEN: LazyLock<Mutex<HashMap<(u64, u64), Index>>> = LazyLock::new(Mutex::default);

impl Index {
    /// The index beside `database`, which must have been read or written by now. None: there is no
    /// index.
    pub(super) fn of(database: &Path) -> Option<Self> {
        let mut path = database.as_os_str().to_owned();
        path.push("-shm");
        let seen = std::fs::metadata(&path).ok()?;
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(index) = open.get(&(seen.dev(), seen.ino())) {
            return Some(index.clone());
        }
        let file = File::open(&path).ok()?;
        let index = Self(Arc::new(Open { file, last: Mutex::new(([0; 48], 0)) }));
        open.insert((seen.dev(), seen.ino()), index.clone());
        index.mark().map(|_| index)
    }

    /// The number of the present state. What is read after this call is true while the number stays
    /// the same.
    pub(super) fn mark(&self) -> Option<Mark> {
        // Read within the lock, so that no thread numbers an earlier header after a later one.
        let mut last = self.0.last.lock().unwrap_or_else(PoisonError::into_inner);
        let mut header = [0; 48];
        self.0.file.read_exact_at(&mut header, 0).ok()?;
        if header[INITIALISED] != 1 {
            return None;
        }
        if last.0 != header {
            *last = (header, last.1 + 1);
        }
        Some(last.1)
    }
}

#[cfg(test)]
mod tests {
    use sqlx::{
        ConnectOptions, Executor, SqliteConnection,
        sqlite::{SqliteConnectOptions, SqliteJournalMode},
    };

    use super::*;

    async fn open(path: &Path) -> SqliteConnection {
        let options = SqliteConnectOptions::new().filename(path).create_if_missing(true);
        options.journal_mode(SqliteJournalMode::Wal).connect().await.expect("a connection")
    }

    #[tokio::test]
    async fn every_commit_gives_the_file_another_number() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("cms.db");
        let (mut one, mut two) = (open(&path).await, open(&path).await);
        one.execute("create table t (n integer)").await.expect("a table");
        let index = Index::of(&path).expect("an index");
        for round in 0..200 {
            let before = index.mark();
            one.execute("select n from t").await.expect("rows");
            assert!(before.is_some() && index.mark() == before, "a read is no commit");
            two.execute("insert into t values (1)").await.expect("a row");
            assert!(index.mark() > before, "round {round}");
            if round % 7 == 0 {
                // The log begins anew with the next commit.
                one.execute("pragma wal_checkpoint(truncate)").await.expect("a checkpoint");
            }
        }
    }
}
