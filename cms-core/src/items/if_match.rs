//! Entity tags of records, and the conditions that callers put on them.

use data_encoding::BASE64URL_NOPAD;

use super::Items;
use crate::{Code, Cursors, Error, Result, content::Table, crypto};

/// Maximum number of tags in a condition: each could be a guess.
const MOST_TAGS: usize = 8;

/// The strong entity tag of a text that is shown whole. It changes whenever the text changes.
///
/// ```
/// assert_eq!(cms_core::items::etag("{}").len(), 24);
/// ```
#[must_use]
pub fn etag(json: &str) -> String {
    let digest = crypto::sha256(json.as_bytes());
    quoted(&digest[..16])
}

impl Items {
    /// The strong entity tag of a record of `table`. The tag changes whenever the JSON changes,
    /// and cannot be made without the site's secrets. A condition is compared with the whole
    /// record, even for callers that see only part of it, and must not confirm their guesses.
    #[must_use]
    pub fn etag(&self, table: &str, json: &str) -> String {
        let mut tags = tags(self.0.base.cursors(), table, json);
        tags.next().unwrap_or_default()
    }
}

/// Tags by the present secret, then by earlier ones: an editor's tag stays good after
/// a new secret.
fn tags<'c>(
    cursors: &'c Cursors,
    table: &str,
    json: &str,
) -> impl Iterator<Item = String> + use<'c> {
    cursors.digests(&format!("record of {table}"), json).map(|digest| quoted(&digest))
}

fn quoted(digest: &[u8]) -> String {
    format!("\"{}\"", BASE64URL_NOPAD.encode(digest))
}

/// Condition of a caller on the present record (RFC 9110, section 13.1.1).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum IfMatch {
    /// No condition.
    Nothing,
    /// The record exists.
    Any,
    /// The record has one of these tags.
    Tags(Vec<String>),
}

impl IfMatch {
    /// Parses the header `If-Match`.
    ///
    /// # Errors
    /// `bad_query` for more than 8 tags.
    pub fn parse(header: Option<&str>) -> Result<Self> {
        Ok(match header.map(str::trim) {
            None => Self::Nothing,
            Some("*") => Self::Any,
            Some(tags) if tags.split(',').count() > MOST_TAGS => {
                let detail = format!("If-Match names {MOST_TAGS} entity tags at most.");
                return Err(Error::new(Code::BadQuery, detail));
            }
            // A weak tag never matches here, so it may stay in the list.
            Some(tags) => Self::Tags(tags.split(',').map(|tag| tag.trim().to_owned()).collect()),
        })
    }

    /// The refusal of a condition that does not hold; `detail` says why, unless the tags were weak.
    pub(crate) fn stale(&self, detail: &str) -> Error {
        let is_weak =
            matches!(self, Self::Tags(tags) if tags.iter().any(|tag| tag.starts_with("W/")));
        let weak = "If-Match has a weak tag, which never matches: a proxy that compresses replies \
                    made the tag weak. Send the tag without W/.";
        Error::new(Code::Stale, if is_weak { weak } else { detail })
    }

    pub(super) fn check(&self, cursors: &Cursors, table: &Table, json: &str) -> Result<()> {
        let is_one_of =
            |sent: &[String]| tags(cursors, &table.name, json).any(|tag| sent.contains(&tag));
        match self {
            Self::Nothing if table.require_if_match => Err(Error::new(
                Code::PreconditionRequired,
                format!("{} demands If-Match: send the ETag of the record you read.", table.name),
            )),
            Self::Tags(sent) if !is_one_of(sent) => Err(self.stale(
                "The record has changed since you read it: read it again, then repeat the change.",
            )),
            _ => Ok(()),
        }
    }
}
