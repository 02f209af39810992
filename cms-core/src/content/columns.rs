//! Columns of text that are added to a table of the service.

use std::collections::BTreeSet;

use sqlx::AssertSqlSafe;

use crate::{
    Change, Result,
    db::dialect::{Kind, quote},
};

/// Adds the columns that the table lacks; a table that is not there stays so. Whoever calls holds
/// [`Lock::SCHEMA`](crate::db::Lock::SCHEMA).
pub(crate) async fn add(change: &mut Change, table: &str, names: &BTreeSet<&str>) -> Result<()> {
    let Some(described) = change.describe(table).await? else { return Ok(()) };
    let text = change.dialect().declared_type(Kind::Text);
    for name in names {
        if !described.columns.iter().any(|column| column.name == *name) {
            let (table, name) = (quote(table), quote(name));
            let statement = format!("alter table {table} add column {name} {text}");
            change.script(AssertSqlSafe(statement)).await?;
        }
    }
    Ok(())
}
