//! `/api/backend/permissions`

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{NoBody, Page, operations, parameters::Listing};

operations! {
    /// The permission keys that groups can hold.
    List: Listing, NoBody => Page<Permission>;
}

/// A permission key.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Permission {
    /// `{plugin}_{button}_view` or `_edit`; for the built-in areas `{area}_view` or `_edit`.
    pub key: String,
    /// The plugin whose button it is; `core` for the built-in areas.
    pub plugin: String,
}
