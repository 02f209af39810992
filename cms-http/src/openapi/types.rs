//! The schemas of all operations. They are made once, because they never change.

use std::{collections::BTreeMap, sync::OnceLock};

use cms_core::plugins::manifest::EndpointDeclaration;
use serde_json::{Map, Value as Json, json};

use crate::describe::{self, Described, Schemas, Schemata, Types};

/// The schemas of all operations.
pub(super) struct AllTypes {
    /// In the order of the operations.
    pub(super) operations: Vec<Shapes>,
    /// The schemas of the endpoints that plugins declare, by method.
    pub(super) declared: BTreeMap<&'static str, Shapes>,
    /// The schemas of endpoints that read the records of a content table.
    pub(super) records: Shapes,
    /// Component schemas that replies share.
    pub(super) components: Map<String, Json>,
}

/// The schemas of one operation.
pub(super) struct Shapes {
    pub(super) query: Json,
    pub(super) body: Json,
    pub(super) reply: Json,
}

pub(super) fn of(operations: &[Described]) -> &'static AllTypes {
    static TYPES: OnceLock<AllTypes> = OnceLock::new();
    TYPES.get_or_init(|| make(operations))
}

fn make(operations: &[Described]) -> AllTypes {
    let mut schemas = Schemas::default();
    let mut shapes = |types: Types| {
        let Schemata { query, body, reply } = (types.schemas)(&mut schemas);
        let [mut query, mut body, mut reply] = [query, body, reply].map(Json::from);
        bound(&mut query);
        bound(&mut body);
        keep_optional(&mut body);
        for schema in [&mut query, &mut body, &mut reply] {
            drop_unknown_formats(schema);
        }
        for schema in [&mut body, &mut reply] {
            if *schema == Json::Bool(true) {
                *schema = json!({});
            }
            open(schema);
        }
        Shapes { query, body, reply }
    };
    let operations = operations.iter().map(|operation| shapes(operation.types)).collect();
    let methods = ["GET", "POST", "PATCH", "DELETE"];
    let declared = methods.map(|method| (method, shapes(describe::of_declared(method)))).into();
    let mut records = shapes(Types::of::<crate::wire::item::Read>());
    // The address names the table already.
    if let Some(parameters) = records.query["properties"].as_object_mut() {
        parameters.remove("table");
    }
    records.query["required"] = Json::Array(Vec::new());
    let _ = schemas.replies.subschema_for::<crate::wire::Problem>();
    let mut components = schemas.replies.take_definitions(true);
    components.values_mut().for_each(|schema| {
        drop_unknown_formats(schema);
        open(schema);
    });
    AllTypes { operations, declared, records, components }
}

/// The schemas of an endpoint, with those that its plugin declares.
pub(super) fn with_declared(shapes: &Shapes, endpoint: &EndpointDeclaration) -> Shapes {
    let declared = |schema: &Map<String, Json>| {
        let mut members = schema.clone();
        // All of the document has the dialect that this names.
        members.remove("$schema");
        let mut schema = Json::Object(members);
        keep_optional(&mut schema);
        drop_unknown_formats(&mut schema);
        open(&mut schema);
        schema
    };
    let [query, mut body, mut reply] =
        [&shapes.query, &shapes.body, &shapes.reply].map(Json::clone);
    if let Some(schema) = &endpoint.body {
        body = declared(schema);
    }
    if let Some(schema) = &endpoint.reply {
        reply["properties"]["data"] = declared(schema);
    }
    Shapes { query, body, reply }
}

/// Takes a walk to the schemas right below one. Values, such as examples, stay as they are.
fn walk(members: &mut Map<String, Json>, step: fn(&mut Json)) {
    for (word, value) in members {
        match (word.as_str(), value) {
            ("const" | "default" | "enum" | "examples", _) => {}
            ("properties", Json::Object(properties)) => properties.values_mut().for_each(step),
            (_, below) => step(below),
        }
    }
}

/// Wraps members with a `default` in `allOf`: some generators would take them for required.
fn keep_optional(schema: &mut Json) {
    match schema {
        Json::Object(members) => {
            if let Some(Json::Object(properties)) = members.get_mut("properties") {
                properties.values_mut().for_each(wrap_default);
            }
            walk(members, keep_optional);
        }
        Json::Array(items) => items.iter_mut().for_each(keep_optional),
        _ => {}
    }
}

