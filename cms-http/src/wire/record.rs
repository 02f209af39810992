//! Rows of content tables.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// A record as the JSON object that the database made. It keeps the order of its columns, and
/// nothing here decodes them.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Record(pub Box<RawValue>);

impl Record {
    /// The JSON text.
    #[must_use]
    pub fn json(&self) -> &str {
        self.0.get()
    }
}

impl JsonSchema for Record {
    fn schema_name() -> Cow<'static, str> {
        "AnyRecord".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "object", "description": "A record of a content table."})
    }
}
