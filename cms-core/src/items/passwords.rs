//! Whether the values of password columns still open.

use sqlx::AssertSqlSafe;

use super::Items;
use crate::{
    Result, Vault,
    db::dialect::{Kind, quote},
};

/// Number of values that are tried in each column.
const TRIED: usize = 100;

/// The context that the values of a column are sealed for.
pub(super) fn context(table: &str, column: &str) -> String {
    format!("{table}.{column}")
}

impl Items {
    /// Whether the first sealed values of each password column open.
    pub(crate) async fn passwords_open(&self) -> Result<Vec<bool>> {
        let (base, mut opens) = (&self.0.base, Vec::new());
        for table in self.0.registry.tables().iter() {
            for column in table.columns.iter().filter(|column| column.kind == Kind::Password) {
                let (name, context) = (quote(&column.name), context(&table.name, &column.name));
                let sql = format!(
                    "select cast({name} as text) from {} where {name} is not null limit {TRIED}",
                    table.quoted()
                );
                let found: Vec<(String,)> = base.db().all(AssertSqlSafe(sql), Vec::new()).await?;
                // Other software may have written unsealed values.
                let sealed = found.iter().filter(|(text,)| Vault::is_sealed(text));
                opens.extend(sealed.map(|(text,)| base.vault().open(&context, text).is_ok()));
            }
        }
        Ok(opens)
    }
}
