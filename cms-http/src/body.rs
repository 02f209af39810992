//! Bodies: replies that are whole or streamed, and requests read within limits.

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use cms_core::{Code, Error, Result};
use http_body::{Frame, SizeHint};
use http_body_util::{BodyExt, LengthLimitError, Limited};

/// The body of a reply.
#[derive(Debug, Default)]
pub struct Body(Option<Bytes>);

impl From<Bytes> for Body {
    fn from(bytes: Bytes) -> Self {
        Self(Some(bytes).filter(|bytes| !bytes.is_empty()))
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Poll::Ready(self.0.take().map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.as_ref().map_or(0, |bytes| bytes.len() as u64))
    }
}

/// Reads a request's body: at most `limit` bytes within `time`.
pub(crate) async fn read<B>(body: B, limit: usize, time: Duration) -> Result<Bytes>
where
    B: http_body::Body,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let too_large =
        || Error::new(Code::PayloadTooLarge, format!("The body is larger than {limit} bytes."));
    if body.size_hint().lower() > limit as u64 {
        return Err(too_large());
    }
    let late = |_| {
        Error::new(
            Code::Timeout,
            format!("The body did not arrive within {} seconds.", time.as_secs()),
        )
    };
    match tokio::time::timeout(time, Limited::new(body, limit).collect()).await.map_err(late)? {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.downcast_ref::<LengthLimitError>().is_some() => Err(too_large()),
        Err(error) => Err(Error::new(Code::BadJson, "The body broke off.").caused_by(error)),
    }
}
