//! What is asked of a content table itself: about how many rows it has, and which indexes.

use sqlx::AssertSqlSafe;

use super::Items;
use crate::{
    Result,
    content::Table,
    db::{IndexColumn, Kind, dialect::quote},
};

/// Rows up to which a table is counted exactly.
const COUNTED: i64 = 10_000;

impl Items {
    /// Number of rows of a table, exact up to 10,000. A larger table is estimated by its largest
    /// key; if its key is not one whole number, the result is 10,001.
    pub async fn estimate(&self, table: &Table) -> Result<i64> {
        let (db, from) = (self.0.base.db(), table.quoted());
        let sql =
            format!("select count(*) from (select 1 as one from {from} limit {}) t", COUNTED + 1);
        let (counted,): (i64,) = db.one(AssertSqlSafe(sql), Vec::new()).await?;
        let mut key = table.key_columns();
        let (Some(key), None, true) = (key.next(), key.next(), counted > COUNTED) else {
            return Ok(counted);
        };
        if key.kind != Kind::Integer {
            return Ok(counted);
        }
        let sql = format!("select cast(max({}) as bigint) from {from}", quote(&key.name));
        let (largest,): (Option<i64>,) = db.one(AssertSqlSafe(sql), Vec::new()).await?;
        Ok(largest.unwrap_or(0).max(counted))
    }

    /// The columns of each index of a table, with `-` before descending columns. The list leaves
    /// out the primary key, indexes of expressions, partial indexes, and indexes with columns that
    /// reads do not return. Declared indexes end with the key, which is not shown.
    pub async fn indexes(&self, table: &Table) -> Result<Vec<Vec<String>>> {
        let found = self.0.base.db().indexes(&table.source).await?;
        let shown = |column: &IndexColumn| {
            let name = column.name.as_deref()?;
            table.readable(name).ok()?;
            Some(format!("{}{name}", if column.descending { "-" } else { "" }))
        };
        let declared = |columns: &Vec<IndexColumn>| {
            let mut columns: Vec<String> = columns.iter().map(shown).collect::<Option<_>>()?;
            let key = |last: &&String| matches!(last.as_str(), "id" | "-id");
            if !table.adopted && columns.len() > 1 && columns.last().as_ref().is_some_and(key) {
                columns.pop();
            }
            Some(columns)
        };
        let mut indexes: Vec<Vec<String>> = found.iter().filter_map(declared).collect();
        indexes.sort_unstable();
        indexes.dedup();
        Ok(indexes)
    }
}
