//! The data of the events `item.…`, `media.…` and `page.…`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::{Error, Result, events::Payload};

/// A record of a content table, as it is now; a deleted one as it was.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ItemData<'r> {
    /// The table.
    pub(crate) table: &'r str,
    /// The record's id: a list when the key has several columns.
    pub(crate) id: &'r Json,
    /// Its language, where the table has languages.
    pub(crate) language: Option<&'r str>,
    /// The record, without members that look like secrets.
    pub(crate) record: &'r Json,
    /// The columns that changed; only of updates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) changed: Option<Vec<String>>,
}

/// A file that was uploaded or deleted.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MediaData {
    /// The file.
    pub(crate) media: MediaFile,
}

/// A stored file. The service never changes its content: other content is another file.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct MediaFile {
    /// Its id.
    pub id: i64,
    /// Where it is served, by its content: `/media/3f/...png`.
    pub path: String,
    /// The file name that the uploader gave.
    pub file_name: String,
    /// The media type, detected from the content.
    pub media_type: String,
    /// Bytes.
    pub size: i64,
    /// Pixels of a picture from left to right, as it is shown; else null.
    pub width: Option<i64>,
    /// Pixels of a picture from top to bottom.
    pub height: Option<i64>,
    /// SHA-256 of its content, in hex.
    pub sha256: String,
    /// Names joined by `/`; empty: none.
    pub folder: String,
    /// Alternative texts by language.
    pub alt: BTreeMap<String, String>,
    /// Titles by language.
    pub title: BTreeMap<String, String>,
    /// The focal point that cropping keeps visible: 0 to 1 from the left; null means the middle.
    pub focal_x: Option<f64>,
    /// The focal point: 0 to 1 from the top; null means the middle.
    pub focal_y: Option<f64>,
    /// When it was uploaded, RFC 3339 in UTC.
    #[schemars(extend("format" = "date-time"))]
    pub uploaded_at: String,
}

impl MediaData {
    /// The data of an event about a record of `media`.
    pub(crate) fn of(record: Json) -> Result<Self> {
        serde_json::from_value(record).map(|media| Self { media }).map_err(Error::internal)
    }
}

impl Payload for MediaData {
    fn example() -> Self {
        const SHA256: &str = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
        Self {
            media: MediaFile {
                id: 1,
                path: format!("/media/{}/{}.png", &SHA256[..2], &SHA256[2..]),
                file_name: "bicycle.png".to_owned(),
                media_type: "image/png".to_owned(),
                size: 48_213,
                width: Some(800),
                height: Some(500),
                sha256: SHA256.to_owned(),
                folder: "products/2026".to_owned(),
                alt: [("en".to_owned(), "A bicycle".to_owned())].into(),
                title: BTreeMap::new(),
                focal_x: None,
                focal_y: None,
                uploaded_at: "2026-11-21T09:30:00Z".to_owned(),
            },
        }
    }
}

/// A page whose draft was published or discarded.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PageData {
    /// The page.
    pub(crate) page: Page,
    /// The revision that visitors see; of a discarded draft the one that it returned to.
    pub(crate) revision: i64,
}

/// A page that visitors no longer see.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PageTakenOff {
    /// The page.
    pub(crate) page: Page,
    /// The revision that visitors saw; null for a page that was deleted with its revisions.
    pub(crate) revision: Option<i64>,
}

/// A page.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Page {
    /// Its id.
    pub(crate) id: i64,
    /// The page that it is a language version of.
    pub(crate) base_id: Option<i64>,
    /// Its language.
    pub(crate) language_short: String,
    /// Its address.
    pub(crate) url_rewrite: String,
    /// Its title.
    pub(crate) title: String,
    /// Its name for themes.
    pub(crate) view: Option<String>,
}

fn example() -> Page {
    Page {
        id: 1,
        base_id: Some(1),
        language_short: "en".to_owned(),
        url_rewrite: "/offer".to_owned(),
        title: "Our offer".to_owned(),
        view: Some("offer".to_owned()),
    }
}

impl Payload for PageData {
    fn example() -> Self {
        Self { page: example(), revision: 3 }
    }
}

impl Payload for PageTakenOff {
    fn example() -> Self {
        Self { page: example(), revision: Some(3) }
    }
}
