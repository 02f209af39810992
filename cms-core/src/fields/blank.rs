//! Answers that say nothing.

use serde_json::Value as Json;

/// Whether a value says nothing: null, a text of blanks, or a container with only such members.
/// `0` and `false` say something.
///
/// ```
/// use serde_json::json;
/// assert!(cms_core::fields::is_blank(&json!({"first": " ", "last": null})));
/// assert!(!cms_core::fields::is_blank(&json!(0)));
/// ```
#[must_use]
pub fn is_blank(value: &Json) -> bool {
    match value {
        Json::Null => true,
        Json::Bool(_) | Json::Number(_) => false,
        Json::String(text) => text.trim().is_empty(),
        Json::Array(items) => items.iter().all(is_blank),
        Json::Object(members) => members.values().all(is_blank),
    }
}
