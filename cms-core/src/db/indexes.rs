//! Indexes, as the database describes them.

use sqlx::AssertSqlSafe;

use super::{Db, FromRow, Value};
use crate::{Result, db::args};

/// An index by its name.
#[derive(Clone, Debug)]
pub(crate) struct IndexState {
    pub(crate) name: String,
    pub(crate) unique: bool,
    /// Whether it is complete: PostgreSQL leaves an invalid one when making it fails.
    pub(crate) valid: bool,
}

impl FromRow for IndexState {
    fn from_row(row: &super::Row) -> Result<Self> {
        let mut columns = row.columns();
        Ok(Self { name: columns.next()?, unique: columns.next()?, valid: columns.next()? })
    }
}

/// A column of an index, as [`super::Dialect::indexes`] selects it: index, column, downwards.
type Row = (String, Option<String>, bool);

/// A column of an index.
#[derive(Clone, Debug)]
pub(crate) struct IndexColumn {
    /// Its name; None for an expression.
    pub(crate) name: Option<String>,
    /// Whether it is sorted downwards.
    pub(crate) descending: bool,
}

impl Db {
    /// The indexes of a table, without its primary key and partial indexes.
    pub(crate) async fn indexes(&self, table: &str) -> Result<Vec<Vec<IndexColumn>>> {
        let rows: Vec<Row> = self.all(self.dialect().indexes(), args![table]).await?;
        let indexes = rows.chunk_by(|one, next| one.0 == next.0);
        let column = |(_, name, descending): &Row| IndexColumn {
            name: name.clone(),
            descending: *descending,
        };
        Ok(indexes.map(|columns| columns.iter().map(column).collect()).collect())
    }

    /// How the engine would run a query: the lines of its plan.
    pub(crate) async fn plan(&self, sql: &str, args: Vec<Value>) -> Result<Vec<String>> {
        let explain = AssertSqlSafe(format!("{} {sql}", self.dialect().explain()));
        let lines: Vec<PlanLine> = self.all(explain, args).await?;
        Ok(lines.into_iter().map(|PlanLine(line)| line).collect())
    }
}

/// A line of a plan: its only column, or the one after three numbers.
struct PlanLine(String);

impl FromRow for PlanLine {
    fn from_row(row: &super::Row) -> Result<Self> {
        row.get(3).or_else(|_| row.get(0)).map(Self)
    }
}
