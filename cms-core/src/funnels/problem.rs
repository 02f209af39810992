//! What is wrong with a funnel, and where.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::FieldError;

/// A fault of a funnel. The code decides whether the funnel is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    /// Stable.
    pub(crate) code: &'static str,
    /// Its path in the sent funnel: `nodes[2].config_json.fields[0]`.
    pub(crate) path: String,
    /// The node with the fault, by the id that was sent.
    pub(crate) node: Option<i64>,
    /// How to fix the fault.
    pub(crate) message: String,
}

impl Problem {
    pub(super) fn new(
        code: &'static str,
        path: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Self { code, path: path.into(), node: None, message: message.into() }
    }

    pub(super) fn of(self, node: i64) -> Self {
        Self { node: Some(node), ..self }
    }
}

impl From<Problem> for FieldError {
    fn from(problem: Problem) -> Self {
        Self { field: problem.path, code: problem.code, message: problem.message }
    }
}

/// What its author should know of a funnel that is good enough to be stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "FunnelWarning")]
#[non_exhaustive]
pub struct Warning {
    /// Stable, such as `unreachable_node`.
    pub code: String,
    /// Where: `nodes[2].config_json.rules`.
    pub path: String,
    /// The node, by its id.
    pub node: Option<i64>,
    /// What to do about it.
    pub message: String,
}

impl From<Problem> for Warning {
    fn from(problem: Problem) -> Self {
        let Problem { code, path, node, message } = problem;
        Self { code: code.to_owned(), path, node, message }
    }
}
