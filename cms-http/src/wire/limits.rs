//! `/api/backend/limits`

use cms_core::traffic::limiter::Used;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Data, Done, NoBody, operations};

operations! {
    /// The kinds of buckets, and those that are not full.
    Read: WhichBuckets, NoBody => Data<Limits>;
    /// Fills the buckets of one owner.
    Reset: Whose, NoBody => Done;
}

/// How an owner of buckets is written.
const OWNER: &str = r"^((key|user):[0-9]{1,18}|ip:[0-9A-Fa-f.:]+|app:[0-9a-f]{16})$";

/// Whose buckets to show.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WhichBuckets {
    /// `key:7`, `user:3`, `ip:203.0.113.7` or `app:` with its digest; everybody without it.
    #[schemars(example = &"key:7", regex(pattern = OWNER))]
    pub owner: Option<String>,
}

/// Whose buckets to fill.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Whose {
    /// `key:7`, `user:3`, `ip:203.0.113.7` or `app:` with its digest.
    #[schemars(example = &"key:7", regex(pattern = OWNER))]
    pub owner: String,
}

/// The limiter at this moment.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Limits {
    /// `memory`, `redis`, `redis_away` or `off`.
    pub store: String,
    /// The kinds of buckets.
    pub buckets: Vec<Bucket>,
    /// Buckets that are not full.
    pub used: Vec<Used>,
}

/// A kind of bucket.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Bucket {
    /// Its name.
    pub bucket: String,
    /// Tokens when full.
    pub limit: u64,
    /// Tokens that come back in a second.
    pub per_second: f64,
}
