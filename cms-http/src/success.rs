//! What handlers return: the reply of an operation, before it is written.

use bytes::Bytes;
use cms_core::{Error, Result, items::etag};
use http::{HeaderName, HeaderValue, StatusCode, header};
use serde::Serialize;
use serde_json::Value as Json;

use crate::{
    body::{Body, Parts},
    reply::{JSON, Reply},
    wire::{Data, OnlyId, ReplyKind, envelope::Meta},
};

/// How an operation answers: the status and the form of a success.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answers {
    pub(crate) status: u16,
    pub(crate) kind: ReplyKind,
}

/// What a handler returns: a reply of type `T`, and additional headers.
pub(crate) struct Success<T> {
    content: Content<T>,
    headers: Vec<(HeaderName, String)>,
    /// Tables that the reply was made from in addition to those of its route.
    reads: Vec<String>,
}

enum Content<T> {
    Value(T),
    Made(Made),
}

/// The reply without its type, so that its code is compiled once, not for each type.
enum Made {
    /// JSON of the type, as the database makes it.
    Json(String),
    /// The id alone.
    OnlyId(Json),
    Written(Reply),
    Streamed(Parts),
}

impl<T> From<T> for Success<T> {
    fn from(value: T) -> Self {
        Self { content: Content::Value(value), headers: Vec::new(), reads: Vec::new() }
    }
}

impl<T: Serialize> Success<T> {
    /// `{"data": ...}` around JSON that the database has made.
    pub(crate) fn data(json: &str) -> Self {
        Self::json(["{\"data\":", json, "}"].concat())
    }

    /// The id of a row, for a caller who may write but not read it.
    pub(crate) fn only_id(id: impl Into<Json>) -> Self {
        Self::made(Made::OnlyId(id.into()))
    }

    /// `{"data": [...], "meta": {...}}` around records in one text that the database has made.
    pub(crate) fn page(records: &str, meta: &Meta) -> Result<Self> {
        let meta = serde_json::to_string(meta).map_err(Error::internal)?;
        Ok(Self::json(format!("{{\"data\":[{records}],\"meta\":{meta}}}")))
    }

    /// A complete reply.
    pub(crate) fn written(reply: Reply) -> Self {
        Self::made(Made::Written(reply))
    }

    /// A reply that is made part by part.
    pub(crate) fn streamed(parts: Parts) -> Self {
        Self::made(Made::Streamed(parts))
    }

    /// A body that is JSON text already.
    pub(crate) fn json(text: String) -> Self {
        Self::made(Made::Json(text))
    }

    fn made(made: Made) -> Self {
        Self { content: Content::Made(made), headers: Vec::new(), reads: Vec::new() }
    }

    pub(crate) fn with(mut self, name: HeaderName, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// Adds tables that the reply was made from: a kept reply lasts until one of them changes.
    pub(crate) fn reading(self, reads: Vec<String>) -> Self {
        Self { reads, ..self }
    }

    /// Adds a strong entity tag of the whole body.
    pub(crate) fn tagged(self) -> Result<Self> {
        let text = self.content.made()?.text()?;
        let tag = etag(&text);
        let content = Content::Made(Made::Json(text));
        Ok(Self { content, ..self }.with(header::ETAG, tag))
    }

    pub(crate) fn reply(self, answers: Answers) -> Result<Reply> {
        self.content.made()?.reply(answers, self.headers, self.reads)
    }
}

impl<T: Serialize> Content<T> {
    fn made(self) -> Result<Made> {
        match self {
            Self::Value(value) => {
                serde_json::to_string(&value).map(Made::Json).map_err(Error::internal)
            }
            Self::Made(made) => Ok(made),
        }
    }
}

impl Made {
    fn reply(
        self,
        answers: Answers,
        headers: Vec<(HeaderName, String)>,
        reads: Vec<String>,
    ) -> Result<Reply> {
        let status = StatusCode::from_u16(answers.status).map_err(Error::internal)?;
        let mut reply = match (self, answers.kind) {
            (Self::Written(reply), _) => reply,
            (_, ReplyKind::Empty) => Reply::no_content(),
            (Self::Streamed(parts), kind) => {
                let kind = HeaderValue::from_static(kind.media_type());
                Reply { body: Body::streamed(parts), ..Reply::new(status, kind, Bytes::new()) }
            }
            (_, ReplyKind::Events | ReplyKind::Csv | ReplyKind::File) => {
                return Err(Error::internal("a reply of this kind is streamed"));
            }
            (made, ReplyKind::Json | ReplyKind::Any) => Reply::new(status, JSON, made.text()?),
            (made, ReplyKind::Text(kind)) => {
                let text: String = serde_json::from_str(&made.text()?).map_err(Error::internal)?;
                Reply::new(status, HeaderValue::from_static(kind), text)
            }
        };
        for (name, value) in headers {
            reply = reply.with(name, &value);
        }
        reply.reads.extend(reads);
        Ok(reply)
    }

    fn text(self) -> Result<String> {
        match self {
            Self::OnlyId(id) => {
                serde_json::to_string(&Data { data: OnlyId { id } }).map_err(Error::internal)
            }
            Self::Json(text) => Ok(text),
            Self::Written(reply) => match reply.body.whole() {
                Some(body) => Ok(String::from_utf8_lossy(body).into_owned()),
                None => Err(Error::internal("a streamed reply is no text")),
            },
            Self::Streamed(_) => Err(Error::internal("a streamed reply is no text")),
        }
    }
}
