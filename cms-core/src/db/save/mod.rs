//! A whole database, written out and read in: what a backup needs of each engine.
//!
//! ```text
//! postgres  tables by COPY, the schema from the catalogs
//! sqlite    a copy of the file
//! ```

#[cfg(feature = "postgres")]
pub(crate) mod postgres;
#[cfg(feature = "sqlite")]
pub(crate) mod sqlite;

use tracing::Instrument as _;

use super::{FromRow, Row, Statement, Value, statements::span, value};
use crate::Result;

/// A connection of its own that reads one state.
pub(crate) enum Reader {
    #[cfg(feature = "sqlite")]
    Sqlite(sqlx::SqliteConnection),
    #[cfg(feature = "postgres")]
    Postgres(sqlx::PgConnection),
}

impl Reader {
    /// All rows of a query.
    pub(crate) async fn all<T: FromRow>(
        &mut self,
        statement: Statement,
        args: Vec<Value>,
    ) -> Result<Vec<T>> {
        super::on!(self, Self, connection => {
            let args = value::bind::<Engine>(args)?;
            let query = sqlx::query_with::<Engine, _>(statement.sql(), args);
            let rows = query.fetch_all(connection).instrument(span(statement.name())).await?;
            rows.into_iter().map(|row| T::from_row(&ROW(row))).collect()
        })
    }

    /// Whether there is a table of this name.
    pub(crate) async fn has_table(&mut self, name: &str) -> Result<bool> {
        Ok(match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(connection) => sqlite::tables(connection).await?.iter().any(|t| t == name),
            #[cfg(feature = "postgres")]
            Self::Postgres(connection) => {
                postgres::tables(connection).await?.iter().any(|table| table.name == name)
            }
        })
    }

    /// Closes the connection.
    pub(crate) async fn close(self) {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(connection) => {
                let _ = sqlx::Connection::close(connection).await;
            }
            #[cfg(feature = "postgres")]
            Self::Postgres(connection) => postgres::close(connection).await,
        }
    }
}
