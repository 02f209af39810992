//! The envelopes of the API.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::output::record::Record;

/// One record in its envelope.
#[derive(Deserialize)]
pub(crate) struct One {
    pub(crate) data: Record,
}

/// A page in its envelope.
#[derive(Deserialize)]
pub(crate) struct Many {
    pub(crate) data: Vec<Record>,
    pub(crate) meta: Meta,
}

/// The page's text, not taken apart.
#[derive(Deserialize)]
pub(crate) struct RawMany<'a> {
    #[serde(borrow)]
    pub(crate) data: &'a RawValue,
    pub(crate) meta: Meta,
}

/// What stands beside a page.
#[derive(Deserialize)]
pub(crate) struct Meta {
    pub(crate) limit: u32,
    pub(crate) next: Option<String>,
    #[serde(default)]
    pub(crate) total: Option<i64>,
}
