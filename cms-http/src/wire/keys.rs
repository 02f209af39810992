//! `/api/backend/keys` and what hangs below it

use std::collections::BTreeMap;

pub use cms_core::keys::EDITED;
use cms_core::keys::{ApiKey, ApiKeyPatch, DeniedCall, MAX_GRACE_S, NewApiKey};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Body, Data, Done, NoBody, OneOrPage, Page, operations,
    parameters::{ById, Listing, NoQuery, OneOrList},
};

operations! {
    /// One key, or a page of them.
    Read: OneOrList, NoBody => OneOrPage<ApiKey>, of "keys";
    /// Makes a key and shows its value, once.
    Create: NoQuery, NewApiKey => Data<ShownKey>;
    /// Changes a key.
    Update: ById, ApiKeyPatch => Data<ApiKey>;
    /// Removes a key for good.
    Delete: ById, NoBody => Done;
    /// Gives a key a new value and shows it, once.
    Rotate: ById, Grace => Data<ShownKey>;
    /// The endpoints that the rights of a key can name, as rows of rights.
    Endpoints: Listing, NoBody => Page<Grantable>;
    /// Whether a key would be allowed a call.
    Check: PossibleCall, NoBody => Data<Answer>;
    /// The last call that a key was refused for lack of a right; null when there was none.
    LastDenied: ById, NoBody => Data<Option<DeniedCall>>;
}

impl Body for NewApiKey {}
impl Body for ApiKeyPatch {}

/// A key with its value, which is shown once.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct ShownKey {
    /// The key.
    #[serde(flatten)]
    pub record: ApiKey,
    /// Its value.
    pub key: String,
}

/// How long the old value or secret stays good.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(extend("examples" = [{"grace_s": 3600}]))]
pub struct Grace {
    /// Seconds, 0 to seven days; 0 stops it at once.
    #[schemars(range(min = 0, max = MAX_GRACE_S))]
    pub grace_s: i64,
}

impl Body for Grace {
    const OPTIONAL: bool = true;
}

/// An endpoint with all its methods, as a row that rights can hold.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "GrantableEndpoint")]
#[non_exhaustive]
pub struct Grantable {
    /// The path, such as `/api/backend/item`.
    pub endpoint: String,
    /// The `action` that selects the endpoint among others at the same path.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub query: BTreeMap<String, String>,
    /// Some of `GET`, `POST`, `PATCH`, `DELETE`.
    pub methods: Vec<String>,
    /// Whether visitors without a key may call it too.
    pub public: bool,
}

/// A call that a key might make.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PossibleCall {
    /// The key.
    #[schemars(example = 1)]
    pub id: i64,
    /// `GET`, `HEAD`, `POST`, `PATCH` or `DELETE`, in capital letters.
    #[schemars(example = &"GET", regex(pattern = "^(GET|HEAD|POST|PATCH|DELETE)$"))]
    pub method: String,
    /// Path and query, such as `/api/backend/item?table=blog`.
    #[schemars(example = &"/api/backend/item?table=blog", regex(pattern = "^/"))]
    pub path: String,
}

/// Whether a call would be allowed.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "KeyAnswer")]
#[non_exhaustive]
pub struct Answer {
    /// Whether it would.
    pub allowed: bool,
    /// `allowed`, or the code that the call would get.
    pub reason: String,
}
