//! What the database says of its tables.

use super::{
    Db, FromRow, Row,
    dialect::{Dialect, Kind},
};
use crate::{Result, db::args};

/// A table or view as it stands in the database.
#[derive(Clone, Debug)]
pub struct DbTable {
    /// Columns in their order.
    pub columns: Vec<DbColumn>,
    /// Names of the primary key's columns in its order; empty without one.
    pub key: Vec<String>,
}

/// A column as it stands in the database.
#[derive(Clone, Debug)]
pub struct DbColumn {
    /// Its name, in the database's own spelling.
    pub name: String,
    /// How it behaves.
    pub kind: Kind,
    /// The engine's type.
    pub native: String,
    /// Type for casts, empty where none is needed.
    pub cast: String,
    /// Refuses NULL.
    pub not_null: bool,
    /// Rows may hold NULL all the same: SQLite lets it into keys, where nothing new should add it.
    pub nullable: bool,
    /// Has a default, so it may be left out of an insert.
    pub has_default: bool,
    /// Computed by the engine, so it cannot be written.
    pub generated: bool,
    /// The table whose primary key this column refers to, by the database's name.
    pub references: Option<String>,
    /// Characters that it holds at most, where the engine refuses more.
    pub length: Option<usize>,
}

type Raw = (String, String, bool, bool, bool, i64);

struct Described(Raw, Option<String>, Option<usize>);

impl FromRow for Described {
    fn from_row(row: &Row) -> Result<Self> {
        let length: Option<i64> = row.get(7)?;
        Ok(Self(Raw::from_row(row)?, row.get(6)?, length.and_then(|n| n.try_into().ok())))
    }
}

impl Db {
    /// Reads a table or view; None when there is none of that name.
    pub(crate) async fn describe(&self, table: &str) -> Result<Option<DbTable>> {
        let dialect = self.dialect();
        let rows: Vec<Described> = self.all(dialect.columns(), args![table]).await?;
        if rows.is_empty() {
            return Ok(None);
        }
        let mut key: Vec<(i64, String)> = rows
            .iter()
            .filter(|Described(row, ..)| row.5 > 0)
            .map(|Described(row, ..)| (row.5, row.0.clone()))
            .collect();
        key.sort();
        let single_key = key.len() == 1;
        let columns = rows.into_iter().map(
            |Described(
                (name, native, not_null, has_default, generated, place),
                references,
                length,
            )| {
                let kind = dialect.kind(&native);
                // SQLite numbers a single INTEGER PRIMARY KEY by itself.
                let rowid = dialect == Dialect::Sqlite
                    && single_key
                    && place > 0
                    && native.eq_ignore_ascii_case("integer");
                DbColumn {
                    kind,
                    cast: dialect.cast_type(&native),
                    native,
                    not_null: not_null || place > 0,
                    nullable: !not_null && !rowid,
                    has_default: has_default || rowid,
                    generated,
                    references,
                    length,
                    name,
                }
            },
        );
        Ok(Some(DbTable {
            columns: columns.collect(),
            key: key.into_iter().map(|(_, name)| name).collect(),
        }))
    }

    /// Names of a table's columns in their order; empty when there is no such table.
    ///
    /// # Errors
    /// `unavailable` when the database cannot be reached.
    pub async fn columns_of(&self, table: &str) -> Result<Vec<String>> {
        let described = self.describe(table).await?;
        Ok(described
            .map(|table| table.columns.into_iter().map(|column| column.name).collect())
            .unwrap_or_default())
    }

    /// Names of all tables and views.
    ///
    /// # Errors
    /// `unavailable` when the database cannot be reached.
    pub async fn table_names(&self) -> Result<Vec<String>> {
        Ok(self
            .all(self.dialect().tables(), Vec::new())
            .await?
            .into_iter()
            .map(|(name,): (String,)| name)
            .collect())
    }
}
