//! Replies that their readers have not taken yet share a budget of bytes. What does not fit is
//! refused before it waits, so that readers who do not read cannot fill the memory. It is refused
//! once it is made, so a reader who leaves much unread has one reply made at a time.

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use cms_core::{
    Code, Error, Result,
    settings::{Cidr, Settings},
    traffic::address,
};
use futures_util::StreamExt as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::body::Body;

/// Smaller replies are not counted: connections are bounded, and sockets hold as much.
const SMALL: usize = 64 << 10;
/// Of the budget, one network gets this part.
const SHARES: u64 = 4;
/// Seconds after which a refused reader may find room.
const RETRY_AFTER_S: u64 = 1;
/// How long a request waits for the reader's turn.
const PATIENCE: Duration = Duration::from_secs(5);

/// The budget of one API.
pub(crate) struct Unread(Arc<Budget>);

struct Budget {
    most: u64,
    proxies: Vec<Cidr>,
    held: Mutex<Held>,
}

/// Bytes that are held: all of them, and those of each network.
#[derive(Default)]
struct Held {
    all: u64,
    of: HashMap<u128, Own>,
}

/// What a network holds.
struct Own {
    bytes: u64,
    /// One permit: who has it makes a reply for this network.
    turn: Arc<Semaphore>,
}

/// A reader: a network, or a proxy, which reads for many and may have everything.
type Reader = Option<u128>;

/// Bytes that count until the last copy of them is dropped.
struct Counted {
    bytes: Bytes,
    reader: Reader,
    budget: Arc<Budget>,
}

impl Unread {
    pub(crate) fn new(settings: &Settings) -> Self {
        let (most, proxies) = (settings.http.unread_limit_bytes, settings.trusted_proxies.clone());
        Self(Arc::new(Budget { most, proxies, held: Mutex::default() }))
    }

    /// The turn to make a reply. None, at once, for a reader who has taken most replies: all of
    /// theirs are made side by side.
    ///
    /// # Errors
    /// `unavailable` when the replies before it take too long.
    pub(crate) async fn turn(&self, peer: SocketAddr) -> Result<Option<OwnedSemaphorePermit>> {
        let Some(turn) = self.0.reader(peer).and_then(|reader| self.0.queue(reader)) else {
            return Ok(None);
        };
        let turn = tokio::time::timeout(PATIENCE, turn.acquire_owned()).await;
        turn.map_err(|_| too_much())?.map(Some).map_err(Error::internal)
    }

    /// The body, counted until it was sent. `must` is for the reply to a write: it says what was
    /// committed, so it is counted and never refused.
    ///
    /// # Errors
    /// `unavailable` when too much waits for its readers already.
    pub(crate) fn admit(&self, peer: SocketAddr, body: Body, must: bool) -> Result<Body> {
        let reader = || self.0.reader(peer);
        match body.whole() {
            Some(bytes) if bytes.len() <= SMALL => Ok(body),
            Some(bytes) => self.0.count(reader(), bytes.clone(), must).map(Body::from),
            None => Ok(self.streamed(reader(), body)),
        }
    }

    /// A part that does not fit ends the stream: its client comes again and goes on.
    fn streamed(&self, reader: Reader, mut body: Body) -> Body {
        let budget = self.0.clone();
        body.map_parts(|parts| {
            parts
                .map(move |part| match part {
                    Ok(bytes) if bytes.len() > SMALL => budget.count(reader, bytes, false),
                    other => other,
                })
                .boxed()
        });
        body
    }
}

