//! Answers of visitors.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value as Json;

/// An answer with what was asked.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct AnswerData {
    /// The id of the field. What stands beside an answer has a name of its own: `<id>.other`.
    pub(crate) field: String,
    /// The type of the field.
    #[serde(rename = "type")]
    pub(crate) field_type: String,
    /// What people saw above it.
    pub(crate) label: String,
    /// The answer. Objects whose names an author chose are lists of `field` and `value`.
    pub(crate) value: Json,
}

impl AnswerData {
    pub(super) fn example(field: &str, field_type: &str, label: &str, value: Json) -> Self {
        let [field, field_type, label] = [field, field_type, label].map(str::to_owned);
        Self { field, field_type, label, value }
    }
}