pub(super) fn wrap_default(property: &mut Json) {
    let Some(members) = property.as_object_mut() else { return };
    match members.get("default") {
        None => {}
        Some(Json::Null) => drop(members.remove("default")),
        Some(_) => {
            let text = members.remove("description");
            *property = json!({"allOf": [property.take()]});
            if let Some(text) = text {
                property["description"] = text;
            }
        }
    }
}

/// Sets `additionalProperties` of an object with any members: some generators take a bare object
/// for one without members. A schema for any value is `{}`, because orval fails at `true`.
pub(super) fn open(schema: &mut Json) {
    const SHAPES: [&str; 6] =
        ["properties", "additionalProperties", "$ref", "oneOf", "anyOf", "allOf"];
    match schema {
        Json::Object(members) => {
            let is_object = match members.get("type") {
                Some(Json::String(kind)) => kind == "object",
                Some(Json::Array(kinds)) => kinds.iter().any(|kind| kind == "object"),
                _ => false,
            };
            if is_object && !SHAPES.iter().any(|name| members.contains_key(*name)) {
                members.insert("additionalProperties".to_owned(), Json::Bool(true));
            }
            walk(members, open);
            if let Some(items @ Json::Bool(true)) = members.get_mut("items") {
                *items = json!({});
            }
        }
        Json::Array(items) => items.iter_mut().for_each(open),
        _ => {}
    }
}

/// Adds the bounds of 64-bit numbers: generators do not enforce `format`.
fn bound(schema: &mut Json) {
    match schema {
        Json::Object(members) => {
            let limits = match members.get("format").and_then(Json::as_str) {
                Some("int64") => Some((Json::from(i64::MIN), Json::from(i64::MAX))),
                Some("uint64") => Some((0.into(), i64::MAX.into())),
                _ => None,
            };
            if let Some((least, most)) = limits {
                members.entry("minimum").or_insert(least);
                members.entry("maximum").or_insert(most);
            }
            walk(members, bound);
        }
        Json::Array(items) => items.iter_mut().for_each(bound),
        _ => {}
    }
}

/// Removes the formats of Rust's other integers: strict validators know only `int32` and `int64`.
/// `minimum` still says that a number is not negative.
pub(super) fn drop_unknown_formats(schema: &mut Json) {
    match schema {
        Json::Object(members) => {
            let format = members.get("format").and_then(Json::as_str);
            let is_unknown = format.is_some_and(|format| {
                format.starts_with("uint") || ["int", "int8", "int16", "int128"].contains(&format)
            });
            if is_unknown {
                members.remove("format");
            }
            walk(members, drop_unknown_formats);
        }
        Json::Array(items) => items.iter_mut().for_each(drop_unknown_formats),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Members that are only named like words of JSON Schema are schemas all the same.
    #[test]
    fn values_in_the_schema_of_a_plugin_stay_as_they_are() {
        let data = json!({
            "type": "object", "format": "uint8", "items": true,
            "properties": {"n": {"default": 1}},
        });
        let body = json!({
            "type": "object",
            "properties": {
                "default": {"type": "object", "default": data, "description": "d"},
                "enum": {"type": "integer", "format": "uint8", "enum": [data]},
                "plain": {"const": data, "examples": [data], "items": {"type": "object"}},
            },
        });
        let endpoint = json!({"modelPath": "shop", "endpoint": "shop", "body": body});
        let endpoint = serde_json::from_value(endpoint).expect("an endpoint");
        let shapes = Shapes { query: json!({}), body: json!({}), reply: json!({}) };
        let expected = json!({
            "type": "object",
            "properties": {
                "default": {
                    "allOf": [{"type": "object", "default": data, "additionalProperties": true}],
                    "description": "d",
                },
                "enum": {"type": "integer", "enum": [data]},
                "plain": {
                    "const": data, "examples": [data],
                    "items": {"type": "object", "additionalProperties": true},
                },
            },
        });
        assert_eq!(with_declared(&shapes, &endpoint).body, expected);
    }
}
