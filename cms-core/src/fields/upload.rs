//! Files that visitors send.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::{
    Context,
    kind::{Kind, Refusal, refuse, text_of},
    options::list,
};

/// Who may read a file.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Visibility {
    /// Those who may read the answers.
    #[default]
    Private,
}

/// Files, by the ids that the upload gave.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct FileUpload {
    max_files: usize,
    /// Bytes of a file at most.
    max_bytes: u64,
    /// Media types as the bytes show them.
    allowed_types: Vec<String>,
    visibility: Visibility,
}

impl Default for FileUpload {
    fn default() -> Self {
        let types = ["application/pdf", "image/jpeg", "image/png"];
        Self {
            max_files: 1,
            max_bytes: 10 << 20,
            allowed_types: types.map(str::to_owned).to_vec(),
            visibility: Visibility::default(),
        }
    }
}

/// The id of a file that this session sent, if the file meets the settings.
fn sent(
    given: &Json,
    most: u64,
    is_allowed: impl Fn(&str) -> bool,
    context: &Context,
) -> Result<String, Refusal> {
    let id = text_of(given)?;
    let Some(upload) = context.sent(id) else {
        return refuse("unknown_upload", "the id of a file sent in this session is expected");
    };
    if upload.bytes == 0 {
        return refuse("empty", "a file with content is expected");
    }
    if upload.bytes > most {
        return refuse("too_large", format!("a file of at most {most} bytes is expected"));
    }
    if !is_allowed(&upload.media_type) {
        return refuse("media_type", format!("{} is not accepted", upload.media_type));
    }
    Ok(id.to_owned())
}

impl Kind for FileUpload {
    fn take(&self, given: &Json, context: &Context) -> Result<Json, Refusal> {
        let is_allowed = |media_type: &str| self.allowed_types.iter().any(|one| one == media_type);
        let mut ids: Vec<String> = Vec::new();
        for one in list(given)? {
            let id = sent(one, self.max_bytes, is_allowed, context)?;
            if ids.contains(&id) {
                return refuse("unknown_upload", "each file may be named only once");
            }
            ids.push(id);
        }
        if ids.len() > self.max_files {
            return refuse("max", format!("at most {} files are expected", self.max_files));
        }
        Ok(ids.into())
    }

    fn check(&self) -> Result<(), Refusal> {
        if self.max_files == 0 || self.max_bytes == 0 || self.allowed_types.is_empty() {
            return refuse(
                "bad_config",
                "max_files, max_bytes and allowed_types must not be empty",
            );
        }
        Ok(())
    }
}

/// A drawn signature: the id of a PNG.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Signature {
    /// Bytes at most.
    max_bytes: u64,
}

impl Default for Signature {
    fn default() -> Self {
        Self { max_bytes: 200_000 }
    }
}

impl Kind for Signature {
    fn take(&self, given: &Json, context: &Context) -> Result<Json, Refusal> {
        let is_png = |media_type: &str| media_type == "image/png";
        sent(given, self.max_bytes, is_png, context).map(Json::from)
    }
}
