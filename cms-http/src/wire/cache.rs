//! `/api/backend/cache`

use cms_core::traffic::cache::{CachePatch, CacheSettings};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Body, Data, Done, NoBody, operations, parameters::NoQuery};

operations! {
    /// Settings of the response cache, and counters of this process.
    Read: NoQuery, NoBody => Data<State>;
    /// Changes the settings.
    Update: NoQuery, CachePatch => Data<CacheSettings>;
    /// Forgets kept replies.
    Clear: WhichReplies, NoBody => Done;
}

impl Body for CachePatch {}

/// Settings and counters.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CacheState")]
#[non_exhaustive]
pub struct State {
    /// The settings in force.
    #[serde(flatten)]
    pub settings: CacheSettings,
    /// `memory`, `redis` or `redis_away`.
    pub store: String,
    /// Replies kept in this process.
    pub entries: u64,
    /// Bytes they take.
    pub bytes: u64,
    /// Requests answered from the cache.
    pub hits: u64,
    /// Requests that no kept reply answered.
    pub misses: u64,
}

/// Which replies to forget.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WhichReplies {
    /// Only paths that begin so; all without it.
    #[schemars(length(max = 200), regex(pattern = "^(/[^?#%]*)?$"), example = &"/api/menu")]
    pub path: Option<String>,
}
