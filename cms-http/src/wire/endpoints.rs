//! Endpoints that plugins declare: what they take and answer is the plugin's matter.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::{Body, Data, NoBody, operations, parameters::NoQuery};

operations! {
    /// Reads an endpoint of a plugin.
    Read: NoQuery, NoBody => Data<Json>;
    /// Deletes by an endpoint of a plugin.
    Delete: NoQuery, NoBody => Data<Json>;
    /// Sends to an endpoint of a plugin.
    Create: NoQuery, Payload => Data<Json>;
    /// Changes by an endpoint of a plugin.
    Update: NoQuery, Payload => Data<Json>;
}

/// The body of a call.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Payload(pub Json);

impl Body for Payload {}
