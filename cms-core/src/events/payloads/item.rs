//! What the events of items tell.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value as Json;

/// A record of a content table, as it is now; a deleted one as it was.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ItemData<'r> {
    /// The table.
    pub(crate) table: &'r str,
    /// The record's id: a list when the key has several columns.
    pub(crate) id: &'r Json,
    /// Its language, where the table has languages.
    pub(crate) language: Option<&'r str>,
    /// The record, without members that look like secrets.
    pub(crate) record: &'r Json,
    /// The columns that changed; only of updates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) changed: Option<Vec<String>>,
}
