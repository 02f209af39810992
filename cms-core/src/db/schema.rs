//! Tables and columns, as the database describes them.

use super::{
    Db, FromRow, Row,
    dialect::{Dialect, Kind},
};
use crate::{Result, db::args};

/// A table or view of the database.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DbTable {
    /// The columns, in their order.
    pub columns: Vec<DbColumn>,
    /// Names of the primary key's columns, in the key's order; empty without a key.
    pub key: Vec<String>,
}

/// A column of the database.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DbColumn {
    /// Its name, spelled as in the database.
    pub name: String,
    /// Its behaviour.
    pub kind: Kind,
    /// The engine's name of its type.
    pub native: String,
    /// The type for casts; empty where none is needed.
    pub cast: String,
    /// Whether writes of null are refused.
    pub not_null: bool,
    /// Whether rows may hold null. SQLite allows null even in keys, but new rows should not add it.
    pub nullable: bool,
    /// Whether it has a default, so that an insert may omit it.
    pub has_default: bool,
    /// Whether the engine computes it, so that it cannot be written.
    pub generated: bool,
    /// The table whose primary key it refers to, spelled as in the database.
    pub references: Option<String>,
    /// Characters that the engine accepts at most, if it has a limit.
    pub length: Option<usize>,
}

/// A column as [`Dialect::columns`] selects it.
pub(crate) struct ColumnRow {
    name: String,
    native: String,
    not_null: bool,
    has_default: bool,
    generated: bool,
    /// Its position in the primary key, from 1; 0 outside the key.
    key_position: i64,
    references: Option<String>,
    length: Option<usize>,
}

impl FromRow for ColumnRow {
    fn from_row(row: &Row) -> Result<Self> {
        let mut columns = row.columns();
        Ok(Self {
            name: columns.next()?,
            native: columns.next()?,
            not_null: columns.next()?,
            has_default: columns.next()?,
            generated: columns.next()?,
            key_position: columns.next()?,
            references: columns.next()?,
            length: columns.next::<Option<i64>>()?.and_then(|n| n.try_into().ok()),
        })
    }
}

impl DbTable {
    /// The table with these columns; `None` without columns.
    pub(crate) fn of(dialect: Dialect, rows: Vec<ColumnRow>) -> Option<Self> {
        if rows.is_empty() {
            return None;
        }
        let mut key: Vec<(i64, &str)> = rows
            .iter()
            .filter(|column| column.key_position > 0)
            .map(|column| (column.key_position, column.name.as_str()))
            .collect();
        key.sort_unstable();
        let single_key = key.len() == 1;
        let key = key.into_iter().map(|(_, name)| name.to_owned()).collect();
        let columns =
            rows.into_iter().map(|column| column.into_column(dialect, single_key)).collect();
        Some(Self { columns, key })
    }
}

impl ColumnRow {
    fn into_column(self, dialect: Dialect, single_key: bool) -> DbColumn {
        // SQLite assigns ids for a single INTEGER PRIMARY KEY.
        let rowid = dialect == Dialect::Sqlite
            && single_key
            && self.key_position > 0
            && self.native.eq_ignore_ascii_case("integer");
        DbColumn {
            kind: dialect.kind(&self.native),
            cast: dialect.cast_type(&self.native),
            native: self.native,
            not_null: self.not_null || self.key_position > 0,
            nullable: !self.not_null && !rowid,
            has_default: self.has_default || rowid,
            generated: self.generated,
            references: self.references,
            length: self.length,
            name: self.name,
        }
    }
}

impl Db {
    /// Describes a table or view of the site's schema; `None` when there is none of that name.
    /// Within a change use [`crate::Change::describe`].
    pub(crate) async fn describe(&self, table: &str) -> Result<Option<DbTable>> {
        let dialect = self.dialect();
        Ok(DbTable::of(dialect, self.all(dialect.columns(), args![table]).await?))
    }

    /// Describes a table or view that others made.
    pub(crate) async fn describe_adopted(&self, table: &str) -> Result<Option<DbTable>> {
        let dialect = self.dialect();
        Ok(DbTable::of(dialect, self.all(dialect.adopted_columns(), args![table]).await?))
    }

    /// Names of the columns of a table of the site's schema, in their order; empty when there is
    /// no such table.
    pub async fn columns_of(&self, table: &str) -> Result<Vec<String>> {
        let described = self.describe(table).await?;
        Ok(described
            .map(|table| table.columns.into_iter().map(|column| column.name).collect())
            .unwrap_or_default())
    }

    /// Names of all tables and views.
    pub async fn table_names(&self) -> Result<Vec<String>> {
        Ok(self
            .all(self.dialect().tables(), Vec::new())
            .await?
            .into_iter()
            .map(|(name,): (String,)| name)
            .collect())
    }
}
