//! `/api/backend/media` and `/media`

use std::borrow::Cow;

pub use cms_core::media::WIDTHS;
use cms_core::media::{CheckedFiles, MediaFile, Use};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};

use super::{
    Body, Data, Deferred, Done, NoBody, OneOrPage, Text, operations,
    parameters::{ById, ListQuery, NoQuery},
};

operations! {
    /// One file, or a page of files, newest first unless `sort` says otherwise.
    Read: WhichMedia, NoBody => OneOrPage<MediaFile>, of "media";
    /// Uploads a file: the part `file`, after all other fields. Its type is told by its bytes.
    /// Content that is there already is not stored again: the reply is its file, with 200.
    Upload: NoQuery, Deferred<UploadInto> => Data<MediaFile>;
    /// Changes `alt`, `title`, `file_name`, `folder`, `focal_x` and `focal_y`.
    Update: ById, MediaChange => Data<MediaFile>;
    /// Removes a file for good. Refused while it is in use, unless `force` says otherwise.
    Delete: Removal, NoBody => Done;
    /// The places that show a file, 20 at most.
    Uses: ById, NoBody => Data<MediaUses>;
    /// Compares files with their rows.
    Check: NoQuery, Checking => Data<CheckedFiles>;
    /// A file, or a part of it; `w` asks for a smaller picture.
    Serve: Served, NoBody => Text;
}

/// Which files.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct WhichMedia {
    /// The one to show.
    pub id: Option<i64>,
    /// Only those of this folder; empty: of none.
    pub folder: Option<String>,
    /// Only those whose type begins so, such as `image/`.
    pub r#type: Option<String>,
    /// Which page of the list.
    #[serde(flatten)]
    pub list: ListQuery,
}

/// Where a file goes.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UploadInto {
    /// Names joined by `/`.
    #[serde(default)]
    pub folder: String,
}

/// What changes of a file; what is left out stays.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MediaChange(pub Map<String, Json>);

impl Body for MediaChange {}

impl JsonSchema for MediaChange {
    fn schema_name() -> Cow<'static, str> {
        "MediaChange".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let texts = json!({
            "type": "object",
            "description": "Texts by language.",
            "additionalProperties": {"type": "string", "maxLength": 1000},
        });
        let share = json!({"type": ["number", "null"], "minimum": 0, "maximum": 1});
        json_schema!({
            "type": "object",
            "properties": {
                "alt": texts,
                "title": texts,
                "file_name": {"type": "string", "minLength": 1, "maxLength": 200},
                "folder": {"type": "string", "maxLength": 200},
                "focal_x": share,
                "focal_y": share,
            },
            "additionalProperties": false,
            "examples": [{"alt": {"en": "A red bicycle"}, "focal_x": 0.5}],
        })
    }
}

/// Which file to remove.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Removal {
    /// Its id.
    #[schemars(example = 1)]
    pub id: i64,
    /// Whether it goes although it is in use.
    pub force: Option<bool>,
}

/// Where a file is in use.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct MediaUses {
    /// The places, 20 at most together with the hidden ones.
    pub uses: Vec<Use>,
    /// How many more there are that the caller may not read.
    pub hidden: usize,
}

/// How to compare files with their rows.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("examples" = [{"remove": false}]))]
pub struct Checking {
    /// Whether files without rows are removed.
    #[serde(default)]
    pub remove: bool,
}

impl Body for Checking {
    const OPTIONAL: bool = true;
}

/// A file as the web asks for it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Served {
    /// The first two digits of its content's SHA-256.
    pub folder: String,
    /// The other digits, and the end of its type.
    pub file: String,
    /// Width of a smaller picture.
    #[schemars(extend("enum" = WIDTHS))]
    pub w: Option<u32>,
}
