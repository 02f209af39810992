//! What every refusal says (RFC 9457).

use cms_core::FieldError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A problem document.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Problem {
    /// `urn:cms:error:` and the code.
    pub r#type: String,
    /// The code in words.
    pub title: String,
    /// The status of the reply.
    pub status: u16,
    /// What is wrong and how to mend it, for a person.
    pub detail: String,
    /// The stable code.
    pub error: String,
    /// As in the header `X-Request-Id`.
    pub request_id: String,
    /// The node of a funnel that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_id: Option<i64>,
    /// How many rows the filter matches, after `count_moved`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matched: Option<u64>,
    /// The fields that are wrong.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<FieldProblem>,
}

/// What is wrong with one field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FieldProblem {
    /// Name of the field, with indexes for nested ones: `rights[0].methods`.
    pub field: String,
    /// `required`, `type`, `range`, `unknown`, `format`.
    pub code: String,
    /// What is expected, for a person.
    pub message: String,
    /// The node of a funnel that it belongs to, by the id that was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<i64>,
}

impl From<&FieldError> for FieldProblem {
    fn from(error: &FieldError) -> Self {
        let FieldError { field, code, message } = error;
        let (field, code, message) = (field.clone(), (*code).to_owned(), message.clone());
        Self { field, code, message, node: None }
    }
}
