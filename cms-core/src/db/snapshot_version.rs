//! Numbers the states of a SQLite file. The number grows with every commit of every process.
//!
//! In WAL mode a commit becomes visible when it writes the header of the index file (`-shm`), which
//! all processes share in memory (sqlite.org/walformat.html, 2). SQLite itself compares this header
//! to see whether its cache is still valid. Reading the header costs a fraction of a microsecond; a
//! query costs a turn of a worker thread.
//!
//! Two states of the data never have the same header. Each commit raises a counter in the header
//! and a restart of the log changes its salts; both survive while one process has the file open, as
//! this process does. A checkpoint leaves the header alone. A restart or a torn read may give a
//! known state a new number: then rows are read again without need, but no old row is believed.

use std::{
    collections::HashMap,
    fs::File,
    os::unix::fs::FileExt as _,
    path::Path,
    sync::{Arc, LazyLock, Mutex, PoisonError},
};

use super::{SnapshotVersion, files};

/// The first copy of the header, which a commit writes last: a counter of commits, the number of
/// frames, their check sum and salts.
type Header = [u8; 48];

/// The byte that is 1 once the header is written.
const INITIALISED: usize = 12;

/// The open index file of a database.
#[derive(Clone)]
pub(crate) struct Index(Arc<Open>);

struct Open {
    file: Arc<File>,
    last: Mutex<(Header, SnapshotVersion)>,
}

/// One for each file, so that all agree on its numbers. None is dropped: see `files.rs`.
static OPEN: LazyLock<Mutex<HashMap<files::Id, Index>>> = LazyLock::new(Mutex::default);

impl Index {
    /// The index file of `database`, which must have been read or written before. `None` when there
    /// is no index file.
    pub(super) fn of(database: &Path) -> Option<Self> {
        let file = files::open(&files::companion_file(database, "-shm").ok()?).ok()?;
        let id = files::id(&file.metadata().ok()?);
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(index) = open.get(&id) {
            return Some(index.clone());
        }
        let index = Self(Arc::new(Open { file, last: Mutex::new(([0; 48], 0)) }));
        open.insert(id, index.clone());
        index.snapshot_version().map(|_| index)
    }

    /// The number of the present state. Rows read after this call are current while the number
    /// stays the same.
    pub(super) fn snapshot_version(&self) -> Option<SnapshotVersion> {
        // Reads within the lock, so that no thread numbers an older header after a newer one.
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
            let before = index.snapshot_version();
            one.execute("select n from t").await.expect("rows");
            assert!(before.is_some() && index.snapshot_version() == before, "a read is no commit");
            two.execute("insert into t values (1)").await.expect("a row");
            assert!(index.snapshot_version() > before, "round {round}");
            if round % 7 == 0 {
                // The next commit starts the log again.
                one.execute("pragma wal_checkpoint(truncate)").await.expect("a checkpoint");
            }
        }
    }

    #[tokio::test]
    async fn a_link_to_the_file_has_the_numbers_of_the_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let (path, link) = (folder.path().join("cms.db"), folder.path().join("link.db"));
        let mut one = open(&path).await;
        one.execute("create table t (n integer)").await.expect("a table");
        std::os::unix::fs::symlink(&path, &link).expect("a link");
        // An index file that is left of a database which had this name before.
        std::fs::copy(folder.path().join("cms.db-shm"), folder.path().join("link.db-shm"))
            .expect("an old index file");
        let index = Index::of(&link).expect("an index");
        let before = index.snapshot_version();
        open(&link).await.execute("insert into t values (1)").await.expect("a row");
        assert!(index.snapshot_version() > before);
    }
}
