//! Ids of other programs.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// An id that another program gave: a number, or 1 to 200 characters.
///
/// ```
/// use cms_core::events::Id;
/// assert_eq!(Id::from(7), Id::Number(7));
/// assert_eq!(Id::from("A-7"), Id::Text("A-7".to_owned()));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Id {
    /// A number.
    Number(i64),
    /// A text, such as a UUID.
    Text(String),
}

impl From<i64> for Id {
    fn from(id: i64) -> Self {
        Self::Number(id)
    }
}

impl From<&str> for Id {
    fn from(id: &str) -> Self {
        Self::Text(id.to_owned())
    }
}

impl From<String> for Id {
    fn from(id: String) -> Self {
        Self::Text(id)
    }
}

impl JsonSchema for Id {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Id".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": ["integer", "string"], "minLength": 1, "maxLength": 200})
    }
}
