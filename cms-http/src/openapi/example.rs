//! An example of a record, made from its table.

use cms_core::content::{Column, Table};
use serde_json::Value as Json;

/// What a new record must have, and what its table gives an example of; for a change one column of
/// that.
pub(super) fn of(table: &Table, new: bool) -> Json {
    let written = table.columns.iter().filter(|column| table.writes(column));
    let has_example = |column: &Column| column.resource.is_some_and(|one| !one.example.is_empty());
    let needed = written.filter(|column| {
        (column.required || has_example(column))
            && !column.has_default
            && (new || !table.is_key(column))
    });
    let value = |column: &Column| match (table.name.as_str(), column.name.as_str()) {
        ("forms", "name") => "newsletter".into(),
        _ => column.example(),
    };
    let shown = needed.map(|column| (column.name.clone(), value(column)));
    Json::Object(if new { shown.collect() } else { shown.take(1).collect() })
}
