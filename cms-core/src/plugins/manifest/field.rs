//! Fields of a form, and the sources of a select's options.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::List;

/// A field of `editable_rows`: a column, and how it is edited.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Field", transform = only_selects_have_options)]
#[non_exhaustive]
pub struct EditableField {
    /// A column of the button's table.
    #[schemars(length(min = 1))]
    pub column: String,
    /// How it is edited.
    #[serde(rename = "type")]
    pub field_type: FieldType,
    /// Label above the input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placeholder: Option<String>,
    /// For `select`: options from a table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub select_value: Option<SelectSource>,
    /// For `select`: fixed options.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub select_options: Option<List<SelectOption>>,
    /// Features of AI that the front end offers, separated by commas.
    #[serde(default, rename = "data-aifeature", skip_serializing_if = "Option::is_none")]
    pub ai_feature: Option<String>,
}

/// A select may also take its options from the column's `enum`.
fn only_selects_have_options(schema: &mut Schema) {
    let rule = serde_json::json!([{
        "if": {"properties": {"type": {"const": "select"}}, "required": ["type"]},
        "then": {"not": {"required": ["select_options", "select_value"]}},
        "else": {"properties": {"select_options": false, "select_value": false}},
    }]);
    schema.insert("allOf".to_owned(), rule);
}

/// How a field is edited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FieldType {
    /// One line of text.
    #[default]
    Text,
    /// Several lines of text.
    Textarea,
    /// HTML.
    RichtextEditor,
    /// LESS, checked before it is stored.
    CodeEditor,
    /// One of several options.
    Select,
    /// A path under `/media/`, chosen in the media manager.
    Image,
    /// Yes or no.
    Checkbox,
    /// A number.
    Number,
    /// A day.
    Date,
    /// A time of day.
    Time,
    /// A day and a time.
    Datetime,
    /// Written and never read, stored encrypted.
    Password,
    /// `#rgb`, `#rrggbb` or `#rrggbbaa`.
    Color,
}

impl FieldType {
    /// Its name in a manifest.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Textarea => "textarea",
            Self::RichtextEditor => "richtext_editor",
            Self::CodeEditor => "code_editor",
            Self::Select => "select",
            Self::Image => "image",
            Self::Checkbox => "checkbox",
            Self::Number => "number",
            Self::Date => "date",
            Self::Time => "time",
            Self::Datetime => "datetime",
            Self::Password => "password",
            Self::Color => "color",
        }
    }
}

/// Options from a content table: one for each row.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
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
#[non_exhaustive]
pub struct SelectOption {
    /// What is stored.
    #[schemars(schema_with = "single")]
    pub value: Value,
    /// What is shown.
    pub title: String,
}

pub(super) fn single(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": ["string", "number", "boolean"]})
}
