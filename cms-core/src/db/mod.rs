//! The database: one SQL text for SQLite and PostgreSQL, reads through [`Db`], writes through
//! [`crate::Change`]. SQL of the embedding program reads through [`Db::sql`].

mod build;
mod connect;
pub(crate) mod dialect;
pub(crate) mod epochs;
mod fault;
pub(crate) mod files;
pub(crate) mod follow;
mod guard;
mod indexes;
mod lock;
pub(crate) mod migrate;
mod own_pool;
mod reach;
pub(crate) mod ready;
mod record;
mod record_cache;
pub(crate) mod save;
mod schema;
#[cfg_attr(not(feature = "postgres"), path = "no_server.rs")]
mod server;
mod snapshot;
#[cfg_attr(not(all(feature = "sqlite", target_os = "linux")), path = "no_snapshot_version.rs")]
mod snapshot_version;
#[cfg(feature = "sqlite")]
mod sqlite;
mod statements;
#[cfg(all(feature = "sqlite", feature = "postgres"))]
pub(crate) mod transfer;
mod tx;
mod value;

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use tracing::Instrument;

pub(crate) use build::{NewIndex, TURN};
pub use dialect::{Dialect, Kind};
pub(crate) use dialect::{PerEngine, Token};
pub use epochs::Epochs;
pub(crate) use epochs::epoch_of;
pub use guard::watched;
pub(crate) use guard::{Hold, under_change};
pub(crate) use indexes::{IndexColumn, IndexState};
pub(crate) use lock::Lock;
pub use migrate::Migration;
pub use own_pool::{ReadSql, read_error};
pub(crate) use reach::{Fault, is_of_another, place, remedy, writing};
pub(crate) use record::{Record, field, read, record};
pub use record_cache::Source;
pub(crate) use record_cache::{Cached, RecordCache};
pub use schema::{DbColumn, DbTable};
pub(crate) use snapshot::Snapshot;
pub(crate) use statements::Step;
pub(crate) use statements::statements;
pub use statements::{Sql, Statement};
#[cfg(all(feature = "sqlite", feature = "postgres"))]
pub use transfer::{Copied, CopyProgress, CopyStep, OnCopyProgress};
pub(crate) use tx::Tx;
pub(crate) use value::args;
pub(crate) use value::{Columns, Lossy};
pub use value::{Field, FromRow, Row, Value};

use crate::{Error, Result};

/// The number of a state of the database. It grows with every commit of every process.
pub(crate) type SnapshotVersion = i64;

/// Connections to SQLite or PostgreSQL. Clones share them.
#[derive(Clone)]
pub struct Db {
    pool: Pool,
    /// The connections of the embedding program.
    own: own_pool::OwnPool,
    count: Arc<AtomicU64>,
    epochs: Arc<Epochs>,
    /// Held while the epochs are read.
    reading: Arc<tokio::sync::Mutex<()>>,
    index: Option<snapshot_version::Index>,
    /// Whether SQLite has opened a file that it may not write, and so only reads.
    is_read_only: bool,
    /// SQLite's file.
    file: Option<Arc<std::path::Path>>,
    /// Epochs, by the snapshot version at which they were read.
    counted: Arc<RecordCache<i64>>,
}

#[derive(Clone)]
enum Pool {
    #[cfg(feature = "sqlite")]
    Sqlite(sqlx::SqlitePool, sqlite::Writer),
    #[cfg(feature = "postgres")]
    Postgres(server::Server),
}

/// Runs an expression against the engine in use.
macro_rules! on {
    ($target:expr, $kind:ident, $at:ident => $run:expr) => {
        match $target {
            #[cfg(feature = "sqlite")]
            $kind::Sqlite($at, ..) => {
                use sqlx::Sqlite as Engine;
                const ROW: fn(sqlx::sqlite::SqliteRow) -> Row = Row::sqlite;
                $run
            }
            #[cfg(feature = "postgres")]
            $kind::Postgres($at, ..) => {
                use sqlx::Postgres as Engine;
                const ROW: fn(sqlx::postgres::PgRow) -> Row = Row::postgres;
                $run
            }
        }
    };
}

use on;

impl Db {
    /// All rows of a query.
    ///
    /// # Errors
    /// `unavailable` when the database cannot be reached, `internal_error` otherwise.
    pub(crate) async fn all<T: FromRow>(
        &self,
        sql: impl Into<Sql>,
        args: Vec<Value>,
    ) -> Result<Vec<T>> {
        let sql = sql.into();
        guard::reads_pool(sql.name);
        self.count.fetch_add(1, Ordering::Relaxed);
        self.uncounted(sql, args).await
    }

