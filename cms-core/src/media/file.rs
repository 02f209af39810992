//! A stored file as it is shown, and which are asked for.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A stored file. The service never changes its content: other content is another file.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct MediaFile {
    /// Its id.
    pub id: i64,
    /// Where it is served, by its content: `/media/3f/...png`.
    pub path: String,
    /// As its sender named it.
    pub file_name: String,
    /// By its bytes.
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
    /// What stands for a picture that cannot be seen, by language.
    pub alt: BTreeMap<String, String>,
    /// Titles by language.
    pub title: BTreeMap<String, String>,
    /// What must stay in sight when a picture is cropped: 0 to 1 from the left; null: the middle.
    pub focal_x: Option<f64>,
    /// 0 to 1 from the top.
    pub focal_y: Option<f64>,
    /// When it came, RFC 3339 in UTC.
    pub uploaded_at: String,
}

/// Selects files.
#[derive(Clone, Debug, Default)]
pub struct MediaFilter {
    /// Only those of this folder; empty text: of none.
    pub folder: Option<String>,
    /// Only those whose type begins so, such as `image/`.
    pub media_type: Option<String>,
    /// Text that name, path or folder contains, ignoring ASCII case.
    pub search: Option<String>,
}
