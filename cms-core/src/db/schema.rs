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

/// A column as [`Dialect::columns`] selects it.
pub(crate) struct Described {
    name: String,
    native: String,
    not_null: bool,
    has_default: bool,
    generated: bool,
    /// Its place in the primary key, from 1; 0 outside.
    place: i64,
    references: Option<String>,
    length: Option<usize>,
}

impl FromRow for Described {
    fn from_row(row: &Row) -> Result<Self> {
        let mut columns = row.columns();
        Ok(Self {
            name: columns.next()?,
            native: columns.next()?,
            not_null: columns.next()?,
            has_default: columns.next()?,
            generated: columns.next()?,
            place: columns.next()?,
            references: columns.next()?,
            length: columns.next::<Option<i64>>()?.and_then(|n| n.try_into().ok()),
        })
    }
}

impl DbTable {
    /// The table with these columns; None without any.
    pub(crate) fn of(dialect: Dialect, rows: Vec<Described>) -> Option<Self> {
        if rows.is_empty() {
            return None;
        }
        let mut key: Vec<(i64, &str)> = rows
            .iter()
            .filter(|column| column.place > 0)
            .map(|column| (column.place, column.name.as_str()))
            .collect();
        key.sort_unstable();
        let single_key = key.len() == 1;
        let key = key.into_iter().map(|(_, name)| name.to_owned()).collect();
        let columns = rows.into_iter().map(|column| column.seen(dialect, single_key)).collect();
        Some(Self { columns, key })
    }
}

impl Described {
    fn seen(self, dialect: Dialect, single_key: bool) -> DbColumn {
        // SQLite numbers a single INTEGER PRIMARY KEY by itself.
        let rowid = dialect == Dialect::Sqlite
            && single_key
            && self.place > 0
            && self.native.eq_ignore_ascii_case("integer");
        DbColumn {
            kind: dialect.kind(&self.native),
            cast: dialect.cast_type(&self.native),
            native: self.native,
            not_null: self.not_null || self.place > 0,
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
    /// Reads a table or view; None when there is none of that name. Within a change:
    /// [`crate::Change::describe`].
    pub(crate) async fn describe(&self, table: &str) -> Result<Option<DbTable>> {
        let dialect = self.dialect();
        Ok(DbTable::of(dialect, self.all(dialect.columns(), args![table]).await?))
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
