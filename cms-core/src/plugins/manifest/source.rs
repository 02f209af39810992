//! Where a select has its options from.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::List;

/// Options from a content table: one for each row.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SelectSource {
    /// The content table.
    pub table: String,
    /// The column whose value is stored.
    pub value: String,
    /// The column that is shown.
    pub title: String,
}

/// A fixed option.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SelectOption {
    /// What is stored.
    #[schemars(schema_with = "single")]
    pub value: Value,
    /// What is shown.
    pub title: String,
}

/// A fixed option of a widget's select.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MenuChoice {
    /// What is stored.
    #[schemars(schema_with = "single")]
    pub id: Value,
    /// What is shown.
    pub title: String,
}

/// The `select_value` of a widget's select: a table or fixed options.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = table_or_options)]
pub struct MenuSource {
    /// The content table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table: Option<String>,
    /// The column whose value is stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// The column that is shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Fixed options, instead of a table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub options: Option<List<SelectOption>>,
}

fn table_or_options(schema: &mut Schema) {
    let rule = serde_json::json!({
        "if": {"required": ["options"]},
        "then": {"properties": {"table": false, "value": false, "title": false}},
        "else": {"required": ["table", "value", "title"]},
    });
    schema.insert("allOf".to_owned(), serde_json::json!([rule]));
}

fn single(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": ["string", "number", "boolean"]})
}
