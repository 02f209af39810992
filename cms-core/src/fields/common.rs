//! The settings that every field has.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How much of the line a field takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Width {
    /// All of it.
    #[default]
    Full,
    /// Half of it.
    Half,
    /// A third of it.
    Third,
}

/// The settings that every field has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Common {
    /// What people see above it.
    pub label: String,
    /// A sentence that helps to answer.
    pub help: String,
    /// Whether an answer is expected.
    pub required: bool,
    /// How much of the line it takes.
    pub width: Width,
    /// What stands in the empty input.
    pub placeholder: String,
    /// The parameter of the page's address that answers it at first.
    pub prefill_param: Option<String>,
}

/// The names of the settings that every field has.
pub(super) const COMMON: [&str; 6] =
    ["label", "help", "required", "width", "placeholder", "prefill_param"];
