//! Field types: the inputs that forms and funnels can contain. One table defines for each type its
//! settings, the answers that it accepts, their stored form and their readable text.
//!
//! ```
//! use cms_core::fields::{Context, Field};
//! use serde_json::json;
//!
//! let field = Field::read(&json!({"id": "mail", "type": "email", "required": true})).unwrap();
//! let given = json!({"mail": " Ada@Example.ORG "});
//! let taken = field.take(given.as_object().unwrap(), &Context::at(0)).unwrap();
//! assert_eq!(taken, [("mail".to_owned(), json!("Ada@example.org"))]);
//! ```

mod addresses;
mod all;
mod choice;
mod contact;
mod context;
mod date;
mod decimal;
mod field;
mod formula;
mod grid;
mod kind;
mod number;
mod options;
mod phone;
mod special;
mod spelling;
mod table;
#[cfg(test)]
mod tests;
mod text;
mod typed_field;
mod upload;

use serde_json::Value as Json;

pub(crate) use addresses::{address, is_free};
pub use all::{Answer, Fields};
pub(crate) use all::{broken_links, summary};
pub use context::{Context, Upload};
pub(crate) use date::span;
pub use field::Field;
pub(crate) use field::for_visitors;
pub(crate) use kind::plain;
pub(crate) use options::OTHER;
pub use table::{FieldType, Group};
pub use typed_field::{Common, Width};

/// Whether a value is blank: null, a text that shows nothing, or a container with only such
/// members. `0` and `false` are not blank.
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
        Json::String(text) => crate::plain::is_blank(text),
        Json::Array(items) => items.iter().all(is_blank),
        Json::Object(members) => members.values().all(is_blank),
    }
}

/// Maximum length of a field's id in bytes.
const MOST: usize = 64;

/// Whether a text can be the id of a field: up to 64 letters, digits, `_` and `-`.
fn is_id(id: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    !id.is_empty() && id.len() <= MOST && id.bytes().all(fits)
}
