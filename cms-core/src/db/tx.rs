//! A transaction on either engine.

use std::{collections::BTreeSet, sync::Arc};

use tracing::Instrument;

#[cfg(feature = "sqlite")]
use super::sqlite;
use super::{
    Db, Dialect, FromRow, Lock, Row, SnapshotVersion, Sql, Step, Value, args, epochs::Raised, on,
    server, statements::span, value,
};
use crate::{Millis, Result};

/// A transaction. Only [`crate::Change`] and migrations hold one.
pub(crate) enum Tx {
    #[cfg(feature = "sqlite")]
    Sqlite(sqlite::SqliteTx),
    #[cfg(feature = "postgres")]
    Postgres(server::ServerConnection),
}

impl Tx {
    /// Waits until no other transaction holds `lock`, and holds it until this one ends. Only for
    /// changes of the schema the wait has no limit, because processes that start together take
    /// turns. On SQLite the one writer holds every lock.
    pub(crate) async fn lock(&mut self, lock: Lock) -> Result<()> {
        let sql = match lock.is_schema() {
            true => self.dialect().lock_patiently(),
            false => self.dialect().lock(),
        };
        match sql {
            Some(sql) => self.run(sql, args![lock.number()]).await.map(drop),
            None => Ok(()),
        }
    }

    /// As [`Tx::lock`], but refuses when this wait, or any later wait of the transaction, takes
    /// longer than `patience`; 0 means no limit.
    pub(crate) async fn lock_within(&mut self, lock: Lock, patience: Millis) -> Result<()> {
        match self.dialect().lock_within() {
            Some(sql) => self.run(sql, args![lock.number(), patience]).await.map(drop),
            None => Ok(()),
        }
    }

    /// The state of the file that this transaction sees, if nobody can have changed anything
    /// since. None on PostgreSQL, and when the transaction shares its commit with earlier
    /// changes, which no number shows yet.
    pub(crate) fn snapshot_version(&self, db: &Db) -> Option<SnapshotVersion> {
        let unshared = match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(tx) => tx.is_first(),
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => false,
        };
        if unshared { db.snapshot_version() } else { None }
    }

    /// Prepares for many rows, before anything is written; see [`sqlite::SqliteTx::grow`].
    pub(crate) async fn grow(self) -> Result<Self> {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(tx) => tx.grow().await.map(Self::Sqlite),
            #[cfg(feature = "postgres")]
            Self::Postgres(tx) => Ok(Self::Postgres(tx)),
        }
    }

    pub(crate) async fn all<T: FromRow>(
        &mut self,
        sql: impl Into<Sql>,
        args: Vec<Value>,
    ) -> Result<Vec<T>> {
        let Sql { name, text } = sql.into();
        let server = self.server();
        on!(self, Tx, tx => {
            let query = sqlx::query_with::<Engine, _>(text, value::bind::<Engine>(args)?);
            let rows = query.fetch_all(&mut **tx).instrument(span(name));
            let rows = server::watch(server, rows).await?;
            rows.into_iter().map(|row| T::from_row(&ROW(row))).collect()
        })
    }

    pub(crate) async fn run(&mut self, sql: impl Into<Sql>, args: Vec<Value>) -> Result<u64> {
        let Sql { name, text } = sql.into();
        let server = self.server();
        on!(self, Tx, tx => {
            let _ = ROW;
            let query = sqlx::query_with::<Engine, _>(text, value::bind::<Engine>(args)?);
            let done = query.execute(&mut **tx).instrument(span(name));
            Ok(server::watch(server, done).await?.rows_affected())
        })
    }

    /// Runs several statements without arguments.
    pub(crate) async fn script(&mut self, sql: impl Into<Sql>) -> Result<()> {
        let Sql { name, text } = sql.into();
        let server = self.server();
        on!(self, Tx, tx => {
            let _: Option<Engine> = None;
            let _ = ROW;
            let done = sqlx::raw_sql(text).execute(&mut **tx).instrument(span(name));
            server::watch(server, done).await?;
            Ok(())
        })
    }

    /// Runs the steps in one trip. Returns the number of rows that the last one changed.
    ///
    /// A step must not need rows that another step writes: on PostgreSQL all steps see the rows
    /// from before the first one.
    pub(crate) async fn steps(&mut self, steps: Vec<Step>) -> Result<u64> {
        let text = self.dialect().steps(&steps);
        let server = self.server();
        let args = steps.into_iter().flat_map(|Step(_, args)| args).collect();
        on!(self, Tx, tx => {
            use futures_util::TryStreamExt;
            let _ = ROW;
            let text = sqlx::AssertSqlSafe(text);
            let query = sqlx::query_with::<Engine, _>(text, value::bind::<Engine>(args)?);
            let done = sqlx::Executor::fetch_many(&mut **tx, query).try_fold(0, async |last, done| {
                Ok(done.left().map_or(last, |done| done.rows_affected()))
            });
            Ok(server::watch(server, done.instrument(span("steps"))).await?)
        })
    }

    /// Raises the epochs of the `touched` tables and commits.
    pub(crate) async fn commit(self, touched: BTreeSet<String>) -> Result<Arc<Raised>> {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(tx) => tx.commit(touched).await,
            #[cfg(feature = "postgres")]
            Self::Postgres(tx) => {
                let server = tx.server();
                let mut tx = Self::Postgres(tx);
                if !touched.is_empty() {
                    let raise = Dialect::Postgres.of(&super::epochs::sql::RAISE);
                    tx.run(raise, args![serde_json::json!(touched).to_string()]).await?;
                }
                server.expect_unsealed()?;
                match tx {
                    Self::Postgres(tx) => tx.end("commit").await?,
                    #[cfg(feature = "sqlite")]
                    Self::Sqlite(_) => {}
                }
                Ok(Arc::new(touched.into_iter().map(|table| (table, None)).collect()))
            }
        }
    }

    /// The server that statements wait for.
    fn server(&self) -> Option<server::Server> {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(_) => None,
            #[cfg(feature = "postgres")]
            Self::Postgres(tx) => Some(tx.server()),
        }
    }

    pub(crate) fn dialect(&self) -> Dialect {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(_) => Dialect::Sqlite,
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => Dialect::Postgres,
        }
    }
}
