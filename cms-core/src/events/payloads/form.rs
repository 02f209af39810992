//! What `form.submitted` tells.

use schemars::JsonSchema;
use serde::Serialize;

use super::AnswerData;
use crate::events::Payload;

/// A submission of a form.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FormData {
    /// The form.
    pub(crate) form: AnsweredForm,
    /// What was stored.
    pub(crate) submission: FormSubmission,
    /// The answers, in the order of the fields.
    pub(crate) answers: Vec<AnswerData>,
}

/// A form.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AnsweredForm {
    /// Its id.
    pub(crate) id: i64,
    /// Its name.
    pub(crate) name: String,
    /// What people see above it.
    pub(crate) title: String,
}

/// A submission.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FormSubmission {
    /// Its id.
    pub(crate) id: i64,
    /// When it came.
    #[schemars(extend("format" = "date-time"))]
    pub(crate) created_at: String,
}

impl Payload for FormData {
    fn example() -> Self {
        Self {
            form: AnsweredForm {
                id: 1,
                name: "contact".to_owned(),
                title: "Write to us".to_owned(),
            },
            submission: FormSubmission { id: 7, created_at: "2026-11-21T09:30:00Z".to_owned() },
            answers: vec![AnswerData::example("mail", "email", "E-mail", "ada@example.org".into())],
        }
    }
}
