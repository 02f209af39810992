//! SQLite: a copy of the file that holds one state, and queries of such a file.

use std::{fs::File, path::Path};

use sqlx::{AssertSqlSafe, Connection as _, SqliteConnection, sqlite::SqliteJournalMode};
use tracing::Instrument as _;

use super::super::{dialect::quote, files, sqlite, statements::span};
use crate::{Code, Error, Result, ground::error::MIGRATE};

/// `VACUUM INTO` takes one snapshot, so writers go on beside it.
const COPY: &str = "vacuum into $1";
/// Virtual tables have no rows of their own: the tables behind them are counted.
const TABLES: &str = "select name from sqlite_schema where type = 'table' and name not like \
                      'sqlite!_%' escape '!' and sql not like 'create virtual %' order by name";
const WHOLE: &str = "select integrity_check from pragma_integrity_check";
const QUICK: &str = "select quick_check from pragma_quick_check";
const BROKEN: &str = "select \"table\" || ' row ' || coalesce(rowid, '?') || ' names no row of ' \
                      || \"parent\" from pragma_foreign_key_check limit 100";
/// Fails while anybody else has the file open.
const ALONE: &str = "pragma locking_mode = exclusive; begin exclusive; commit";
const CHECKPOINT: &str = "pragma wal_checkpoint(truncate)";
/// SQLite's codes: busy and locked; an error of the disk; a full disk.
const BUSY: [u32; 2] = [5, 6];
const IO: u32 = 10;
const FULL: u32 = 13;

fn unopened(path: &Path, cause: sqlx::Error) -> Error {
    let what = format!("The database file {} cannot be opened.", path.display());
    Error::new(Code::Unavailable, what).caused_by(cause)
}

/// Opens a file that nobody writes.
pub(crate) async fn open(path: &Path) -> Result<SqliteConnection> {
    let options = sqlite::options(path).read_only(true);
    sqlite::connect(&options).await.map_err(|cause| unopened(path, cause))
}

/// Writes a copy of the database, which is on disk when this returns.
pub(crate) async fn copy(database: &Path, to: &Path) -> Result<()> {
    if !database.exists() {
        let what = format!(
            "There is no database file {}: correct database_url or dirs.data, or make it: \
             {MIGRATE}.",
            database.display()
        );
        return Err(Error::new(Code::Unavailable, what));
    }
    let options = sqlite::options(database).create_if_missing(false).pragma("temp_store", "file");
    let mut connection =
        sqlite::connect(&options).await.map_err(|cause| unopened(database, cause))?;
    // The target exists already, empty and for its owner alone: SQLite would make it with the
    // usual mode.
    let to_text = to.to_str().ok_or_else(|| Error::internal("the path is not Unicode"))?;
    let copied = sqlx::query(COPY).bind(to_text).execute(&mut connection);
    let copied = copied.instrument(span("copy")).await;
    let _ = connection.close().await;
    copied.map_err(|cause| uncopied(database, cause))?;
    // SQLite does not wait for the disk here.
    File::open(to).and_then(|file| file.sync_all()).map_err(Error::internal)
}

/// Names the database's disk, because the backup itself may go to another disk.
fn uncopied(database: &Path, cause: sqlx::Error) -> Error {
    let code = cause.as_database_error().and_then(|error| plain(&error.code()?));
    // Without room for the index of its log SQLite reports only an error of the disk.
    let is_full = code == Some(FULL) || code == Some(IO) && lacks_room(database);
    if !is_full {
        return cause.into();
    }
    let what = "The disk of the database is full: a backup first writes a copy of the database \
                beside it. Make room there for that copy.";
    Error::new(Code::Unavailable, what).caused_by(cause)
}

/// Whether there is no room for a copy beside the database, as far as that can be known.
fn lacks_room(database: &Path) -> bool {
    let folder = database.parent().filter(|folder| !folder.as_os_str().is_empty());
    let about = rustix::fs::statvfs(folder.unwrap_or(Path::new(".")));
    about.is_ok_and(|about| about.f_bavail.saturating_mul(about.f_frsize) < bytes(database))
}

