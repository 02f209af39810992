//! Schemas of the content tables: what their records are, and which tables there are.

use std::sync::{Arc, OnceLock};

use cms_core::{
    content::{Column, Table},
    fields::FieldType,
};
use serde_json::{Map, Value as Json, json};

use super::example;

const ITEM: &str = "/api/backend/item";

/// Writes the tables into the item operations, and their records into the components.
pub(super) fn describe(
    tables: &[Arc<Table>],
    paths: &mut Map<String, Json>,
    schemas: &mut Map<String, Json>,
) {
    let mut records = Vec::new();
    for table in tables {
        let name = format!("item.{}", table.name);
        records.push(json!({"$ref": format!("#/components/schemas/{name}")}));
        schemas.insert(name, record(table));
    }
    schemas.insert("FieldDeclaration".to_owned(), field().clone());
    // Public records have forms of their own: pages with their rows, settings by name.
    let item = schemas.get("Record").cloned().unwrap_or_default();
    schemas.insert(
        "Item".to_owned(),
        if records.is_empty() { item } else { json!({"anyOf": records}) },
    );
    let names: Vec<&str> = tables.iter().map(|table| table.name.as_str()).collect();
    let shown = example::table(tables);
    let Some(item) = paths.get_mut(ITEM).and_then(Json::as_object_mut) else { return };
    for (method, operation) in item {
        rename(&mut operation["responses"]);
        let parameters = operation["parameters"].as_array_mut();
        for parameter in parameters.into_iter().flatten().filter(|one| one["name"] == "table") {
            parameter["schema"]["enum"] = json!(names);
            if let Some(table) = shown {
                parameter["schema"]["examples"] = json!([table.name]);
            }
        }
        let body = operation.pointer_mut("/requestBody/content/application~1json");
        if let (Some(body), Some(table)) = (body, shown) {
            body["example"] = example::of(table, method == "post");
        }
    }
}

/// The conditions that a page of a table's records takes.
pub(super) fn filters(table: &Table) -> impl Iterator<Item = Json> {
    let columns = table.columns.iter().filter(|column| column.readable());
    columns.map(|column| {
        let name = &column.name;
        json!({
            "name": format!("filter[{name}]"),
            "in": "query",
            "required": false,
            "description": format!(
                "Records whose {name} is this; filter[{name}][op]= compares otherwise."
            ),
            "schema": {"type": "string"},
        })
    })
}

/// Replies of items hold items.
fn rename(schema: &mut Json) {
    match schema {
        Json::Object(members) => members.values_mut().for_each(rename),
        Json::Array(items) => items.iter_mut().for_each(rename),
        Json::String(text) if text == "#/components/schemas/Record" => {
            *text = "#/components/schemas/Item".to_owned();
        }
        _ => {}
    }
}

fn record(table: &Table) -> Json {
    let columns = table.columns.iter().filter(|column| column.readable());
    let properties: Map<String, Json> =
        columns.map(|column| (column.name.clone(), value(table, column))).collect();
    json!({
        "type": "object",
        "description": format!("A record of {}, declared by {}.", table.name, table.plugin),
        "properties": properties,
        "additionalProperties": false,
    })
}

/// A field as declared, of any type. It never changes, so it is made once.
fn field() -> &'static Json {
    static FIELD: OnceLock<Json> = OnceLock::new();
    FIELD.get_or_init(|| {
        let types: Vec<_> = FieldType::ALL.iter().map(FieldType::declaration_schema).collect();
        json!({"description": "A field that people fill in.", "oneOf": types})
    })
}

/// What a column holds. A reference may be replaced by the record that it names.
fn value(table: &Table, column: &Column) -> Json {
    if (table.name.as_str(), column.name.as_str()) == ("forms", "fields") {
        let field = json!({"$ref": "#/components/schemas/FieldDeclaration"});
        return json!({"type": "array", "items": field});
    }
    let mut schema = column.schema(table.adopted);
    let types = schema.get_mut("type").and_then(Json::as_array_mut);
    if let (Some(_), Some(types)) = (&column.references, types) {
        types.push("object".into());
    }
    schema
}
