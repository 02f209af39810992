//! `/api/backend/actions/script`

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::{Body, operations};

operations! {
    /// Runs the script of a button. Its output is the reply, byte for byte; a handler may answer
    /// with a file of another type instead.
    Run: OfButton, RunScript => Json;
}

/// The button, which the body names as well.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OfButton {
    /// The same as in the body.
    pub plugin: Option<String>,
    /// The same as in the body.
    pub button_id: Option<String>,
}

/// The button whose script runs, and what the script gets.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("examples" = [{
    "plugin": "bikeshop", "button_id": "export", "id": 1, "data": {"format": "short"},
}]))]
pub struct RunScript {
    /// The plugin that declares the button.
    pub plugin: String,
    /// The button, of the type `script`.
    pub button_id: String,
    /// Id of the row that the button belongs to; none for a button in a header.
    #[serde(default)]
    pub id: RowId,
    /// `url_rewrite` of the row.
    #[serde(default)]
    pub url_rewrite: Option<String>,
    /// Whatever the script expects besides.
    #[serde(default)]
    pub data: Json,
}

impl Body for RunScript {}

/// Whether a button runs the script `submissions/export.php`, which the service has itself.
#[must_use]
pub fn is_inbox_export(plugin: &str, button_id: &str) -> bool {
    plugin == "formfunnel" && button_id == "export"
}

/// The id of a row.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum RowId {
    /// A number.
    Number(i64),
    /// A text.
    Text(String),
    /// The parts of a composite key.
    Parts(Vec<Json>),
    /// None.
    #[default]
    None,
}
