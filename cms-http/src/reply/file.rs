//! A file, or the part of it that is asked for (RFC 9110, 14).

use std::io::SeekFrom;

use bytes::{Bytes, BytesMut};
use cms_core::{Error, Result, media::Remote};
use futures_util::{StreamExt as _, stream};
use http::{HeaderName, HeaderValue, Method, StatusCode, header};
use tokio::io::{AsyncReadExt as _, AsyncSeekExt as _};

use super::{Reply, range::ByteRange, save_as::attachment};
use crate::{
    body::{Body, Parts},
    request::Canonical,
};

/// Bytes that are read at once.
const STEP: usize = 64 << 10;

/// The content of a file.
pub(crate) enum Content {
    /// A file on this machine.
    File(tokio::fs::File),
    /// Reads so many bytes from a place on.
    Remote(Remote),
}

/// A file to reply with.
pub(crate) struct File {
    pub(crate) content: Content,
    pub(crate) length: u64,
    pub(crate) media_type: HeaderValue,
    /// A strong entity tag, with its quotes.
    pub(crate) etag: HeaderValue,
    /// The name to save it under; None: it is shown.
    pub(crate) save_as: Option<String>,
}

impl File {
    /// The reply: 200, 206 with a part, or 416 for a part that is not there.
    pub(crate) async fn reply(self, request: &Canonical) -> Result<Reply> {
        let (status, first, length) = match self.range(request)? {
            ByteRange::Whole => (StatusCode::OK, 0, self.length),
            ByteRange::Part(first, last) => (StatusCode::PARTIAL_CONTENT, first, last - first + 1),
            ByteRange::Beyond => (StatusCode::RANGE_NOT_SATISFIABLE, 0, 0),
        };
        let mut reply = Reply::new(status, self.media_type.clone(), Bytes::new())
            .with(header::ACCEPT_RANGES, "bytes")
            .with(header::CONTENT_LENGTH, &length.to_string())
            .with(header::CONTENT_DISPOSITION, &self.disposition());
        let mut set = |name: HeaderName, value: HeaderValue| reply.headers.insert(name, value);
        set(header::ETAG, self.etag.clone());
        let range = match status {
            StatusCode::PARTIAL_CONTENT => {
                format!("bytes {first}-{}/{}", first + length - 1, self.length)
            }
            StatusCode::RANGE_NOT_SATISFIABLE => {
                reply.headers.remove(header::CONTENT_TYPE);
                format!("bytes */{}", self.length)
            }
            _ => String::new(),
        };
        if !range.is_empty() {
            reply = reply.with(header::CONTENT_RANGE, &range);
        }
        if length > 0 {
            let parts = match self.content {
                Content::File(mut file) => {
                    file.seek(SeekFrom::Start(first)).await.map_err(Error::internal)?;
                    bytes(file, length)
                }
                Content::Remote(read) => read(first, length),
            };
            reply.body = Body::streamed(parts);
        }
        Ok(reply)
    }

    fn range(&self, request: &Canonical) -> Result<ByteRange> {
        // A condition is judged first (13.2.2), and a part of another state is no use.
        let of_this_state = match request.headers.get(header::IF_RANGE) {
            None => true,
            Some(state) => *state == self.etag,
        };
        let conditional = request.headers.contains_key(header::IF_NONE_MATCH);
        match request.header(&header::RANGE)? {
            Some(range) if request.method == Method::GET && of_this_state && !conditional => {
                Ok(ByteRange::parse(range, self.length))
            }
            _ => Ok(ByteRange::Whole),
        }
    }

    fn disposition(&self) -> String {
        self.save_as.as_deref().map_or_else(|| "inline".to_owned(), attachment)
    }
}

/// So many bytes from where the file stands. A file that is shorter breaks the reply off, so that
/// nobody takes it for the whole.
fn bytes(file: tokio::fs::File, length: u64) -> Parts {
    stream::try_unfold((file, length), |(mut file, left)| async move {
        if left == 0 {
            return Ok(None);
        }
        let room = usize::try_from(left).unwrap_or(usize::MAX).min(STEP);
        let mut part = BytesMut::zeroed(room);
        let read = file.read(&mut part).await.map_err(Error::internal)?;
        if read == 0 {
            tracing::error!(left, "a file ended before its reply");
            return Err(Error::internal("the file has become shorter"));
        }
        part.truncate(read);
        Ok(Some((part.freeze(), (file, left - read as u64))))
    })
    .boxed()
}
