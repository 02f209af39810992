//! An example of a record, made from its table.

use std::sync::Arc;

use cms_core::content::Table;
use serde_json::Value as Json;

/// The table to show: one whose records can be removed, because no other table refers to them.
pub(super) fn table(tables: &[Arc<Table>]) -> Option<&Table> {
    let columns = || tables.iter().flat_map(|table| &table.columns);
    let is_free = |table: &&&Arc<Table>| {
        columns().all(|column| column.references.as_deref() != Some(table.name.as_str()))
    };
    let mut writable = tables.iter().filter(|table| table.writable());
    writable.clone().find(|table| is_free(&table)).or_else(|| writable.next()).map(|table| &**table)
}

/// What a new record must have, or for a change one column of it.
pub(super) fn of(table: &Table, new: bool) -> Json {
    let key = |index: &usize| table.key.contains(index);
    let columns = table.columns.iter().enumerate();
    let written = columns.filter(|(index, column)| !column.generated && !key(index));
    let needed = written.filter(|(_, column)| column.required && !column.has_default);
    let shown = needed.map(|(_, column)| (column.name.clone(), column.example()));
    Json::Object(if new { shown.collect() } else { shown.take(1).collect() })
}
