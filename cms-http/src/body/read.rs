//! The body of a request, whole.

use std::time::Duration;

use bytes::Bytes;
use cms_core::{Code, Error, Result};
use http_body_util::{BodyExt, LengthLimitError, Limited};

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
