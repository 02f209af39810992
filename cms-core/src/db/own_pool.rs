//! Connections for SQL of the embedding program. They only read.
//!
//! This SQL takes no connection of the service, and no read of the service meets what it leaves
//! behind. The engine refuses its writes, whatever the text: SQLite's file is opened for reading,
//! and each transaction of PostgreSQL begins as one that reads.

use std::{sync::atomic::Ordering, time::Duration};

use sqlx::{Database, SqlSafeStr, SqlStr, pool::PoolOptions};
use tracing::Instrument;

use super::{
    Db, FromRow, Pool, Row, Value, fault::no_session, guard, on, server, statements::span, value,
};
use crate::{Error, Result};

/// Most connections. They are opened when they are needed.
const OWN: u32 = 4;
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(10);
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);
/// How long cleaning a connection may take before the connection is closed.
const CLEAN_TIMEOUT: Duration = Duration::from_secs(10);
/// Words that a query of the program may begin with. SQLite would make the file of `vacuum into`
/// before it refuses the write.
const ALLOWED: [&str; 4] = ["select", "with", "values", "explain"];
/// How long closing waits for the connections that the program holds.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// Ends a transaction that was left open, and resets what guards the connection and what changes
/// results. Within a transaction of SQLite `begin` fails, and the connection is closed.
#[cfg(feature = "sqlite")]
const CLEAN_SQLITE: &str = "begin; rollback; pragma query_only = on; \
     pragma locking_mode = normal; pragma case_sensitive_like = off; \
     pragma reverse_unordered_selects = off";
/// Whether other files or temporary tables are attached. A statement of its own, because a pragma
/// before it would return a row as well.
#[cfg(feature = "sqlite")]
const LEFT_SQLITE: &str = "select count(*) > 1 from pragma_database_list";
/// As `discard all`, but without the prepared statements, which the driver keeps. Within a
/// transaction `begin` only warns; within a failed one it fails, and the connection is closed.
#[cfg(feature = "postgres")]
const CLEAN_POSTGRES: &str = "begin; rollback; set session authorization default; reset role; \
     reset all; close all; unlisten *; discard temp; select pg_advisory_unlock_all()";

#[derive(Clone)]
pub(super) enum OwnPool {
    #[cfg(feature = "sqlite")]
    Sqlite(sqlx::SqlitePool),
    #[cfg(feature = "postgres")]
    Postgres(sqlx::PgPool),
}

fn options<D: Database>() -> PoolOptions<D> {
    PoolOptions::new()
        .max_connections(OWN)
        .acquire_timeout(ACQUIRE_TIMEOUT)
        .idle_timeout(IDLE_TIMEOUT)
        .test_before_acquire(false)
}

impl OwnPool {
    /// Reads the file that a site has opened.
    #[cfg(feature = "sqlite")]
    pub(super) fn sqlite(path: &std::path::Path) -> Self {
        // A program may change its working directory before it reads.
        let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let reading = super::sqlite::options(&path).read_only(true).create_if_missing(false);
        let reading = reading.pragma("query_only", "on").pragma("cache_size", "-1000");
        let pool = options().after_release(|connection, _| {
            Box::pin(clean(async {
                let cleaned = sqlx::query(CLEAN_SQLITE).execute(&mut *connection);
                cleaned.instrument(span("own clean")).await?;
                let found = sqlx::query_scalar(LEFT_SQLITE).fetch_one(&mut *connection);
                let is_left: bool = found.instrument(span("own left")).await?;
                Ok(!is_left && !sqlx::Connection::is_in_transaction(connection))
            }))
        });
        Self::Sqlite(pool.connect_lazy_with(reading))
    }

    #[cfg(feature = "postgres")]
    pub(super) fn postgres(server: sqlx::postgres::PgConnectOptions) -> Self {
        let reading = server.options([("default_transaction_read_only", "on")]);
        let pool = options()
            .before_acquire(|connection, about| {
                Box::pin(async move {
                    // The server may have closed it meanwhile.
                    if about.idle_for > Duration::from_secs(1) {
                        sqlx::Connection::ping(connection).await?;
                    }
                    Ok(true)
                })
            })
            .after_release(|connection, _| {
                Box::pin(clean(async {
                    let cleaned = sqlx::raw_sql(CLEAN_POSTGRES).execute(&mut *connection);
                    cleaned.instrument(span("own clean")).await?;
                    Ok(!sqlx::Connection::is_in_transaction(connection))
                }))
            });
        Self::Postgres(pool.connect_lazy_with(reading))
    }

    pub(super) async fn close(&self) {
        let closed = on!(self, OwnPool, pool => {
            let _: Option<Engine> = None;
            let _ = ROW;
            tokio::time::timeout(CLOSE_TIMEOUT, pool.close()).await
        });
        if closed.is_err() {
            tracing::warn!("the program still holds a connection that it reads with");
        }
    }
}

/// Whether a connection can be used again.
async fn clean(cleaned: impl Future<Output = sqlx::Result<bool>>) -> sqlx::Result<bool> {
    match tokio::time::timeout(CLEAN_TIMEOUT, cleaned).await {
        Ok(Err(sqlx::Error::Database(_))) => Ok(false),
        Ok(cleaned) => cleaned,
        Err(_) => Err(sqlx::Error::PoolTimedOut),
    }
}

