//! Tasks that run on a schedule.

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};

/// A task: a script or a handler that runs once in each interval.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = script_or_handler)]
pub struct TaskDeclaration {
    /// Its name, unique in the plugin.
    #[schemars(regex(pattern = "^[a-z][a-z0-9_]{0,59}$"))]
    pub name: String,
    /// Seconds from the start of one run to the next.
    #[schemars(range(min = 1, max = 31_536_000))]
    pub interval_s: u64,
    /// Seconds after which a run is ended; 3600 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 604_800))]
    pub timeout_s: Option<u64>,
    /// The script: a path under the plugin's folder `script/`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = "^[A-Za-z0-9_-]+(/[A-Za-z0-9_-]+)*\\.php$"))]
    pub script: Option<String>,
    /// The name of a handler of the embedding program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub handler: Option<String>,
}

/// A task runs one of the two.
fn script_or_handler(schema: &mut Schema) {
    let either = serde_json::json!([{"required": ["script"]}, {"required": ["handler"]}]);
    schema.insert("oneOf".to_owned(), either);
}
