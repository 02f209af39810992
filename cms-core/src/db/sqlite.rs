//! SQLite: readers in a pool, and one writer that groups commits.
//!
//! `synchronous = FULL` waits for the disk at every commit, so changes that wait for the writer
//! at the same time share one commit. Each change runs in a savepoint, except a large one, which
//! is the whole transaction. A flusher queues behind the changes, commits once and reports the
//! outcome to all of them. A change reports success only once it is on disk. The file is long
//! because each state of the writer must fit all others.

use std::{
    collections::BTreeSet,
    ops::{Deref, DerefMut},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use sqlx::{
    ConnectOptions, Connection, SqliteConnection, SqlitePool,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous},
};
use tokio::sync::{Mutex, OwnedMutexGuard, oneshot};

use tracing::Instrument;

use super::{
    Dialect,
    build::NewIndex,
    epochs::{self, Raised},
    files::{self, OpenedFile},
    reach::{Fault, fault_of},
    ready::is_obstructed,
    statements::span,
};
use crate::{
    Code, Error, Result,
    ground::{error::MIGRATE, private},
    settings::Synchronous,
};

#[cfg(test)]
mod tests;

const READERS: u32 = 4;
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a caller that is not patient waits for the writer.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);
const BEGIN: &str = "BEGIN IMMEDIATE; SAVEPOINT change; PRAGMA schema_version";
const COMMIT: &str = "COMMIT";
const ROLLBACK: &str = "ROLLBACK";
const NEXT: &str = "RELEASE change; SAVEPOINT change; PRAGMA schema_version";
const RELEASE: &str = "RELEASE change";
const BEGIN_LARGE: &str = "BEGIN IMMEDIATE";
const UNDO: &str = "ROLLBACK TO change";
const HAS_DEFERRED: &str =
    "select exists (select 1 from sqlite_schema where sql like '%initially%deferred%')";
/// How many times to try to move the log into the file while others read it.
const SCRUBS: u32 = 20;
const VERSION: &str = "PRAGMA data_version";
const SCHEMA_VERSION: &str = "PRAGMA schema_version";
const CHECKPOINT: &str = "PRAGMA wal_checkpoint(TRUNCATE)";

/// Creates the file and its folder when missing, and makes it keep a log of writes.
pub(super) async fn create(path: &Path) -> Result<()> {
    let unreachable = |cause| unreachable(path, cause);
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        private::create_folder(folder).map_err(|e| unreachable(e.into()))?;
    }
    // SQLite gives the files beside it the same mode.
    files::create(path).map_err(|e| unreachable(e.into()))?;
    let logged = options(path).journal_mode(SqliteJournalMode::Wal);
    let connection = connect(&logged).await.map_err(unreachable)?;
    connection.close().await.map_err(unreachable)
}

fn unreachable(path: &Path, cause: sqlx::Error) -> Error {
    let mut what = format!("The database file {} cannot be opened.", path.display());
    what += match path.is_dir() {
        true => " It is a folder: name a file.",
        false => hint(fault_of(&cause), is_obstructed(path)),
    };
    Error::new(Code::Unavailable, what).caused_by(cause)
}

/// What helps. SQLite gives one code for rights that are missing and for too many open files.
fn hint(fault: Option<Fault>, is_obstructed: bool) -> &'static str {
    match fault {
        Some(Fault::Unopened) if !is_obstructed => {
            " Perhaps too many files are open: raise the limit (`ulimit -n`)."
        }
        Some(Fault::ReadOnly | Fault::Unopened) => {
            " SQLite writes two more files into its folder, with -wal and -shm behind the \
             name, even when it only reads: let this user write the folder. Or look at a \
             copy: put the file, and the one with -wal if there is one, into a folder of \
             your own, and name that copy in database_url."
        }
        _ => "",
    }
}

pub(super) fn options(path: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .foreign_keys(true)
        .busy_timeout(BUSY_TIMEOUT)
        .statement_cache_capacity(200)
        .disable_statement_logging()
}

