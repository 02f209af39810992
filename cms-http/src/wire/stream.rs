//! `/api/backend/events/stream`

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{NoBody, Text, operations};

operations! {
    /// Events as they happen, as server-sent events: those that the caller may see.
    Follow: Followed, NoBody => Text;
}

/// Which events to follow.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Followed {
    /// Only those of this name, or with a name that begins with the text before `*`.
    #[schemars(length(min = 1), example = &"order.created")]
    pub event: Option<String>,
}
