//! Entity tags of records, and the conditions that callers put on them.

use data_encoding::BASE64URL_NOPAD;

use crate::{Code, Error, Result, content::Table, crypto};

/// The strong entity tag of a record. It changes whenever the JSON changes.
///
/// ```
/// assert_eq!(cms_core::items::etag("{}").len(), 24);
/// ```
#[must_use]
pub fn etag(json: &str) -> String {
    format!("\"{}\"", &BASE64URL_NOPAD.encode(&crypto::sha256(json.as_bytes()))[..22])
}

/// Condition of a caller on the present record (RFC 9110, section 13.1.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IfMatch {
    /// No condition.
    Nothing,
    /// The record exists.
    Any,
    /// The record has one of these tags.
    Tags(Vec<String>),
}

impl IfMatch {
    /// Reads the header `If-Match`.
    #[must_use]
    pub fn parse(header: Option<&str>) -> Self {
        match header.map(str::trim) {
            None => Self::Nothing,
            Some("*") => Self::Any,
            // A weak tag never matches here, so it may stay in the list.
            Some(tags) => Self::Tags(tags.split(',').map(|tag| tag.trim().to_owned()).collect()),
        }
    }

    pub(super) fn check(&self, table: &Table, json: &str) -> Result<()> {
        match self {
            Self::Nothing if table.require_if_match => Err(Error::new(
                Code::PreconditionRequired,
                format!("{} demands If-Match: send the ETag of the record you read.", table.name),
            )),
            Self::Tags(tags) if !tags.contains(&etag(json)) => Err(Error::new(
                Code::Stale,
                "The record has changed since you read it: read it again, then repeat the change.",
            )),
            _ => Ok(()),
        }
    }
}
