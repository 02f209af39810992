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
        "form.submitted" => Some(json!({
            "form": {"id": 1, "name": "contact", "title": "Write to us"},
            "submission": {"id": 7, "created_at": "2026-11-21T09:30:00Z"},
            "answers": [
                {"field": "mail", "type": "email", "label": "E-mail", "value": "ada@example.org"},
            ],
        })),
        name if name.starts_with("formfunnel.") => Some(json!({
            "funnel": {
                "id": 1, "slug": "leads", "name": "Leads", "language_short": "en", "version": 3,
            },
            "submission": {
                "id": 7, "status": "in_progress", "reference": null,
                "node": {"id": 17, "name": "Budget", "type": "step"}, "path": [16, 17],
                "started_at": "2026-11-21T09:30:00Z", "completed_at": null, "abandoned_at": null,
                "source_url": "https://www.example.org/offer", "referer": null,
                "utm": {"source": "mail"},
            },
            "answers": [
                {"field": "budget", "type": "number", "label": "Budget", "value": 6000},
            ],
        })),
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
