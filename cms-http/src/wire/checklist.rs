//! `/api/backend/actions/checklist`

use cms_core::items::Checklist;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::{Body, Data, operations};

operations! {
    /// Adds and removes values of a JSON column, all at once.
    Apply: Table, Checklist => Data<Vec<Json>>;
}

impl Body for Checklist {}

/// The table, which the body names as well.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// The same as in the body.
    pub table: Option<String>,
}
