//! The body of a request ↔ a body type.

use cms_core::{Code, Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de::DeserializeOwned, de::IgnoredAny};
use serde_json::{Map, Value as Json};

/// What a request's body is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyKind {
    /// None is read.
    None,
    /// A JSON document.
    Json,
}

/// A body type. The default takes JSON objects.
pub trait Body: Serialize + DeserializeOwned + JsonSchema {
    /// What the request carries.
    const KIND: BodyKind = BodyKind::Json;
    /// Whether a request without a body means an empty object.
    const OPTIONAL: bool = false;

    /// Reads the JSON of a request.
    ///
    /// # Errors
    /// `bad_json` for what is no object, `validation_failed` for members that do not fit.
    fn read(json: Option<Json>) -> Result<Self> {
        // Only objects: serde would take an array for a struct as well, and then rights would not
        // see the table in it.
        let object = match json {
            None if Self::OPTIONAL => Json::Object(Map::new()),
            Some(object @ Json::Object(_)) => object,
            _ => return Err(no_object()),
        };
        Self::deserialize(object)
            .map_err(|e| Error::new(Code::ValidationFailed, format!("The body does not fit: {e}.")))
    }
}

pub(crate) fn no_object() -> Error {
    Error::new(Code::BadJson, "A JSON object is expected.")
}

/// No body. What is sent all the same is ignored.
#[derive(Clone, Copy, Debug, Default, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct NoBody;

impl<'de> Deserialize<'de> for NoBody {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| Self)
    }
}

impl Body for NoBody {
    const KIND: BodyKind = BodyKind::None;

    fn read(_: Option<Json>) -> Result<Self> {
        Ok(Self)
    }
}
