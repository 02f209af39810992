//! Makes indexes on tables that are in use, outside of any change.
//!
//! PostgreSQL makes an index while others read and write; on SQLite others read, and writers
//! wait. One process makes indexes at a time; another process that wants the same index finds it
//! made. An index that is no longer declared when its turn comes is not made.

use std::{sync::Arc, time::Duration};

#[cfg(feature = "postgres")]
use tracing::Instrument;

#[cfg(feature = "postgres")]
use super::statements::span;
use super::{Db, Pool, Statement};
use crate::{Error, Result};

/// How often a process asks whether another has made its index.
pub(crate) const TURN: Duration = Duration::from_millis(200);

/// An index to make.
#[derive(Clone)]
pub(crate) struct NewIndex {
    pub(crate) table: String,
    /// By this name PostgreSQL finds a complete index, or what is left of a failed one.
    #[cfg(feature = "postgres")]
    pub(crate) name: String,
    /// The statement that makes it.
    pub(crate) create: String,
    /// Reads owner and text of the declaration of table `$1`.
    pub(crate) declaration: Statement,
    /// Whether the text of such a declaration asks for the index.
    pub(crate) is_declared: Arc<dyn Fn(&str) -> bool + Send + Sync>,
}

impl NewIndex {
    pub(super) fn is_in(&self, found: Option<(String, String)>) -> bool {
        found.is_some_and(|(_, text)| (self.is_declared)(&text))
    }
}

impl Db {
    /// Makes an index, unless a complete one of that name is there. An incomplete one, which
    /// PostgreSQL leaves when making it fails, is removed first. Returns whether the index is still
    /// declared; otherwise, and when the database is closed meanwhile, nothing is made.
    pub(crate) async fn build_index(&self, index: NewIndex) -> Result<bool> {
        // A task of its own: a caller that is dropped must not leave a lock or half an index.
        let task = match &self.pool {
            #[cfg(feature = "sqlite")]
            Pool::Sqlite(readers, writer) => {
                let (readers, writer) = (readers.clone(), writer.clone());
                tokio::spawn(async move {
                    loop {
                        match writer.make_index(&index, || readers.is_closed()).await {
                            // Another process writes, perhaps an index.
                            Err(error) if is_busy(&error) => {
                                tokio::time::sleep(TURN).await;
                            }
                            outcome => return outcome,
                        }
                    }
                })
            }
            #[cfg(feature = "postgres")]
            Pool::Postgres(pool) => {
                let (mut turn, server) = (self.index_turn().await?, pool.clone());
                tokio::spawn(async move {
                    let mut told = false;
                    loop {
                        let taken = turn.take().await?;
                        if server.is_closed() {
                            turn.end().await;
                            return Ok(false);
                        }
                        if taken {
                            break;
                        }
                        if !std::mem::replace(&mut told, true) {
                            let index = index.name.as_str();
                            tracing::info!(index, "waits until another process has made its index");
                        }
                        tokio::time::sleep(TURN).await;
                    }
                    match &mut turn {
                        #[cfg(feature = "sqlite")]
                        IndexTurn::Sqlite => Ok(false),
                        IndexTurn::Postgres(connection, _) => {
                            let made = server.watch(concurrently(connection, &index)).await;
                            turn.end().await;
                            made
                        }
                    }
                })
            }
        };
        task.await.map_err(Error::internal)?
    }

    /// A turn to make indexes. A change of tables that have rows takes a turn too: on PostgreSQL
    /// that change would wait for the index, all requests for the table would wait behind the
    /// change, and the index would wait for those requests.
    pub(crate) async fn index_turn(&self) -> Result<IndexTurn> {
        match &self.pool {
            #[cfg(feature = "sqlite")]
            Pool::Sqlite(..) => Ok(IndexTurn::Sqlite),
            #[cfg(feature = "postgres")]
            Pool::Postgres(pool) => {
                let mut connection = pool.acquire().await?.detach();
                // Making an index waits for all transactions before it, however long they take.
                let wait = sqlx::raw_sql("set lock_timeout = 0").execute(&mut connection);
                pool.watch(wait.instrument(span("set lock_timeout"))).await?;
                Ok(IndexTurn::Postgres(connection, pool.clone()))
            }
        }
    }
}

