//! The indexes of a content table, which show what to sort and filter by.

use super::Items;
use crate::{Result, content::Table, db::IndexColumn};

impl Items {
    /// The columns of each index of a table, with `-` before descending columns. The list leaves
    /// out the primary key, indexes of expressions, partial indexes, and indexes with columns that
    /// reads do not return. Declared indexes end with the key, which is not shown.
    ///
    /// # Errors
    /// `unavailable` when the database cannot be read.
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