/// SQL of the embedding program that reads. Made by [`Db::sql`].
#[must_use = "a statement does nothing before `rows` or `optional`"]
pub struct ReadSql<'d> {
    db: &'d Db,
    text: SqlStr,
    values: Vec<Value>,
}

impl Db {
    /// A query of your own, on connections that only read: one statement that begins with
    /// `select`, `with`, `values` or `explain`, with values as `$1`, `$2`... It sees only what
    /// was committed, so in debug builds it panics in a handler that holds a change. The engine
    /// refuses writes, whatever the text. To write, use `cms.items().sql(&mut change, …)`.
    pub fn sql(&self, text: impl SqlSafeStr) -> ReadSql<'_> {
        ReadSql { db: self, text: text.into_sql_str(), values: Vec::new() }
    }

    /// The pool that [`Db::sql`] reads with, for sqlx itself; None on PostgreSQL. It has four
    /// connections, which only read: [`read_error`] says what an error means. A connection that
    /// you keep is missing for the rest of the program, and SQLite's log grows for as long as a
    /// query runs.
    #[cfg(feature = "sqlite")]
    #[must_use]
    pub fn sqlite(&self) -> Option<&sqlx::SqlitePool> {
        match &self.own {
            OwnPool::Sqlite(pool) => Some(pool),
            #[cfg(feature = "postgres")]
            OwnPool::Postgres(_) => None,
        }
    }

    /// The pool that [`Db::sql`] reads with, for sqlx itself; None on SQLite. It has four
    /// connections, whose transactions only read: [`read_error`] says what an error means. A
    /// connection that you keep is missing for the rest of the program. What a session has set is
    /// undone when its connection comes back.
    #[cfg(feature = "postgres")]
    #[must_use]
    pub fn postgres(&self) -> Option<&sqlx::PgPool> {
        match &self.own {
            OwnPool::Postgres(pool) => Some(pool),
            #[cfg(feature = "sqlite")]
            OwnPool::Sqlite(_) => None,
        }
    }

    /// All rows, or the first one alone.
    async fn read_own(&self, text: SqlStr, values: Vec<Value>, first: bool) -> Result<Vec<Row>> {
        guard::reads_pool("own");
        self.count.fetch_add(1, Ordering::Relaxed);
        let server = match &self.pool {
            #[cfg(feature = "sqlite")]
            Pool::Sqlite(..) => None,
            #[cfg(feature = "postgres")]
            Pool::Postgres(server) => Some(server.clone()),
        };
        on!(&self.own, OwnPool, pool => {
            let query = sqlx::query_with::<Engine, _>(text, value::bind::<Engine>(values)?);
            let mut connection = pool.acquire().await.map_err(no_session)?;
            let rows = async {
                match first {
                    true => Ok(query.fetch_optional(&mut *connection).await?.into_iter().collect()),
                    false => query.fetch_all(&mut *connection).await,
                }
            };
            let rows: Vec<_> =
                server::watch(server, rows.instrument(span("own"))).await.map_err(read_error)?;
            Ok(rows.into_iter().map(ROW).collect())
        })
    }
}

impl ReadSql<'_> {
    /// The next value: `$1`, then `$2`...
    pub fn bind(mut self, value: impl Into<Value>) -> Self {
        self.values.push(value.into());
        self
    }

    /// Its rows: as tuples such as `(i64, String)`, or as your own [`FromRow`].
    ///
    /// # Errors
    /// As [`read_error`], and `internal_error` for another statement, for values that are not
    /// exactly `$1`, `$2`... of its text, and for a column of another type.
    pub async fn rows<T: FromRow>(self) -> Result<Vec<T>> {
        self.check()?;
        let rows = self.db.read_own(self.text, self.values, false).await?;
        rows.iter().map(T::from_row).collect()
    }

    /// The first row, if any.
    pub async fn optional<T: FromRow>(self) -> Result<Option<T>> {
        self.check()?;
        let first = self.db.read_own(self.text, self.values, true).await?;
        first.first().map(T::from_row).transpose()
    }

    fn check(&self) -> Result<()> {
        let (dialect, text) = (self.db.dialect(), self.text.as_str());
        let is_allowed = match &dialect.statements(text)[..] {
            [words] => words.first().is_some_and(|first| ALLOWED.contains(&first.as_str())),
            _ => false,
        };
        if !is_allowed {
            let why = "a query is one statement that begins with select, with, values or explain";
            return Err(only_reads(&format!("{why}: {text}")));
        }
        let values = dialect.expect_values(text, self.values.len());
        values.map_err(|why| Error::internal(format!("{why}: {text}")))
    }
}

fn only_reads(why: &str) -> Error {
    Error::internal(format!(
        "`cms.db()` only reads: write under a change, with `cms.items()` or \
         `cms.items().sql(&mut change, …)`; nothing was written: {why}"
    ))
}

/// What an error of a reading connection means: `internal_error` for a write that the engine has
/// refused and for a fault of the SQL; `unavailable` when the database cannot be reached.
#[must_use]
pub fn read_error(cause: sqlx::Error) -> Error {
    let code = cause.as_database_error().and_then(|cause| cause.code());
    // SQLite's code, and PostgreSQL's.
    match code.is_some_and(|code| code == "8" || code == "25006") {
        true => only_reads(&cause.to_string()),
        false => cause.into(),
    }
}
