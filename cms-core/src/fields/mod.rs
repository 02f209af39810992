//! Field types: what forms and funnels ask people for. One table says of each type which settings
//! it has, which answers it takes, in what form they are stored and how they read in a mail.
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

mod all;
mod blank;
mod choice;
mod common;
mod contact;
mod context;
mod countries;
mod date;
mod decimal;
mod email;
mod field;
mod formula;
mod grid;
mod id;
mod input;
mod kind;
mod listed;
mod number;
mod options;
mod phone;
mod postal_code;
mod public_field;
mod scale;
mod special;
mod spelling;
mod table;
#[cfg(test)]
mod tests;
mod text;
mod time;
mod truth;
mod typed_field;
mod upload;
mod url;

pub use all::{Answer, Fields};
pub(crate) use all::{broken_links, summary};
pub use blank::is_blank;
pub use common::{Common, Width};
pub use context::{Context, Upload};
pub(crate) use date::span;
pub(crate) use email::{address, is_free};
pub use field::Field;
pub(crate) use kind::plain;
pub(crate) use public_field::shown;
pub use table::{FieldType, Group};
