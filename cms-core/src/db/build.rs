//! Makes indexes of tables that are in use, outside of any change.
//!
//! PostgreSQL makes them beside readers and writers; SQLite beside readers, while writers wait. One
//! process makes indexes at a time; another that wants the same one finds it made.

#[cfg(feature = "postgres")]
use std::time::Duration;

use super::{Db, Pool};
use crate::{Error, Result};

impl Db {
    /// Makes an index, unless a complete one of that name is there. An incomplete one, which
    /// PostgreSQL leaves when making it fails, is removed first.
    pub(crate) async fn build_index(&self, table: &str, name: &str, create: String) -> Result<()> {
        // A task of its own: a caller that is dropped must not leave a lock or half an index.
        let task = match &self.pool {
            #[cfg(feature = "sqlite")]
            Pool::Sqlite(_, writer) => {
                let writer = writer.clone();
                tokio::spawn(async move { writer.outside(create).await })
            }
            #[cfg(feature = "postgres")]
            Pool::Postgres(pool) => {
                let (pool, table, name) = (pool.clone(), table.to_owned(), name.to_owned());
                tokio::spawn(async move { concurrently(&pool, &table, &name, create).await })
            }
        };
        let _ = (table, name);
        task.await.map_err(Error::internal)?
    }
}

/// How often a process asks whether another has made its index.
#[cfg(feature = "postgres")]
const TURN: Duration = Duration::from_millis(200);

#[cfg(feature = "postgres")]
async fn concurrently(pool: &sqlx::PgPool, table: &str, name: &str, create: String) -> Result<()> {
    use sqlx::{AssertSqlSafe, Connection};

    use super::{Dialect, Lock, dialect::quote};
    // Its lock ends with the connection, whatever happens.
    let mut connection = pool.acquire().await?.detach();
    // Waiting within a statement would hold a snapshot, which the other process waits for.
    while !sqlx::query_scalar::<_, bool>(Dialect::TRY_LOCK)
        .bind(Lock::INDEXES.number())
        .fetch_one(&mut connection)
        .await?
    {
        tokio::time::sleep(TURN).await;
    }
    let found: Vec<(String, bool, bool)> = sqlx::query_as(Dialect::Postgres.index_states())
        .bind(table)
        .fetch_all(&mut connection)
        .await?;
    let built = match found.iter().find(|(found, ..)| found == name) {
        Some((_, _, true)) => Ok(()),
        found => {
            if found.is_some() {
                let drop = format!("drop index concurrently {}", quote(name));
                sqlx::raw_sql(AssertSqlSafe(drop)).execute(&mut connection).await?;
            }
            sqlx::raw_sql(AssertSqlSafe(create)).execute(&mut connection).await.map(drop)
        }
    };
    connection.close().await?;
    Ok(built?)
}