/// Opens the file.
pub(super) async fn open(path: &Path, synchronous: Synchronous) -> Result<(SqlitePool, Writer)> {
    let unreachable = |cause| unreachable(path, cause);
    if !path.exists() {
        let what = format!(
            "There is no database file {}: correct database_url or dirs.data, or make it: \
             {MIGRATE}.",
            path.display()
        );
        return Err(Error::new(Code::Unavailable, what));
    }
    let options = options(path).synchronous(match synchronous {
        Synchronous::Full => SqliteSynchronous::Full,
        Synchronous::Normal => SqliteSynchronous::Normal,
    });
    // The undo data of savepoints stays in memory: as temporary files it would be more than half of
    // all writes.
    // What is removed is overwritten: the file keeps no visitor's answers in its free space.
    let writing = options.clone().pragma("temp_store", "memory").pragma("secure_delete", "on");
    let sealed = Arc::new(AtomicBool::new(false));
    let mut state = WriterState {
        connection: connect(&writing).await.map_err(unreachable)?,
        sealed: sealed.clone(),
        open: false,
        running: false,
        large: false,
        finished: Vec::new(),
        touched: BTreeSet::new(),
        flusher: false,
        schema: None,
        alone: false,
    };
    state.follow_schema(SCHEMA_VERSION).await.map_err(unreachable)?;
    // Half of SQLite's default, because the system keeps the file in memory too. Lists of a
    // million rows are as fast, and four readers take 4 MiB less.
    let reading = options.pragma("query_only", "on").pragma("cache_size", "-1000");
    // Open all of them at once: later the process may have no descriptor left.
    let readers = SqlitePoolOptions::new()
        .max_connections(READERS)
        .min_connections(READERS)
        .test_before_acquire(false)
        .idle_timeout(None)
        .max_lifetime(None)
        .acquire_timeout(Duration::from_secs(10))
        .connect_with(reading)
        .await
        .map_err(unreachable)?;
    files::note(path).map_err(|e| unreachable(e.into()))?;
    let file = OpenedFile::at(path).map_err(|e| unreachable(e.into()))?;
    Ok((readers, Writer(Arc::new(Mutex::new(state)), sealed, Arc::new(file))))
}

/// Retries, because switching a new file to WAL fails at once, without the busy timeout, while
/// another process does the same.
pub(super) async fn connect(
    options: &SqliteConnectOptions,
) -> Result<SqliteConnection, sqlx::Error> {
    let mut tries = 0;
    loop {
        match options.connect().await {
            Err(sqlx::Error::Database(e))
                if e.code().is_some_and(|code| code == "5" || code == "261") && tries < 100 =>
            {
                tries += 1;
                tokio::time::sleep(BUSY_TIMEOUT / 100).await;
            }
            other => return other,
        }
    }
}

type Outcome = Result<Arc<Raised>>;

/// The only connection that writes, whether it is sealed, and its file. Clones share them.
#[derive(Clone)]
pub(super) struct Writer(Arc<Mutex<WriterState>>, Arc<AtomicBool>, Arc<OpenedFile>);

struct WriterState {
    connection: SqliteConnection,
    /// Whether nothing is committed any more.
    sealed: Arc<AtomicBool>,
    /// Whether there is a transaction, and in it the savepoint of its last change.
    open: bool,
    /// Whether that change is running, or was dropped without a commit.
    running: bool,
    /// Whether that change is the whole transaction, without a savepoint.
    large: bool,
    /// Finished changes that wait for the shared commit.
    finished: Vec<oneshot::Sender<Outcome>>,
    /// Tables that the finished changes wrote: the shared commit raises the epoch of each once.
    touched: BTreeSet<String>,
    /// Whether a flusher waits in the queue.
    flusher: bool,
    /// The version of the schema that `alone` was read from.
    schema: Option<i64>,
    /// Whether each change commits alone: the file has deferred foreign keys. Their violation shows
    /// only at the commit and must not fail other changes.
    alone: bool,
}

