//! Widgets of the page builder and the fields of their forms.

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{FieldType, List, SelectOption, field::single};

/// A widget that the page builder offers.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Widget")]
#[non_exhaustive]
pub struct WidgetDeclaration {
    /// Title in the picker.
    #[schemars(length(min = 1))]
    pub widget_title: String,
    /// File of the icon in the picker, in the widget's folder: SVG, PNG, JPEG or WebP.
    #[schemars(regex(pattern = "^[A-Za-z0-9_-]+(/[A-Za-z0-9_-]+)*\\.(svg|png|jpe?g|webp)$"))]
    pub widget_icon: String,
    /// Second line in the picker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub widget_subtitle: Option<String>,
    /// Name of the widget and of the component that shows it.
    #[schemars(regex(pattern = "^[A-Za-z0-9_-]+(/[A-Za-z0-9_-]+)*$"))]
    pub widget_template: String,
    /// Fields of its form.
    pub widget_menu: List<MenuEntry>,
    /// Fields of each of its items; without them it has no items.
    #[serde(default, skip_serializing_if = "List::is_empty")]
    pub widget_item_menu: List<MenuEntry>,
}

/// A field of a widget's form.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = selects_have_options)]
#[non_exhaustive]
pub struct MenuEntry {
    /// The column of the placed widget that holds the value, such as `title` or `image`.
    #[schemars(regex(pattern = "^[a-z][a-z0-9_]{0,59}$"))]
    pub row: String,
    /// How it is edited.
    #[serde(rename = "type")]
    pub field_type: FieldType,
    /// Label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placeholder: Option<String>,
    /// Label. Beside both `options` and `value` it is ignored: an option shows its `title`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Ignored: an option stores its `id`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// For `select`: fixed options.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub options: Option<List<MenuChoice>>,
    /// For `select`: options from a table, or fixed ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub select_value: Option<MenuSource>,
    /// Features of AI that the front end offers, separated by commas.
    #[serde(default, rename = "data-aifeature", skip_serializing_if = "Option::is_none")]
    pub ai_feature: Option<String>,
}

/// Only selects have options, and from one source.
fn selects_have_options(schema: &mut Schema) {
    let rule = serde_json::json!([{
        "if": {"properties": {"type": {"const": "select"}}, "required": ["type"]},
        "then": {"oneOf": [{"required": ["options"]}, {"required": ["select_value"]}]},
        "else": {"properties": {"options": false, "select_value": false}},
    }]);
    schema.insert("allOf".to_owned(), rule);
}

/// A fixed option of a widget's select.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
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
#[non_exhaustive]
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
