//! Events that a plugin raises.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An event that a plugin raises.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EventDeclaration {
    /// Name, such as `shop.order_paid`.
    #[schemars(regex(pattern = "^(?!item\\.|auth\\.|formfunnel\\.)[A-Za-z0-9._-]{1,200}$"))]
    pub name: String,
    /// `manual`; has no further meaning.
    #[serde(default, rename = "type")]
    pub event_type: EventType,
    /// When the event is raised.
    #[serde(default)]
    pub description: String,
}

/// Who raises an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum EventType {
    /// The plugin's code.
    #[default]
    Manual,
}
