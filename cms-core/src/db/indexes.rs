//! Indexes, as the database describes them.

use super::Db;
use crate::{Result, db::args};

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
    /// The indexes of a table, without its primary key and without indexes of some rows only.
    pub(crate) async fn indexes(&self, table: &str) -> Result<Vec<Vec<IndexColumn>>> {
        let rows: Vec<Row> = self.all(self.dialect().indexes(), args![table]).await?;
        let indexes = rows.chunk_by(|one, next| one.0 == next.0);
        let column = |(_, name, descending): &Row| IndexColumn {
            name: name.clone(),
            descending: *descending,
        };
        Ok(indexes.map(|columns| columns.iter().map(column).collect()).collect())
    }
}
