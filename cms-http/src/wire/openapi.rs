//! `/api/openapi.json`

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::{NoBody, operations, parameters::NoQuery};

operations! {
    /// This document: everything that the caller may call.
    Read: NoQuery, NoBody => Document;
}

/// An OpenAPI 3.1 document.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Document(pub Json);

impl JsonSchema for Document {
    fn schema_name() -> Cow<'static, str> {
        "OpenApi".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "required": ["openapi", "info", "paths", "components"],
            "description": "An OpenAPI 3.1 document.",
        })
    }
}