/// The tables, by name.
pub(crate) async fn tables(connection: &mut SqliteConnection) -> Result<Vec<String>> {
    let read = sqlx::query_scalar(TABLES).fetch_all(connection);
    Ok(read.instrument(span("tables")).await?)
}

/// The tables with their numbers of rows.
pub(crate) async fn counts(connection: &mut SqliteConnection) -> Result<Vec<(String, i64)>> {
    let mut counts = Vec::new();
    for table in tables(connection).await? {
        let text = format!("select count(*) from {}", quote(&table));
        let read = sqlx::query_scalar(AssertSqlSafe(text)).fetch_one(&mut *connection);
        counts.push((table, read.instrument(span("composed")).await?));
    }
    Ok(counts)
}

/// What is damaged, one sentence each; `deep` compares indexes with their tables too.
pub(crate) async fn problems(connection: &mut SqliteConnection, deep: bool) -> Result<Vec<String>> {
    let look = if deep { WHOLE } else { QUICK };
    let read = sqlx::query_scalar(look).fetch_all(&mut *connection);
    let mut found: Vec<String> = read.instrument(span("integrity")).await?;
    found.retain(|line| line != "ok");
    if found.is_empty() {
        let read = sqlx::query_scalar(BROKEN).fetch_all(connection);
        found = read.instrument(span("foreign keys")).await?;
    }
    Ok(found)
}

/// Switches a copy to a log of writes, as a database in use has.
pub(crate) async fn keep_log(path: &Path) -> Result<()> {
    let options = sqlite::options(path).journal_mode(SqliteJournalMode::Wal);
    let connection = sqlite::connect(&options).await.map_err(|cause| unopened(path, cause))?;
    connection.close().await?;
    File::open(path).and_then(|file| file.sync_all()).map_err(Error::internal)
}

/// Runs statements, each with its values, on a file that nobody else has open.
pub(crate) async fn run(path: &Path, statements: &[(&'static str, &[i64])]) -> Result<()> {
    let options = sqlite::options(path).create_if_missing(false);
    let mut connection = sqlite::connect(&options).await.map_err(|cause| unopened(path, cause))?;
    let done = async {
        for (text, values) in statements {
            let query = sqlx::query::<sqlx::Sqlite>(*text);
            let query = values.iter().fold(query, |query, value| query.bind(*value));
            query.execute(&mut connection).instrument(span("fixed")).await?;
        }
        Ok::<_, Error>(())
    };
    let done = done.await;
    // The last connection to close moves the log into the file.
    connection.close().await?;
    done
}

/// Moves the log into the file. Returns whether nobody else has the file open.
pub(crate) async fn is_alone(path: &Path) -> Result<bool> {
    let options = sqlite::options(path)
        .create_if_missing(false)
        .busy_timeout(std::time::Duration::from_millis(500));
    let mut connection = sqlite::connect(&options).await.map_err(|cause| unopened(path, cause))?;
    let tried = async {
        sqlx::query(CHECKPOINT).execute(&mut connection).instrument(span(CHECKPOINT)).await?;
        sqlx::raw_sql(ALONE).execute(&mut connection).instrument(span("alone")).await
    };
    let tried = tried.await;
    // The last connection to close removes the log.
    let _ = connection.close().await;
    match tried {
        Ok(_) => Ok(true),
        Err(sqlx::Error::Database(e)) if e.code().is_some_and(|code| is_busy(&code)) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn is_busy(code: &str) -> bool {
    plain(code).is_some_and(|code| BUSY.contains(&code))
}

/// Extended codes have the plain one in their low byte.
fn plain(code: &str) -> Option<u32> {
    Some(code.parse::<u32>().ok()? & 0xff)
}

/// Bytes of the database and its log.
pub(crate) fn bytes(path: &Path) -> u64 {
    let length = |path: &Path| std::fs::metadata(path).map_or(0, |about| about.len());
    length(path) + files::companion_file(path, "-wal").map_or(0, |log| length(&log))
}
