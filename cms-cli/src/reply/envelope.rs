//! The envelopes of the API: `data` and `meta`.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::output::record::Record;

/// The envelope of one record.
#[derive(Deserialize)]
pub(crate) struct One {
    pub(crate) data: Record,
}

/// The envelope of a page.
#[derive(Deserialize)]
pub(crate) struct Many {
    pub(crate) data: Vec<Record>,
    pub(crate) meta: Meta,
}

/// The envelope of a page whose records stay text.
#[derive(Deserialize)]
pub(crate) struct RawMany<'a> {
    #[serde(borrow)]
    pub(crate) data: &'a RawValue,
    pub(crate) meta: Meta,
}

/// What the API says about a page.
#[derive(Deserialize)]
pub(crate) struct Meta {
    pub(crate) limit: u32,
    pub(crate) next: Option<String>,
    #[serde(default)]
    pub(crate) total: Option<i64>,
}
