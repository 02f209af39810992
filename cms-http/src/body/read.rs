//! Reads the body of a request whole, and counts the memory of all bodies under way
//! against one budget.

use std::{
    pin::pin,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use bytes::{Buf as _, BufMut as _, Bytes};
use cms_core::{Code, Error, Result};
use http_body_util::BodyExt as _;

use crate::budget::Share;

/// Once one eighth of an announced body has come, the buffer grows to its full length.
const PART_OF_ANNOUNCED: usize = 8;

/// Reads a request's body: at most `limit` bytes within `time`. Parts are joined as they come,
/// because keeping small parts would cost many times their bytes. Memory is taken as parts come,
/// not when they are announced, so that a client cannot block others by announcing a large body.
pub(crate) async fn read<B>(body: B, limit: usize, time: Duration, memory: &Memory) -> Result<Bytes>
where
    B: http_body::Body,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let too_large =
        || Error::new(Code::PayloadTooLarge, format!("The body is larger than {limit} bytes."));
    let announced = body.size_hint();
    if announced.lower() > limit as u64 {
        return Err(too_large());
    }
    let announced = announced.exact().and_then(|bytes| usize::try_from(bytes).ok());
    let late = |_| {
        Error::new(
            Code::Timeout,
            format!("The body did not arrive within {} seconds.", time.as_secs()),
        )
    };
    let whole = async {
        let mut body = pin!(body);
        let mut whole = Vec::new();
        while let Some(frame) = body.frame().await {
            let broken = |why| Error::new(Code::BadJson, "The body broke off.").caused_by(why);
            let Ok(part) = frame.map_err(broken)?.into_data() else { continue };
            let (room, length) = (whole.capacity(), whole.len() + part.remaining());
            if length > limit {
                return Err(too_large());
            }
            if length > room {
                // Growing in small steps would fragment the memory.
                let whole_comes = announced.filter(|all| length >= all / PART_OF_ANNOUNCED);
                let wanted = whole_comes.unwrap_or((2 * room).min(limit)).max(length);
                memory.take((wanted - room) as u64)?;
                whole.reserve_exact(wanted - whole.len());
            }
            whole.put(part);
        }
        Ok(Bytes::from(whole))
    };
    tokio::time::timeout(time, whole).await.map_err(late)?
}

/// Bodies up to this size, bytes and tree together, are not counted. Connections are limited, so
/// a login or a short step of a funnel is read whatever other clients send. The tree counts too:
/// the trees of 1,024 bodies with this many bytes would take more than 1 GiB.
const SMALL: u64 = 16 << 10;
/// Seconds after which a refused request is told to try again.
const RETRY_AFTER_S: u64 = 1;

/// The memory of one body: its bytes, and the tree parsed from them. Dropping the last
/// clone frees it.
#[derive(Clone)]
pub(crate) struct Memory(Arc<Mutex<Reserved>>);

struct Reserved {
    share: Share,
    /// Bytes of a small body and its tree, which `share` does not count.
    bytes: u64,
    is_counted: bool,
}

impl Memory {
    pub(crate) fn of(share: Share) -> Self {
        Self(Arc::new(Mutex::new(Reserved { share, bytes: 0, is_counted: false })))
    }

    /// Takes room before it is filled.
    pub(crate) fn take(&self, bytes: u64) -> Result<()> {
        let mut taken = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let more = if taken.is_counted { bytes } else { taken.bytes + bytes };
        if !taken.is_counted && more <= SMALL {
            taken.bytes = more;
            return Ok(());
        }
        if !taken.share.grow(more) {
            let why = "Other requests take up the memory for bodies (http.parsed_limit_bytes): \
                       try again, or send a smaller body.";
            return Err(Error::new(Code::Unavailable, why).retry_after(RETRY_AFTER_S));
        }
        taken.is_counted = true;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::{convert::Infallible, sync::Arc};

    use bytes::Buf;
    use futures_util::stream;
    use http_body::Frame;
    use http_body_util::StreamBody;

    use super::*;
    use crate::budget::Budget;

    fn memory(most: u64) -> Memory {
        Memory::of(Budget::new(most).share(Some(1)))
    }

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
        let memory = &memory(0);
        assert_eq!(read(body(1000), 1000, time, memory).await.expect("a body").len(), 1000);
        let refused = read(body(1001), 1000, time, memory).await.expect_err("too long");
        assert_eq!(refused.code(), Code::PayloadTooLarge);
        assert_eq!(read(body(0), 0, time, memory).await.expect("a body").len(), 0);
    }

    #[tokio::test]
    async fn room_is_taken_for_what_comes() {
        const PART: usize = 64 << 10;
        let budget = Budget::new(16 * PART as u64);
        let of = |network| Memory::of(budget.share(Some(network)));
        let body = |parts: usize| {
            let part = || Ok::<_, Infallible>(Frame::data(Bytes::from(vec![b' '; PART])));
            StreamBody::new(stream::iter((0..parts).map(move |_| part())))
        };
        let time = Duration::from_secs(60);
        let read = async |parts, memory: &Memory| read(body(parts), 8 * PART, time, memory).await;
        // A quarter of the budget, of which others hold some.
        let (first, second) = (of(1), of(1));
        assert!(read(2, &first).await.is_ok());
        let refused = read(3, &second).await.expect_err("more than a quarter");
        assert_eq!((refused.code(), refused.retry_after_s()), (Code::Unavailable, Some(1)));
        assert!(read(4, &of(2)).await.is_ok(), "another network");
        drop((first, second));
        assert!(read(8, &of(1)).await.is_ok(), "alone, as large as bodies may be");
        assert!(budget.is_unused());
    }

    #[test]
    fn small_bodies_are_not_counted() {
        let budget = Budget::new(1 << 20);
        let large = Memory::of(budget.share(None));
        large.take(1 << 20).expect("room");
        let small: Vec<_> = (0..1000).map(|_| Memory::of(budget.share(Some(1)))).collect();
        assert!(small.iter().all(|memory| memory.take(16 << 10).is_ok()));
        assert!(small.iter().all(|memory| memory.take(1).is_err()), "no longer small");
        drop(large);
        assert!(small[0].take(1).is_ok() && !budget.is_unused());
        drop(small);
        assert!(budget.is_unused());
    }
}