impl Budget {
    fn reader(&self, peer: SocketAddr) -> Reader {
        let is_proxy = self.proxies.iter().any(|network| network.contains(peer.ip()));
        (!is_proxy).then(|| address::network(peer.ip()))
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where a reader waits whose share is more than half taken.
    fn queue(&self, reader: u128) -> Option<Arc<Semaphore>> {
        let held = self.held();
        let own = held.of.get(&reader).filter(|own| own.bytes > self.most / SHARES / 2)?;
        Some(own.turn.clone())
    }

    /// Something fits always where nothing is held, however large it is.
    fn count(self: &Arc<Self>, reader: Reader, bytes: Bytes, must: bool) -> Result<Bytes> {
        let size = bytes.len() as u64;
        let fits = |held: u64, most: u64| held == 0 || held + size <= most;
        let mut held = self.held();
        let own = reader.and_then(|reader| held.of.get(&reader)).map_or(0, |own| own.bytes);
        let has_share = reader.is_none() || fits(own, self.most / SHARES);
        let fits = has_share && fits(held.all, self.most);
        if !(must || fits) {
            return Err(too_much());
        }
        held.all += size;
        if let Some(reader) = reader {
            held.of.entry(reader).or_insert_with(Own::none).bytes += size;
        }
        Ok(Bytes::from_owner(Counted { bytes, reader, budget: self.clone() }))
    }
}

impl Own {
    fn none() -> Self {
        Self { bytes: 0, turn: Arc::new(Semaphore::new(1)) }
    }
}

fn too_much() -> Error {
    let why = "Too many replies wait for their readers: read them, or ask for smaller pages; \
               http.unread_limit_bytes bounds them.";
    Error::new(Code::Unavailable, why).retry_after(RETRY_AFTER_S)
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let size = self.bytes.len() as u64;
        let mut held = self.budget.held();
        held.all -= size;
        if let Some(reader) = self.reader
            && let Some(own) = held.of.get_mut(&reader)
        {
            own.bytes -= size;
            if own.bytes == 0 {
                held.of.remove(&reader);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::stream;

    use super::*;

    const KIB: usize = 1024;

    fn unread() -> Unread {
        let mut settings = Settings::default();
        settings.http.unread_limit_bytes = 800 * KIB as u64;
        settings.trusted_proxies = vec!["10.0.0.0/8".parse().expect("a network")];
        Unread::new(&settings)
    }

    fn body(kib: usize) -> Body {
        Bytes::from(vec![b'x'; kib * KIB]).into()
    }

    fn peer(text: &str) -> SocketAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn a_network_has_its_share_and_all_together_the_budget() {
        let unread = unread();
        let ask = |from: &str, kib| unread.admit(peer(from), body(kib), false);
        let (one, same) = ("[2001:db8::1]:9", "[2001:db8::2]:9");
        let first = ask(one, 120).expect("room");
        let refused = ask(same, 120).expect_err("no share");
        assert_eq!((refused.code(), refused.retry_after_s()), (Code::Unavailable, Some(1)));
        let small: Vec<_> = (0..99).map(|_| ask(same, 64).expect("small ones")).collect();
        drop((first, small));
        let large = ask(one, 700).expect("one that is alone");
        assert!(ask("192.0.2.1:9", 120).is_err(), "all is taken");
        assert!(unread.admit(peer("192.0.2.1:9"), body(120), true).is_ok(), "a write is told");
        drop(large);
        let proxy: Vec<_> = (0..8).map(|_| ask("10.1.1.1:9", 100).expect("for many")).collect();
        assert!(ask("10.1.1.1:9", 100).is_err() && ask(one, 100).is_err());
        drop(proxy);
        let held = unread.0.held();
        assert!(held.all == 0 && held.of.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn who_leaves_much_unread_has_one_reply_made_at_a_time() {
        let unread = unread();
        let (one, same, other) = ("[2001:db8::1]:9", "[2001:db8::2]:9", "192.0.2.1:9");
        let turn = async |from: &str| unread.turn(peer(from)).await.expect("a turn").is_some();
        let held = unread.admit(peer(one), body(100), false).expect("room");
        assert!(!turn(one).await, "half of the share is free");
        let more = unread.admit(peer(one), body(70), false).expect("room");
        let first = unread.turn(peer(one)).await.expect("the turn");
        let mut second = Box::pin(unread.turn(peer(same)));
        let waits = futures_util::FutureExt::now_or_never(&mut second).is_none();
        assert!(waits, "one at a time");
        assert!(!turn(other).await, "other networks do not wait");
        drop(first);
        let second = second.await.expect("the turn");
        assert!(second.is_some());
        let refused = unread.turn(peer(one)).await.expect_err("nobody waits for ever");
        assert_eq!((refused.code(), refused.retry_after_s()), (Code::Unavailable, Some(1)));
        let proxy = unread.admit(peer("10.1.1.1:9"), body(700), true).expect("for many");
        assert!(!turn("10.1.1.1:9").await, "a proxy reads for many");
        drop((held, more, proxy));
        assert!(!turn(one).await, "what was read makes room");
    }

    #[tokio::test]
    async fn a_stream_whose_part_does_not_fit_ends() {
        let unread = unread();
        let parts = stream::repeat_with(|| Ok(Bytes::from(vec![b'x'; 150 * KIB]))).boxed();
        let body = Body::streamed(parts);
        let mut body = unread.admit(peer("192.0.2.1:9"), body, false).expect("a stream");
        let mut held = Vec::new();
        body.map_parts(|mut parts| {
            held.extend(futures_util::FutureExt::now_or_never(parts.next()).flatten());
            held.extend(futures_util::FutureExt::now_or_never(parts.next()).flatten());
            parts
        });
        assert!(held[0].is_ok() && held[1].is_err());
        held.clear();
        body.map_parts(|mut parts| {
            held.extend(futures_util::FutureExt::now_or_never(parts.next()).flatten());
            parts
        });
        assert!(held[0].is_ok(), "what was sent makes room");
    }
}
