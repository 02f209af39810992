//! Examples of an event's data. Pure.

use serde_json::{Value as Json, json};

use super::RegisteredEvent;
use crate::{
    content::{Column, Table, Tables},
    events::is_removed,
    items::event_data,
};

/// `None` when only the program that raises the event knows its data.
pub(in crate::webhooks) fn example(tables: &Tables, event: &RegisteredEvent) -> Option<Json> {
    if let Some(table) = &event.content_table {
        return tables
            .find(table)
            .map(|table| item(&table, event.event_name.ends_with(".updated")));
    }
    match event.event_name.as_str() {
        "auth.login" | "auth.logout" => Some(json!({"user": {"id": 1, "username": "ana"}})),
        _ => None,
    }
}

fn item(table: &Table, updated: bool) -> Json {
    let seen = |column: &&Column| column.readable() && !is_removed(&column.name);
    let columns = table.columns.iter().filter(seen);
    let record: Json = columns
        .clone()
        .map(|column| (column.name.clone(), column.example()))
        .collect::<serde_json::Map<_, _>>()
        .into();
    let mut key: Vec<_> = table.key_columns().map(Column::example).collect();
    let id = if key.len() == 1 { key.remove(0) } else { key.into() };
    let language = table.multilanguage.then_some("en");
    let mut data = event_data(table, &id, language, &record);
    if updated {
        data["changed"] = columns
            .map(|column| column.name.as_str())
            .rfind(|name| *name != "id")
            .into_iter()
            .collect();
    }
    data
}
