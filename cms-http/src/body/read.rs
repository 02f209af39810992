//! The body of a request, whole.

use std::{pin::pin, time::Duration};

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use cms_core::{Code, Error, Result};
use http_body_util::BodyExt as _;

/// Reads a request's body: at most `limit` bytes within `time`. Parts are added up as they come,
/// however small: keeping them would cost many times what they hold.
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
    let whole = async {
        let mut body = pin!(body);
        let mut whole = BytesMut::new();
        while let Some(frame) = body.frame().await {
            let broken = |why| Error::new(Code::BadJson, "The body broke off.").caused_by(why);
            let Ok(part) = frame.map_err(broken)?.into_data() else { continue };
            if part.remaining() > limit - whole.len() {
                return Err(too_large());
            }
            whole.put(part);
        }
        Ok(whole.freeze())
    };
    tokio::time::timeout(time, whole).await.map_err(late)?
}

#[cfg(test)]
mod tests {
    use std::{convert::Infallible, sync::Arc};

    use bytes::Buf;
    use futures_util::stream;
    use http_body::Frame;
    use http_body_util::StreamBody;

    use super::*;

    /// A byte that tells how many of its kind there are.
    struct Byte {
        is_left: bool,
        _alive: Arc<()>,
    }

    impl Buf for Byte {
        fn remaining(&self) -> usize {
            usize::from(self.is_left)
        }

        fn chunk(&self) -> &[u8] {
            if self.is_left { b"x" } else { b"" }
        }

        fn advance(&mut self, count: usize) {
            assert!(count <= self.remaining());
            self.is_left = self.is_left && count == 0;
        }
    }

    #[tokio::test]
    async fn small_parts_are_not_kept() {
        let alive = Arc::new(());
        let body = |length: usize| {
            let alive = alive.clone();
            let parts = (0..length).map(move |_| {
                assert!(Arc::strong_count(&alive) <= 3, "those before are gone");
                Ok::<_, Infallible>(Frame::data(Byte { is_left: true, _alive: alive.clone() }))
            });
            StreamBody::new(stream::iter(parts))
        };
        let time = Duration::from_secs(60);
        assert_eq!(read(body(1000), 1000, time).await.expect("a body").len(), 1000);
        let refused = read(body(1001), 1000, time).await.expect_err("too long");
        assert_eq!(refused.code(), Code::PayloadTooLarge);
        assert_eq!(read(body(0), 0, time).await.expect("a body").len(), 0);
    }
}
