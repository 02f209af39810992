//! Bodies: replies that are whole or streamed, and requests read within limits.

mod json;
mod read;
mod upload;

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use cms_core::{Error, Result};
use futures_util::{StreamExt as _, stream::BoxStream};
use http_body::{Frame, SizeHint};

pub use json::Unparsed;
pub(crate) use read::{Memory, read};
pub use upload::Upload;
pub(crate) use upload::{Limits, Source};

/// The parts of a streamed body. Each is made once the one before it has gone out.
pub(crate) type Parts = BoxStream<'static, Result<Bytes>>;

/// The body of a reply.
pub struct Body(Inner);

enum Inner {
    /// Empty at the end.
    Whole(Bytes),
    Streamed(Parts),
}

impl Body {
    /// A body that is made part by part.
    pub(crate) fn streamed(parts: Parts) -> Self {
        Self(Inner::Streamed(parts))
    }

    /// The bytes, or None for a streamed body.
    pub(crate) fn whole(&self) -> Option<&Bytes> {
        match &self.0 {
            Inner::Whole(bytes) => Some(bytes),
            Inner::Streamed(_) => None,
        }
    }

    /// Changes the parts of a streamed body; leaves a whole body as it is.
    pub(crate) fn map_parts(&mut self, change: impl FnOnce(Parts) -> Parts) {
        if let Inner::Streamed(parts) = &mut self.0 {
            let taken = std::mem::replace(parts, futures_util::stream::empty().boxed());
            *parts = change(taken);
        }
    }
}

impl Default for Body {
    fn default() -> Self {
        Self(Inner::Whole(Bytes::new()))
    }
}

impl From<Bytes> for Body {
    fn from(bytes: Bytes) -> Self {
        Self(Inner::Whole(bytes))
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Inner::Whole(bytes) => f.debug_tuple("Body").field(bytes).finish(),
            Inner::Streamed(_) => f.write_str("Body(streamed)"),
        }
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>>>> {
        match &mut self.0 {
            Inner::Whole(bytes) if bytes.is_empty() => Poll::Ready(None),
            Inner::Whole(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Inner::Streamed(parts) => {
                parts.as_mut().poll_next(context).map(|part| part.map(|part| part.map(Frame::data)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.whole().is_some_and(Bytes::is_empty)
    }

    fn size_hint(&self) -> SizeHint {
        self.whole().map_or_else(SizeHint::new, |bytes| SizeHint::with_exact(bytes.len() as u64))
    }
}
