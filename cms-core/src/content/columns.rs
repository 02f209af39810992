//! Text columns that are added to a table of the service.

use std::collections::BTreeSet;

use sqlx::AssertSqlSafe;

use crate::{
    Change, Result,
    db::dialect::{Kind, quote},
};

/// The columns that the table lacks; empty when there is no such table. The caller holds
/// [`Lock::SCHEMA`](crate::db::Lock::SCHEMA).
pub(crate) async fn lacking<'n>(
    change: &mut Change,
    table: &str,
    names: &BTreeSet<&'n str>,
) -> Result<Vec<&'n str>> {
    let Some(described) = change.describe(table).await? else { return Ok(Vec::new()) };
    let is_there = |name: &str| described.columns.iter().any(|column| column.name == name);
    Ok(names.iter().copied().filter(|name| !is_there(name)).collect())
}

/// Adds columns that the table lacks.
pub(crate) async fn add(change: &mut Change, table: &str, names: &[&str]) -> Result<()> {
    let text = change.dialect().declared_type(Kind::Text);
    for name in names {
        let (table, name) = (quote(table), quote(name));
        let statement = format!("alter table {table} add column {name} {text}");
        change.script(AssertSqlSafe(statement)).await?;
    }
    Ok(())
}