    async fn uncounted<T: FromRow>(&self, sql: impl Into<Sql>, args: Vec<Value>) -> Result<Vec<T>> {
        let Sql { name, text } = sql.into();
        let rows = self.fetch(text, args).instrument(statements::span(name)).await?;
        rows.iter().map(T::from_row).collect()
    }

    async fn fetch(&self, sql: sqlx::SqlStr, args: Vec<Value>) -> Result<Vec<Row>> {
        match &self.pool {
            #[cfg(feature = "sqlite")]
            Pool::Sqlite(readers, ..) => {
                let args = value::bind::<sqlx::Sqlite>(args)?;
                let query = sqlx::query_with::<sqlx::Sqlite, _>(sql, args);
                Ok(query.fetch_all(readers).await?.into_iter().map(Row::sqlite).collect())
            }
            #[cfg(feature = "postgres")]
            Pool::Postgres(server) => {
                let args = value::bind::<sqlx::Postgres>(args)?;
                let mut tries = server.lost_tries();
                let rows = loop {
                    let query = sqlx::query_with::<sqlx::Postgres, _>(sql.clone(), args.clone());
                    let mut held = server.connection().await?;
                    tries -= 1;
                    match server.watch(query.fetch_all(&mut *held)).await {
                        // Only use shows that the server has closed connections of the pool.
                        Err(error) if tries > 0 && fault::is_lost(&error) => {}
                        read => break read?,
                    }
                };
                Ok(rows.into_iter().map(Row::postgres).collect())
            }
        }
    }

    /// The first row of a query, if any.
    pub(crate) async fn optional<T: FromRow>(
        &self,
        sql: impl Into<Sql>,
        args: Vec<Value>,
    ) -> Result<Option<T>> {
        Ok(self.all(sql, args).await?.into_iter().next())
    }

    /// The rows with these keys, in no order. The text of `statement` ends with `in`, and `args`
    /// are its own values.
    pub(crate) async fn among<T: FromRow>(
        &self,
        statement: Statement,
        mut args: Vec<Value>,
        keys: &[i64],
    ) -> Result<Vec<T>> {
        args.push(serde_json::json!(keys).to_string().into());
        let text = sqlx::AssertSqlSafe(self.dialect().among(statement, args.len()));
        self.all(Sql { name: statement.name(), text: sqlx::SqlSafeStr::into_sql_str(text) }, args)
            .await
    }

    /// The number of rows that a statement finds.
    pub(crate) async fn count_rows(&self, statement: Statement, args: Vec<Value>) -> Result<i64> {
        let text = format!("select count(*) from ({}) found", statement.sql());
        let text = sqlx::SqlSafeStr::into_sql_str(sqlx::AssertSqlSafe(text));
        let (number,) = self.one(Sql { name: statement.name(), text }, args).await?;
        Ok(number)
    }

    /// The one row of a query that always has one.
    ///
    /// # Errors
    /// As [`Db::all`], and `internal_error` without a row.
    pub(crate) async fn one<T: FromRow>(&self, sql: impl Into<Sql>, args: Vec<Value>) -> Result<T> {
        self.optional(sql, args).await?.ok_or_else(|| Error::internal(sqlx::Error::RowNotFound))
    }

    /// The engine's dialect of SQL.
    #[must_use]
    pub fn dialect(&self) -> Dialect {
        match &self.pool {
            #[cfg(feature = "sqlite")]
            Pool::Sqlite(..) => Dialect::Sqlite,
            #[cfg(feature = "postgres")]
            Pool::Postgres(..) => Dialect::Postgres,
        }
    }

    /// How often each table has changed, as far as this process knows.
    #[must_use]
    pub fn epochs(&self) -> &Epochs {
        &self.epochs
    }

    /// As [`Db::epochs`], for callers that outlive this handle.
    pub(crate) fn shared_epochs(&self) -> Arc<Epochs> {
        self.epochs.clone()
    }

    /// The number of the present state, cheap to read; `None` when the engine has none. Rows read
    /// after this call are current while the number stays the same.
    #[must_use]
    pub fn snapshot_version(&self) -> Option<i64> {
        self.index.as_ref()?.snapshot_version()
    }