impl Writer {
    /// Waits for its turn and opens a savepoint. A caller that is dropped leaves the queue. A
    /// caller that is not `patient` is refused after `LOCK_TIMEOUT`: an index or another process
    /// may keep the writer for minutes, and waiting requests take the places of others. While the
    /// file is not in its place, every caller is refused.
    pub(super) async fn begin(&self, patient: bool) -> Result<SqliteTx> {
        let turn = self.0.clone().lock_owned();
        let state = match patient {
            true => turn.await,
            false => tokio::time::timeout(LOCK_TIMEOUT, turn).await.map_err(|_| {
                let detail = "The database is busy; nothing was changed. Try again.";
                Error::new(Code::Unavailable, detail).retry_after(1)
            })?,
        };
        self.expect_file()?;
        let mut tx = SqliteTx { state, writer: self.clone() };
        // A task of its own, so that a caller that is dropped half-way cannot leave the connection
        // in an unknown state.
        let task = tokio::spawn(async move { tx.state.start().await.map(|()| tx) });
        Ok(task.await.map_err(Error::internal)??)
    }

    /// Refuses when the file was moved, removed or replaced: the next start would not find what is
    /// committed now. SQLite itself looks for this only where it keeps no log of writes.
    pub(super) fn expect_file(&self) -> Result<()> {
        if self.2.is_in_place() {
            return Ok(());
        }
        let what = "The database file is gone from its place, or another one lies there: stop the \
                    service, put the right file there, and start again.";
        Err(Error::new(Code::Unavailable, what))
    }

    /// Queues behind the changes that wait now, then commits for all that have finished.
    fn flush_later(&self, state: &mut WriterState) {
        // Without a runtime the process is ending; SQLite then rolls back uncommitted work.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if !std::mem::replace(&mut state.flusher, true) {
            let writer = self.0.clone();
            runtime.spawn(async move { writer.lock_owned().await.flush().await });
        }
    }

    /// Makes an index outside of any change, after the changes that wait for their commit.
    /// Sorting uses temporary files, because a large table would not fit into memory. Returns
    /// whether the index is declared; false also when nobody waits for it any more.
    pub(super) async fn make_index(
        &self,
        index: &NewIndex,
        is_over: impl Fn() -> bool,
    ) -> Result<bool> {
        let mut state = self.0.clone().lock_owned().await;
        if is_over() {
            return Ok(false);
        }
        self.expect_file()?;
        state.flush().await;
        state.send("pragma temp_store = file").await?;
        let made = state.make(index).await;
        state.send("pragma temp_store = memory").await?;
        Ok(made?)
    }

    /// Moves the log into the file, once no reader needs it. Removed rows are already overwritten
    /// there, unless an earlier version removed them: then `compact` rewrites the file. Runs as a
    /// task, for the same reason as [`Writer::begin`]: a dropped caller leaves nothing half done.
    pub(super) async fn scrub(&self, compact: bool) -> Result<()> {
        let writer = self.clone();
        let task = tokio::spawn(async move { writer.scrub_to_the_end(compact).await });
        task.await.map_err(Error::internal)?
    }

    async fn scrub_to_the_end(&self, compact: bool) -> Result<()> {
        for attempt in 0..SCRUBS {
            let mut state = self.0.clone().lock_owned().await;
            self.expect_file()?;
            state.flush().await;
            if compact && attempt == 0 {
                // A large file would not fit into memory.
                state.send("pragma temp_store = file").await?;
                let written = state.send("vacuum").await;
                state.send("pragma temp_store = memory").await?;
                written?;
            }
            let moved = sqlx::query_as(CHECKPOINT).fetch_one(&mut state.connection);
            let (busy, ..): (i64, i64, i64) = moved.instrument(span(CHECKPOINT)).await?;
            drop(state);
            if busy == 0 {
                break;
            }
            tokio::time::sleep(BUSY_TIMEOUT / 50).await;
        }
        Ok(())
    }

    pub(super) async fn close(&self) {
        let mut state = self.0.lock().await;
        // Otherwise finished changes would wait until the writer is sealed.
        state.flush().await;
        let _ = state.send(CHECKPOINT).await;
    }

    /// Allows no further commit, whoever holds the writer.
    pub(super) fn seal(&self) {
        self.1.store(true, Ordering::Relaxed);
    }
}

