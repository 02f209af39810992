//! What replies are wrapped in: one thing, a page of a list, a problem document (RFC 9457).

use std::borrow::Cow;

use cms_core::{FieldError, MAX_LIMIT};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, de::DeserializeOwned, de::Error as _};
use serde_json::{Value as Json, value::RawValue};

/// How a reply is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplyKind {
    /// `application/json`.
    Json,
    /// JSON, or what a handler of a plugin streams instead.
    Any,
    /// Nothing: 204.
    Empty,
    /// Text of this media type.
    Text(&'static str),
    /// `text/event-stream`: events as they happen, without an end.
    Events,
    /// `text/csv`, row by row.
    Csv,
    /// A file of its own media type, or a part of it.
    File,
}

impl ReplyKind {
    /// The value of `Content-Type`; files have their own.
    #[must_use]
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Json | Self::Any | Self::Empty => "application/json",
            Self::Text(kind) => kind,
            Self::Events => "text/event-stream",
            Self::Csv => "text/csv; charset=utf-8; header=present",
            Self::File => "*/*",
        }
    }
}

/// One thing.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
#[non_exhaustive]
pub struct Data<T> {
    /// The thing.
    pub data: T,
}

/// A page of a list.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
#[non_exhaustive]
pub struct Page<T> {
    /// The rows.
    pub data: Vec<T>,
    /// Where the page stands in the list.
    pub meta: Meta,
}

/// Where a page stands in its list.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Meta {
    /// Rows that were asked for.
    pub limit: u32,
    /// The cursor of the next page; null at the end.
    pub next: Option<String>,
    /// Matching rows in all, when `count` was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<i64>,
}

/// One thing, and what its owner should know beside it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
#[non_exhaustive]
pub struct Noted<T> {
    /// The thing.
    pub data: T,
    /// Left out when there is nothing to say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Notes>,
}

/// What the owner of a thing should know.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Notes {
    /// Nothing is wrong yet.
    pub warnings: Vec<FieldProblem>,
}

/// What a caller who may write but not read sees of the row that was written.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct OnlyId<Id = Json> {
    /// Its id; of a composite key an array.
    pub id: Id,
}

/// One thing when the query names it, else a page. Some lists show less of each row.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum OneOrPage<T, One = T> {
    /// A page of a list.
    Page(Page<T>),
    /// One thing.
    One(Data<One>),
}

/// Nothing: 204.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct Done;

/// A reply that is no JSON.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub struct Text(pub String);

impl<T> From<cms_core::Page<T>> for Page<T> {
    fn from(page: cms_core::Page<T>) -> Self {
        let meta = Meta { limit: page.limit, next: page.next, total: page.total };
        Self { data: page.data, meta }
    }
}

impl<T> Page<T> {
    /// A short list, which has no other page.
    #[must_use]
    pub fn whole(data: Vec<T>) -> Self {
        let limit = u32::try_from(data.len()).unwrap_or(u32::MAX).max(MAX_LIMIT);
        Self { data, meta: Meta { limit, next: None, total: None } }
    }
}

impl<T, One> OneOrPage<T, One> {
    /// One thing.
    #[must_use]
    pub fn one(data: One) -> Self {
        Self::One(Data { data })
    }

    /// A page of a list.
    #[must_use]
    pub fn page(page: cms_core::Page<T>) -> Self {
        Self::Page(page.into())
    }
}

/// Raw values can be read from text only, so the two forms are told apart by hand.
impl<'de, T, One> Deserialize<'de> for OneOrPage<T, One>
where
    T: DeserializeOwned,
    One: DeserializeOwned,
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Either {
            data: Box<RawValue>,
            #[serde(default)]
            meta: Option<Meta>,
        }
        let Either { data, meta } = Either::deserialize(deserializer)?;
        let data = data.get();
        match meta {
            Some(meta) => serde_json::from_str(data).map(|data| Self::Page(Page { data, meta })),
            None => serde_json::from_str(data).map(|data| Self::One(Data { data })),
        }
        .map_err(D::Error::custom)
    }
}

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

/// A problem document.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Problem {
    /// `urn:cms:error:` and the code.
    pub r#type: String,
    /// The code in words.
    pub title: String,
    /// The status of the reply.
    pub status: u16,
    /// What is wrong and how to mend it, for a person.
    pub detail: String,
    /// The stable code.
    pub error: String,
    /// As in the header `X-Request-Id`.
    pub request_id: String,
    /// The node of a funnel that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_id: Option<i64>,
    /// How many rows the filter matches, after `count_moved`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matched: Option<u64>,
    /// The fields that are wrong.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<FieldProblem>,
}

/// What is wrong with one field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct FieldProblem {
    /// Name of the field, with indexes for nested ones: `rights[0].methods`.
    pub field: String,
    /// `required`, `type`, `range`, `unknown`, `format`.
    pub code: String,
    /// What is expected, for a person.
    pub message: String,
    /// The node of a funnel that it belongs to, by the id that was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<i64>,
}

impl FieldProblem {
    /// What is wrong with a field, as a code and for a person.
    #[must_use]
    pub fn new(field: &str, code: &str, message: impl Into<String>) -> Self {
        let (field, code, message) = (field.to_owned(), code.to_owned(), message.into());
        Self { field, code, message, node: None }
    }
}

impl From<&FieldError> for FieldProblem {
    fn from(error: &FieldError) -> Self {
        let FieldError { field, code, message, .. } = error;
        let (field, code, message) = (field.clone(), (*code).to_owned(), message.clone());
        Self { field, code, message, node: None }
    }
}