/// A turn among all processes that make indexes. On SQLite the one writer gives turns already.
pub(crate) enum IndexTurn {
    #[cfg(feature = "sqlite")]
    Sqlite,
    /// The lock ends with the connection, whatever happens.
    #[cfg(feature = "postgres")]
    Postgres(sqlx::PgConnection, super::server::Server),
}

impl IndexTurn {
    /// Takes the turn if it is free. To wait inside the statement would hold a snapshot, and an
    /// index that is being made waits for all snapshots.
    pub(crate) async fn take(&mut self) -> Result<bool> {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite => Ok(true),
            #[cfg(feature = "postgres")]
            Self::Postgres(connection, server) => {
                let take = sqlx::query_scalar(super::Dialect::TRY_LOCK);
                let take = take.bind(super::Lock::INDEXES.number()).fetch_one(connection);
                Ok(server.watch(take.instrument(span("index turn"))).await?)
            }
        }
    }

    /// Gives it back.
    pub(crate) async fn end(self) {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite => {}
            #[cfg(feature = "postgres")]
            Self::Postgres(connection, _) => {
                let _ = sqlx::Connection::close(connection).await;
            }
        }
    }
}

#[cfg(feature = "sqlite")]
fn is_busy(error: &Error) -> bool {
    matches!(error.database(), Some(sqlx::Error::Database(e))
        if e.code().is_some_and(|code| code == "5" || code == "261" || code == "517"))
}

#[cfg(feature = "postgres")]
async fn concurrently(connection: &mut sqlx::PgConnection, index: &NewIndex) -> Result<bool> {
    use sqlx::AssertSqlSafe;

    use super::{Dialect, dialect::quote};
    let declared: Option<(String, String)> = sqlx::query_as(index.declaration.sql())
        .bind(&index.table)
        .fetch_optional(&mut *connection)
        .instrument(span(index.declaration.name()))
        .await?;
    if !index.is_in(declared) {
        return Ok(false);
    }
    let found: Vec<(String, bool, bool)> = sqlx::query_as(Dialect::Postgres.index_states())
        .bind(&index.table)
        .fetch_all(&mut *connection)
        .instrument(span("index states"))
        .await?;
    match found.iter().find(|(found, ..)| *found == index.name) {
        Some((_, _, true)) => {}
        found => {
            if found.is_some() {
                let drop = format!("drop index concurrently {}", quote(&index.name));
                let drop = sqlx::raw_sql(AssertSqlSafe(drop)).execute(&mut *connection);
                drop.instrument(span("drop index")).await?;
            }
            let create = AssertSqlSafe(index.create.clone());
            let made = sqlx::raw_sql(create).execute(&mut *connection);
            let made = made.instrument(span("create index")).await;
            if made.is_err() {
                drop_invalid_index(connection, index).await?;
            }
            made?;
        }
    }
    Ok(true)
}

/// Removes an index that a failure left incomplete: a unique one would still refuse rows.
#[cfg(feature = "postgres")]
async fn drop_invalid_index(connection: &mut sqlx::PgConnection, index: &NewIndex) -> Result<()> {
    use sqlx::AssertSqlSafe;

    use super::{Dialect, dialect::quote};
    let found: Vec<(String, bool, bool)> = sqlx::query_as(Dialect::Postgres.index_states())
        .bind(&index.table)
        .fetch_all(&mut *connection)
        .instrument(span("index states"))
        .await?;
    // Another program's table may have the name.
    if found.iter().any(|(found, _, valid)| *found == index.name && !valid) {
        let drop = format!("drop index concurrently {}", quote(&index.name));
        let drop = sqlx::raw_sql(AssertSqlSafe(drop)).execute(connection);
        drop.instrument(span("drop index")).await?;
    }
    Ok(())
}
