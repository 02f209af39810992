//! The approximate number of rows of a content table.

use sqlx::AssertSqlSafe;

use super::Items;
use crate::{
    Result,
    content::Table,
    db::{Kind, dialect::quote},
};

/// Rows up to which a table is counted exactly.
const COUNTED: i64 = 10_000;

impl Items {
    /// Number of rows of a table, exact up to 10,000. A larger table is estimated by its largest
    /// key; if its key is not one whole number, the result is 10,001.
    ///
    /// # Errors
    /// `unavailable` when the database cannot be read.
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
}