impl WriterState {
    async fn send(&mut self, sql: &'static str) -> Result<(), sqlx::Error> {
        sqlx::query(sql).execute(&mut self.connection).instrument(span(sql)).await.map(drop)
    }

    async fn start(&mut self) -> Result<(), sqlx::Error> {
        self.undo_abandoned().await;
        if self.open {
            let next = self.follow_schema(NEXT).await;
            // A change of this group may have made the first deferred key.
            if next.is_err() || (self.alone && !self.finished.is_empty()) {
                self.end(next).await;
            }
        }
        if !self.open {
            if let Err(error) = self.follow_schema(BEGIN).await {
                // Fails when there is no transaction, which is the rule.
                let _ = self.send(ROLLBACK).await;
                return Err(error);
            }
            self.open = true;
        }
        self.running = true;
        Ok(())
    }

    /// Sends `sql`, which ends with the version of the schema. Any process may have changed the
    /// schema, and with it `alone`.
    async fn follow_schema(&mut self, sql: &'static str) -> Result<(), sqlx::Error> {
        let schema = sqlx::query_scalar(sql).fetch_one(&mut self.connection);
        let schema: i64 = schema.instrument(span(sql)).await?;
        if self.schema != Some(schema) {
            let deferred = sqlx::query_scalar(HAS_DEFERRED).fetch_one(&mut self.connection);
            self.alone = deferred.instrument(span("deferred keys")).await?;
            self.schema = Some(schema);
        }
        Ok(())
    }

    /// Checks the declaration and makes the index in one transaction, so that no other process
    /// withdraws the declaration in between.
    async fn make(&mut self, index: &NewIndex) -> Result<bool, sqlx::Error> {
        self.send("BEGIN IMMEDIATE").await?;
        let made = async {
            let declared: Option<(String, String)> = sqlx::query_as(index.declaration.sql())
                .bind(&index.table)
                .fetch_optional(&mut self.connection)
                .instrument(span(index.declaration.name()))
                .await?;
            let is_declared = index.is_in(declared);
            if is_declared {
                let create = sqlx::AssertSqlSafe(index.create.clone());
                let made = sqlx::raw_sql(create).execute(&mut self.connection);
                made.instrument(span("create index")).await?;
            }
            self.send(COMMIT).await?;
            Ok::<_, sqlx::Error>(is_declared)
        };
        let made = made.await;
        if made.is_err() {
            // Fails when the engine has already rolled back.
            let _ = self.send(ROLLBACK).await;
        }
        made
    }

    /// Undoes a change that was dropped without a commit. Some faults (a full disk, `on conflict
    /// rollback`) make the engine end the whole transaction: then the group has nothing left to
    /// commit.
    async fn undo_abandoned(&mut self) {
        let (running, large) = (std::mem::take(&mut self.running), self.large);
        if running && large {
            // Nobody waits for this transaction.
            self.end(Ok(())).await;
        } else if running && let Err(error) = self.send(UNDO).await {
            self.end(Err(error)).await;
        }
    }

    /// Ends the transaction and reports the outcome to the group. Returns whether nothing failed.
    async fn end(&mut self, mut outcome: Result<(), sqlx::Error>) -> bool {
        let (touched, mut raised) = (std::mem::take(&mut self.touched), Raised::new());
        self.large = false;
        // A change that commits with others may fail through their fault.
        let mut is_own = false;
        if std::mem::take(&mut self.open) {
            if outcome.is_ok() && !self.finished.is_empty() {
                is_own = self.finished.len() == 1;
                outcome = self.commit(touched, &mut raised).await;
            }
            if outcome.is_err() || self.finished.is_empty() {
                // Fails when the engine has already rolled back.
                let _ = self.send(ROLLBACK).await;
            }
        }
        let told = outcome.map(|()| Arc::new(raised)).map_err(|cause| {
            // Another process may make other tables under the number that was rolled back.
            self.schema = None;
            let why = cause.to_string();
            if is_own && let Some(waiting) = self.finished.pop() {
                let _ = waiting.send(Err(cause.into()));
            }
            why
        });
        for waiting in self.finished.drain(..) {
            let _ = waiting.send(told.clone().map_err(|why| {
                let detail = "The database could not write; nothing was changed. Try again.";
                Error::new(Code::Unavailable, detail).caused_by(why)
            }));
        }
        told.is_ok()
    }

