//! Fields of a form.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{List, SelectOption, SelectSource};

/// A field of `editable_rows`: a column, and how it is edited.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Field {
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

/// How a field is edited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
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
