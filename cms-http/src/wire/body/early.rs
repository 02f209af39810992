//! A JSON object of which one part is read first: whoever answers can refuse it by what it is
//! about, before the rest takes memory.

use std::{borrow::Cow, fmt};

use cms_core::{Code, Error, Result};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, de::DeserializeOwned};

use super::{Body, Content, typed};
use crate::body::Unparsed;

/// A body `T`, and the members `K` of it that say what it is about.
#[derive(Serialize)]
#[serde(transparent)]
pub struct Early<K, T> {
    /// None: it is still to be parsed.
    parsed: Option<T>,
    #[serde(skip)]
    about: K,
    #[serde(skip)]
    rest: Option<Unparsed>,
}

impl<K, T: Body> Early<K, T> {
    /// Finds what it is about, and only then parses the rest.
    ///
    /// # Errors
    /// Those of `find`; else what is wrong with the body.
    pub async fn find<V>(self, find: impl AsyncFnOnce(K) -> Result<V>) -> Result<(V, T)> {
        let found = find(self.about).await?;
        let body = match (self.parsed, self.rest) {
            (Some(parsed), _) => parsed,
            (None, rest) => T::read(rest.map(Unparsed::parse).transpose()?)?,
        };
        Ok((found, body))
    }
}

impl<K, T> Body for Early<K, T>
where
    K: DeserializeOwned + Send,
    T: Body,
{
    const MOST_VALUES: usize = T::MOST_VALUES;
    const IS_EARLY: bool = true;

    async fn receive(content: Content) -> Result<Self> {
        if let Content::Unparsed(rest) = content {
            if let Some(about) = rest.first() {
                return Ok(Self { parsed: None, about, rest: Some(rest) });
            }
            // The whole says what is wrong. A name that comes twice is not: the last one counts.
            return Self::read(Some(rest.parse()?));
        }
        content.json().and_then(Self::read)
    }

    fn read(json: Option<serde_json::Value>) -> Result<Self> {
        let about = json.as_ref().map(typed::read);
        let parsed = Some(T::read(json)?);
        let empty = || Error::new(Code::ValidationFailed, "The body does not fit: it is empty.");
        Ok(Self { parsed, about: about.ok_or_else(empty)??, rest: None })
    }
}

impl<'de, K: DeserializeOwned, T: DeserializeOwned> Deserialize<'de> for Early<K, T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json = serde_json::Value::deserialize(deserializer)?;
        let about = K::deserialize(&json).map_err(serde::de::Error::custom)?;
        let parsed = T::deserialize(json).map_err(serde::de::Error::custom)?;
        Ok(Self { parsed: Some(parsed), about, rest: None })
    }
}

impl<K, T> fmt::Debug for Early<K, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Early").finish_non_exhaustive()
    }
}

impl<K, T: JsonSchema> JsonSchema for Early<K, T> {
    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn inline_schema() -> bool {
        T::inline_schema()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}
