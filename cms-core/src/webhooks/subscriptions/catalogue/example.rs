//! Examples of an event's data. Pure.

use serde_json::Value as Json;

use super::RegisteredEvent;
use crate::{
    content::{Column, Table, Tables},
    events::{is_removed, known},
    items::event_data,
};

/// `None` when only the program that raises the event knows its data.
pub(in crate::webhooks) fn example(tables: &Tables, event: &RegisteredEvent) -> Option<Json> {
    match &event.content_table {
        Some(table) => {
            let is_update = event.event_name.ends_with(".updated");
            tables.find(table).map(|table| item(&table, is_update))
        }
        None => known(&event.event_name).map(|known| known.example()),
    }
}

fn item(table: &Table, is_update: bool) -> Json {
    let columns = told(table);
    let record: Json = columns
        .clone()
        .map(|column| (column.name.clone(), column.example()))
        .collect::<serde_json::Map<_, _>>()
        .into();
    let mut key: Vec<_> = table.key_columns().map(Column::example).collect();
    let id = if key.len() == 1 { key.remove(0) } else { key.into() };
    let language = table.multilanguage.then_some("en");
    let last = || columns.map(|column| column.name.clone()).rfind(|name| name != "id");
    let changed = is_update.then(|| last().into_iter().collect());
    event_data(table, &id, language, &record, changed)
}

/// The columns that events tell.
pub(super) fn told(table: &Table) -> impl DoubleEndedIterator<Item = &Column> + Clone {
    table.columns.iter().filter(|column| column.readable() && !is_removed(&column.name))
}
