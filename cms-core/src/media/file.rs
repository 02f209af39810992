//! A stored file as it is shown, and which are asked for.

pub use crate::events::MediaFile;

/// Selects files.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct MediaFilter {
    /// Only those of this folder; empty text: of none.
    pub folder: Option<String>,
    /// Only those whose type begins so, such as `image/`.
    pub media_type: Option<String>,
    /// Text that name, path or folder contains, ignoring ASCII case.
    pub search: Option<String>,
}
