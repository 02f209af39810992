//! A saved view, and one to save.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::InboxFilter;

/// What a view selects.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "InboxViewQuery")]
#[non_exhaustive]
pub struct ViewQuery {
    /// Conditions, and what is searched for.
    #[serde(default)]
    pub filter: InboxFilter,
    /// The order, as in lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sort: Option<String>,
}

/// A view to save. One of the same name is replaced.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "NewInboxView")]
#[schemars(extend("examples" = [{"name": "New", "query": {"filter": {"inbox_status": "new"}}}]))]
#[non_exhaustive]
pub struct NewView {
    /// Its name, 1 to 100 characters.
    pub name: String,
    /// What it selects.
    #[serde(default)]
    pub query: ViewQuery,
}

impl NewView {
    /// A view of this name, of all submissions.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), query: ViewQuery::default() }
    }
}

/// A saved view.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct InboxView {
    /// Its id.
    pub id: i64,
    /// Its name.
    pub name: String,
    /// What it selects.
    pub query: ViewQuery,
    /// When it was made.
    pub created_at: String,
    /// When it was saved last.
    pub updated_at: String,
}
