//! The JSON Schema of what receivers get of an event. Pure.

use serde_json::{Map, Value as Json, json};

use super::{RegisteredEvent, example::told};
use crate::{
    content::{Table, Tables},
    events::{ItemData, known, of_delivery, schema as of},
};

/// Of the body of a delivery; of items from their table as it is now.
pub(in crate::webhooks) fn schema(tables: &Tables, event: &RegisteredEvent) -> Json {
    let name = event.event_name.as_str();
    let data = match (&event.content_table, known(name)) {
        (Some(table), _) => item(tables.find(table).as_deref(), name.ends_with(".updated")),
        (None, Some(known)) => known.schema().clone(),
        (None, None) => {
            json!({"description": format!("What {} tells of it.", event.plugin_id)})
        }
    };
    of_delivery(name, &event.description, data)
}

/// Of a record; a table that is gone had any.
fn item(table: Option<&Table>, is_update: bool) -> Json {
    let mut schema = of::<ItemData<'_>>();
    let Some(table) = table else { return schema };
    schema["properties"]["table"] = json!({"const": table.name});
    schema["properties"]["record"] = record(table);
    if let (true, Some(names)) = (is_update, schema["required"].as_array_mut()) {
        names.push("changed".into());
    }
    if let (false, Some(members)) = (is_update, schema["properties"].as_object_mut()) {
        members.remove("changed");
    }
    schema
}

/// No column is required: a retry sends the body as it was, without the columns that its table has
/// got since.
fn record(table: &Table) -> Json {
    let properties: Map<String, Json> = told(table)
        .map(|column| (column.name.clone(), column.schema(table.adopted, true)))
        .collect();
    json!({
        "type": "object",
        "description": format!("A record of {}, declared by {}.", table.name, table.plugin),
        "properties": properties,
    })
}
