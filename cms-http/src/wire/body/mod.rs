//! The body of a request ↔ a body type. Bodies that are no JSON: a form as browsers send it
//! (`application/x-www-form-urlencoded`), a text, and bytes of any kind, which the handler reads as
//! they come in.

mod deferred;
mod multipart;
mod typed;

use std::{
    borrow::Cow,
    future::{Future, ready},
};

use bytes::Bytes;
use cms_core::{Code, Error, FieldError, Result};
use futures_util::{Stream, StreamExt as _, stream};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{DeserializeOwned, IgnoredAny},
};
use serde_json::{Map, Value as Json};

pub use deferred::{Arriving, Deferred, Early};
pub use multipart::{File, Multipart};

use crate::{
    body::{Unparsed, Upload},
    wire::{Text, query},
};

/// Most values of a body that holds the answers of a visitor.
pub(crate) const MOST_ANSWERS: usize = 5_000;

/// What a request's body is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyKind {
    /// None is read.
    None,
    /// A JSON document.
    Json,
    /// Fields: [`Form`].
    Form,
    /// Text: [`Text`](super::Text).
    Text,
    /// Fields and files: [`Multipart`].
    Multipart,
    /// Bytes of any kind: [`Octets`].
    Octets,
}

impl BodyKind {
    /// The value of `Content-Type`; None: there is no body.
    #[must_use]
    pub fn media_type(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Json => Some("application/json"),
            Self::Form => Some("application/x-www-form-urlencoded"),
            Self::Text => Some("text/plain"),
            Self::Multipart => Some("multipart/form-data"),
            Self::Octets => Some("application/octet-stream"),
        }
    }
}

/// A body as the gate passes it on.
#[derive(Debug, Default)]
#[non_exhaustive]
pub enum Content {
    /// None was sent.
    #[default]
    Empty,
    /// A JSON document.
    Json(Json),
    /// The same, within its bounds and not parsed yet.
    Unparsed(Unparsed),
    /// The fields of a form; each name once.
    Pairs(Vec<(String, String)>),
    /// A text.
    Text(String),
    /// The bytes for a handler of a plugin, and their JSON where they are JSON.
    Whole(Bytes, Option<Json>),
    /// What comes in while the handler runs.
    Upload(Upload),
}

impl Content {
    pub(crate) fn whole(self) -> Result<(Bytes, Option<Json>)> {
        match self {
            Self::Empty => Ok((Bytes::new(), None)),
            Self::Whole(bytes, json) => Ok((bytes, json)),
            _ => Err(other()),
        }
    }

    pub(crate) fn json(self) -> Result<Option<Json>> {
        match self {
            Self::Empty => Ok(None),
            Self::Json(json) => Ok(Some(json)),
            Self::Unparsed(json) => json.parse().map(Some),
            _ => Err(other()),
        }
    }

    fn pairs(self) -> Result<Vec<(String, String)>> {
        match self {
            Self::Empty => Ok(Vec::new()),
            Self::Pairs(pairs) => Ok(pairs),
            _ => Err(other()),
        }
    }

    fn text(self) -> Result<String> {
        match self {
            Self::Empty => Ok(String::new()),
            Self::Text(text) => Ok(text),
            _ => Err(other()),
        }
    }
}

/// The gate reads a body by the kind of its type.
fn other() -> Error {
    Error::internal("the gate has read a body of another kind")
}

/// A body type. The default takes JSON objects.
pub trait Body: Serialize + DeserializeOwned + JsonSchema + Send {
    /// What the request carries.
    const KIND: BodyKind = BodyKind::Json;
    /// How many values its JSON may hold. Whoever takes more than others says so here.
    const MOST_VALUES: usize = 20_000;
    /// Whether it parses its JSON itself, after it has looked at a part of it.
    const IS_EARLY: bool = false;
    /// Whether a call with `"dry_run": true` only reads, so that users need no right to change.
    const DRY_RUN_READS: bool = false;
    /// Whether a request without a body means an empty object.
    const OPTIONAL: bool = false;

    /// Reads the body of a request.
    ///
    /// # Errors
    /// As [`Body::read`], and what is wrong with a body of another kind.
    fn receive(content: Content) -> impl Future<Output = Result<Self>> + Send {
        ready(content.json().and_then(Self::read))
    }

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
        typed::read(&object)
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
fn fields<T: DeserializeOwned>(pairs: &[(String, String)]) -> Result<T> {
    let pairs = pairs.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    query::read_named(&pairs.collect::<Vec<_>>()).map_err(|wrong| {
        let why = wrong.detail.replacen("parameter", "field", 1);
        let error = Error::new(Code::ValidationFailed, format!("The form does not fit: {why}"));
        let Some(field) = wrong.name else { return error };
        let message = why.trim_end_matches('.').to_owned();
        error.with_fields(vec![FieldError::new(field, wrong.code, message)])
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