    /// The number of statements sent since the start, without those that follow other processes.
    /// Tests compare it to check the cost of a request.
    #[must_use]
    pub fn statements_sent(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// Prepares the statements. Returns those that the engine refuses, with its reason.
    #[cfg(feature = "testing")]
    pub(crate) async fn refused(
        &self,
        statements: &[Statement],
    ) -> Result<Vec<(&'static str, String)>> {
        use sqlx::{Executor, SqlSafeStr};
        let mut refused = Vec::new();
        for statement in statements {
            let outcome = on!(&self.pool, Pool, pool => {
                let _: Option<Engine> = None;
                let mut connection = pool.acquire().await?;
                let sql = statement.sql().into_sql_str();
                connection.prepare(sql).await.map(|_| ROW).err()
            });
            refused.extend(outcome.map(|error| (statement.name(), error.to_string())));
        }
        Ok(refused)
    }

    /// Begins a transaction. When SQLite's writer is not free in time, only callers that are
    /// `patient` go on waiting; PostgreSQL's pool refuses all callers after its timeout.
    pub(crate) async fn begin(&self, patient: bool) -> Result<Tx> {
        let _ = patient;
        // SQLite's writer would still begin one.
        if self.is_closed() {
            return Err(sqlx::Error::PoolClosed.into());
        }
        Ok(match &self.pool {
            #[cfg(feature = "sqlite")]
            Pool::Sqlite(_, writer) => Tx::Sqlite(writer.begin(patient).await?),
            #[cfg(feature = "postgres")]
            Pool::Postgres(server) => Tx::Postgres(server.begin("begin").await?),
        })
    }

    pub(crate) fn is_closed(&self) -> bool {
        match &self.pool {
            #[cfg(feature = "sqlite")]
            Pool::Sqlite(readers, ..) => readers.is_closed(),
            #[cfg(feature = "postgres")]
            Pool::Postgres(pool) => pool.is_closed(),
        }
    }

    /// Overwrites what removed rows have left in SQLite's file, and moves its log into the file;
    /// `compact` rewrites the file. False on PostgreSQL, which does neither.
    pub(crate) async fn scrub(&self, compact: bool) -> Result<bool> {
        match &self.pool {
            #[cfg(feature = "sqlite")]
            Pool::Sqlite(_, writer) => writer.scrub(compact).await.map(|()| true),
            #[cfg(feature = "postgres")]
            Pool::Postgres(_) => {
                let _ = compact;
                Ok(false)
            }
        }
    }

    /// Closes the pool once running statements have ended. SQLite moves its log into the file.
    pub async fn close(&self) {
        let pool = async {
            match &self.pool {
                #[cfg(feature = "sqlite")]
                Pool::Sqlite(readers, writer) => {
                    readers.close().await;
                    writer.close().await;
                }
                #[cfg(feature = "postgres")]
                Pool::Postgres(pool) => pool.close().await,
            }
        };
        tokio::join!(self.own.close(), pool);
    }

    /// From here on no commit begins, not even of a change that a close has not waited for.
    pub(crate) fn seal(&self) {
        match &self.pool {
            #[cfg(feature = "sqlite")]
            Pool::Sqlite(_, writer) => writer.seal(),
            #[cfg(feature = "postgres")]
            Pool::Postgres(server) => server.seal(),
        }
    }
}

/// The columns of a violated rule, which PostgreSQL names beside its message.
pub(crate) fn violated_columns(cause: &dyn sqlx::error::DatabaseError) -> &str {
    #[cfg(feature = "postgres")]
    if let Some(cause) = cause.try_downcast_ref::<sqlx::postgres::PgDatabaseError>() {
        // References, unique keys, exclusions. The details of other errors hold values.
        let is_of_key = ["23001", "23503", "23505", "23P01"].contains(&cause.code());
        let key = cause.detail().filter(|_| is_of_key).map(named_key);
        return cause.column().or(key).unwrap_or_default();
    }
    let _ = cause;
    ""
}

/// The columns in `Key (a, b)=(1, 2) already exists.`, in whatever language.
#[cfg(feature = "postgres")]
fn named_key(detail: &str) -> &str {
    let key = detail.split_once('(').and_then(|(_, rest)| rest.split_once(")=("));
    key.map_or("", |(columns, _)| columns)
}

#[cfg(all(test, feature = "postgres"))]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_named_in_every_language() {
        for (detail, columns) in [
            ("Key (a, b)=(1, 2) already exists.", "a, b"),
            ("Schlüssel »(writer)=(7)« ist nicht in Tabelle »writers« vorhanden.", "writer"),
            ("La clé (id)=(1) est toujours référencée à partir de la table « a ».", "id"),
            ("Key (\"from\", lower(a))=(x)=(y) already exists.", "\"from\", lower(a)"),
            ("Key is not present in table \"writers\".", ""),
        ] {
            assert_eq!(named_key(detail), columns, "{detail}");
        }
    }
}