    /// Ends the savepoint, commits the finished changes, and goes on without a savepoint. The
    /// running change may not have written anything yet. Returns whether its reads still hold:
    /// the finished changes are committed, and no other process has written.
    async fn grow(&mut self) -> Result<bool, sqlx::Error> {
        self.send(RELEASE).await?;
        if self.finished.is_empty() {
            self.large = true;
            return Ok(true);
        }
        let before = self.version().await?;
        self.running = false;
        if !self.end(Ok(())).await {
            return Ok(false);
        }
        self.send(BEGIN_LARGE).await?;
        (self.open, self.running, self.large) = (true, true, true);
        Ok(self.version().await? == before)
    }

    /// Changes with each commit of other connections, and when they restart the log
    /// (sqlite.org/pragma.html#pragma_data_version).
    async fn version(&mut self) -> Result<i64, sqlx::Error> {
        let version = sqlx::query_scalar(VERSION).fetch_one(&mut self.connection);
        version.instrument(span(VERSION)).await
    }

    async fn commit(
        &mut self,
        touched: BTreeSet<String>,
        raised: &mut Raised,
    ) -> Result<(), sqlx::Error> {
        if self.sealed.load(Ordering::Relaxed) {
            return Err(sqlx::Error::PoolClosed);
        }
        let statement = Dialect::Sqlite.of(&epochs::sql::RAISE);
        for table in touched {
            let raise = sqlx::query_scalar(statement.sql()).bind(&table);
            let raise = raise.fetch_one(&mut self.connection);
            let epoch = raise.instrument(span(statement.name())).await?;
            raised.push((table, Some(epoch)));
        }
        self.send(COMMIT).await
    }

    async fn flush(&mut self) {
        self.flusher = false;
        self.undo_abandoned().await;
        self.end(Ok(())).await;
    }
}

/// The writer while one change holds it.
pub(crate) struct SqliteTx {
    state: OwnedMutexGuard<WriterState>,
    writer: Writer,
}

impl SqliteTx {
    /// Whether no finished change waits for the same commit.
    pub(super) fn is_first(&self) -> bool {
        self.state.finished.is_empty()
    }

    /// Goes on as a transaction of its own, without a savepoint. Changes of many rows do this,
    /// because the undo data of a savepoint stays in memory, and each statement looks through all
    /// of it (50,000 submissions: 16 s, without it 7 s). Nothing may have been written before.
    pub(super) async fn grow(mut self) -> Result<Self> {
        // A task, for the same reason as in [`Writer::begin`].
        let task = tokio::spawn(async move { self.state.grow().await.map(|same| (self, same)) });
        match task.await.map_err(Error::internal)?? {
            (tx, true) => Ok(tx),
            (_, false) => {
                let detail = "Other writes may have changed what this change has read. Try again.";
                Err(Error::new(Code::Unavailable, detail).retry_after(1))
            }
        }
    }

    /// Returns when the shared commit is on disk, with the epochs of all tables that it changed.
    pub(super) async fn commit(mut self, touched: BTreeSet<String>) -> Result<Arc<Raised>> {
        let (tell, told) = oneshot::channel();
        self.state.running = false;
        self.state.touched.extend(touched);
        self.state.finished.push(tell);
        if self.state.alone || self.state.large {
            // A task, for the same reason as in [`Writer::begin`].
            tokio::spawn(async move { self.state.end(Ok(())).await });
        } else {
            drop(self);
        }
        told.await.map_err(Error::internal)?
    }
}

impl Drop for SqliteTx {
    fn drop(&mut self) {
        self.writer.flush_later(&mut self.state);
    }
}

impl Deref for SqliteTx {
    type Target = SqliteConnection;
    fn deref(&self) -> &SqliteConnection {
        &self.state.connection
    }
}

impl DerefMut for SqliteTx {
    fn deref_mut(&mut self) -> &mut SqliteConnection {
        &mut self.state.connection
    }
}
