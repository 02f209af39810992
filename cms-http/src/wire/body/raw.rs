//! Bodies that are no JSON: a form as browsers send it (`application/x-www-form-urlencoded`), a
//! text, and bytes of any kind, which the handler reads as they come in.

use std::borrow::Cow;

use bytes::Bytes;
use cms_core::{Code, Error, FieldError, Result};
use futures_util::{Stream, StreamExt as _, stream};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{Body, BodyKind, Content};
use crate::{
    body::Upload,
    wire::{Text, query},
};

/// A form without files. Its fields are read as parameters of a query are: each name once, numbers
/// and `true` or `false` as text.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Form<T>(pub T);

impl<T: Serialize + DeserializeOwned + JsonSchema + Send> Body for Form<T> {
    const KIND: BodyKind = BodyKind::Form;

    async fn receive(content: Content) -> Result<Self> {
        fields(&content.pairs()?).map(Self)
    }
}

/// Fields of a form as their type.
pub(super) fn fields<T: DeserializeOwned>(pairs: &[(String, String)]) -> Result<T> {
    let pairs = pairs.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    query::read_named(&pairs.collect::<Vec<_>>()).map_err(|wrong| {
        let why = wrong.detail.replacen("parameter", "field", 1);
        let error = Error::new(Code::ValidationFailed, format!("The form does not fit: {why}"));
        let Some(field) = wrong.name else { return error };
        let message = why.trim_end_matches('.').to_owned();
        error.with_fields(vec![FieldError { field, code: wrong.code, message }])
    })
}

impl<T: JsonSchema> JsonSchema for Form<T> {
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

impl Body for Text {
    const KIND: BodyKind = BodyKind::Text;

    async fn receive(content: Content) -> Result<Self> {
        content.text().map(Self)
    }
}

/// Bytes that come in: at most `media.max_bytes`.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Octets {
    #[serde(skip)]
    upload: Option<Upload>,
}

impl Octets {
    /// The declared kind; empty when none was.
    #[must_use]
    pub fn content_type(&self) -> &str {
        self.upload.as_ref().map_or("", |upload| &upload.content_type)
    }

    /// The bytes, part by part. What is not asked for is not read.
    pub fn parts(self) -> impl Stream<Item = Result<Bytes>> + Send + Unpin {
        self.upload.map_or_else(|| stream::empty().boxed(), |upload| upload.parts)
    }
}

impl Body for Octets {
    const KIND: BodyKind = BodyKind::Octets;

    async fn receive(content: Content) -> Result<Self> {
        match content {
            Content::Upload(upload) => Ok(Self { upload: Some(upload) }),
            _ => Err(Error::internal("the gate has read a stream")),
        }
    }
}

impl JsonSchema for Octets {
    fn schema_name() -> Cow<'static, str> {
        "Octets".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "format": "binary"})
    }
}
