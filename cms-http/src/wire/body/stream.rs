//! Bytes of any kind, read by the handler as they come in.

use std::borrow::Cow;

use bytes::Bytes;
use cms_core::{Error, Result};
use futures_util::{Stream, StreamExt as _, stream};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::{Body, BodyKind, Content};
use crate::body::Upload;

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
