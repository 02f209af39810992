//! Several reads of one state of the database.

use std::sync::{Arc, atomic::AtomicU64, atomic::Ordering};

use tracing::Instrument;

use super::{Db, FromRow, Pool, Row, Sql, Value, guard, on, server, statements::span, value};
use crate::{Error, Result};

/// Reads that all see the database as it was at the first of them. They wait for nobody, and nobody
/// waits for them.
pub(crate) struct Snapshot {
    tx: Reading,
    count: Arc<AtomicU64>,
}

enum Reading {
    #[cfg(feature = "sqlite")]
    Sqlite(sqlx::Transaction<'static, sqlx::Sqlite>),
    #[cfg(feature = "postgres")]
    Postgres(server::ServerConnection),
}

/// It holds no row, so it may wait for its reader.
#[cfg(feature = "postgres")]
const BEGIN: &str = "begin isolation level repeatable read read only; \
                     set local idle_in_transaction_session_timeout = '60s'";

impl Db {
    /// Begins to read one state.
    pub(crate) async fn snapshot(&self) -> Result<Snapshot> {
        guard::reads_pool("snapshot");
        let tx = match &self.pool {
            #[cfg(feature = "sqlite")]
            Pool::Sqlite(readers, ..) => {
                Reading::Sqlite(readers.begin().instrument(span("begin")).await?)
            }
            #[cfg(feature = "postgres")]
            Pool::Postgres(server) => Reading::Postgres(server.begin(BEGIN).await?),
        };
        Ok(Snapshot { tx, count: self.count.clone() })
    }
}

impl Snapshot {
    /// All rows of a query.
    pub(crate) async fn all<T: FromRow>(
        &mut self,
        sql: impl Into<Sql>,
        args: Vec<Value>,
    ) -> Result<Vec<T>> {
        let Sql { name, text } = sql.into();
        self.count.fetch_add(1, Ordering::Relaxed);
        let server = match &self.tx {
            #[cfg(feature = "sqlite")]
            Reading::Sqlite(_) => None,
            #[cfg(feature = "postgres")]
            Reading::Postgres(tx) => Some(tx.server()),
        };
        on!(&mut self.tx, Reading, tx => {
            let query = sqlx::query_with::<Engine, _>(text, value::bind::<Engine>(args)?);
            let rows = query.fetch_all(&mut **tx).instrument(span(name));
            let rows = server::watch(server, rows).await?;
            rows.into_iter().map(|row| T::from_row(&ROW(row))).collect()
        })
    }

    /// The first row of a query, if any.
    pub(crate) async fn optional<T: FromRow>(
        &mut self,
        sql: impl Into<Sql>,
        args: Vec<Value>,
    ) -> Result<Option<T>> {
        Ok(self.all(sql, args).await?.into_iter().next())
    }

    /// Gives the connection back. Without this it is given back later.
    pub(crate) async fn end(self) -> Result<()> {
        let ended = match self.tx {
            #[cfg(feature = "sqlite")]
            Reading::Sqlite(tx) => tx.rollback().await,
            #[cfg(feature = "postgres")]
            Reading::Postgres(tx) => tx.end("rollback").await,
        };
        ended.map_err(Error::from)
    }
}
