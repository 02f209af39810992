//! Replies that their readers have not taken yet share a budget of bytes. A reply that does not
//! fit is refused, so that clients that do not read cannot fill the memory. A reply is refused
//! only after it was made, so a network with many unread replies has them made one at a time.

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use bytes::Bytes;
use cms_core::{
    Code, Error, Result,
    settings::{Cidr, Settings},
};
use futures_util::StreamExt as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::{
    body::Body,
    budget::{self, Budget, Network, Share},
};

/// The largest reply that is not counted: connections are limited, and sockets hold as much anyway.
const SMALL: usize = 64 << 10;
/// Seconds after which a refused reader is told to try again.
const RETRY_AFTER_S: u64 = 1;
/// How long a request waits for the reader's turn.
const TURN_TIMEOUT: Duration = Duration::from_secs(5);

/// The unread replies of one API.
pub(crate) struct ReplyBudget {
    budget: Arc<Budget>,
    proxies: Vec<Cidr>,
    /// One permit for each network: its holder may make a reply.
    turns: Mutex<HashMap<u128, Weak<Semaphore>>>,
}

/// Bytes that count until the last copy of them is dropped.
struct Counted {
    bytes: Bytes,
    _share: Share,
}

impl ReplyBudget {
    pub(crate) fn new(settings: &Settings) -> Self {
        let budget = Budget::new(settings.http.unread_limit_bytes);
        Self { budget, proxies: settings.trusted_proxies.clone(), turns: Mutex::default() }
    }

    /// Waits for the network's turn to make a reply. Returns None at once if the network has used
    /// at most half of its share: its replies may be made at the same time.
    pub(crate) async fn turn(&self, peer: SocketAddr) -> Result<Option<OwnedSemaphorePermit>> {
        let Some(turn) = self.network(peer).and_then(|network| self.queue(network)) else {
            return Ok(None);
        };
        let turn = tokio::time::timeout(TURN_TIMEOUT, turn.acquire_owned()).await;
        turn.map_err(|_| too_much())?.map(Some).map_err(Error::internal)
    }

    /// The body, which counts until it was sent. `force` is for the reply to a write: it reports
    /// what was committed, so it is counted but never refused.
    pub(crate) fn count_body(&self, peer: SocketAddr, body: Body, force: bool) -> Result<Body> {
        let network = || self.network(peer);
        match body.whole() {
            Some(bytes) if bytes.len() <= SMALL => Ok(body),
            Some(bytes) => count(&self.budget, network(), bytes.clone(), force).map(Body::from),
            None => Ok(self.streamed(network(), body)),
        }
    }

    /// A streamed body. A part that does not fit ends the stream; its client may come
    /// again and go on.
    fn streamed(&self, network: Network, mut body: Body) -> Body {
        let budget = self.budget.clone();
        body.map_parts(|parts| {
            parts
                .map(move |part| match part {
                    Ok(bytes) if bytes.len() > SMALL => count(&budget, network, bytes, false),
                    other => other,
                })
                .boxed()
        });
        body
    }

    fn network(&self, peer: SocketAddr) -> Network {
        budget::network(peer.ip(), &self.proxies)
    }

    /// The queue of a network that has used more than half of its share.
    fn queue(&self, network: u128) -> Option<Arc<Semaphore>> {
        if !self.budget.is_half_taken(network) {
            return None;
        }
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(turn) = turns.get(&network).and_then(Weak::upgrade) {
            return Some(turn);
        }
        // Drop the queues that nobody waits in.
        turns.retain(|_, turn| turn.strong_count() > 0);
        let turn = Arc::new(Semaphore::new(1));
        turns.insert(network, Arc::downgrade(&turn));
        Some(turn)
    }
}

fn count(budget: &Arc<Budget>, network: Network, bytes: Bytes, force: bool) -> Result<Bytes> {
    let (mut share, size) = (budget.share(network), bytes.len() as u64);
    match force {
        true => share.force(size),
        false if share.grow(size) => {}
        false => return Err(too_much()),
    }
    Ok(Bytes::from_owner(Counted { bytes, _share: share }))
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

#[cfg(test)]
mod tests {
    use futures_util::stream;

    use super::*;

    const KIB: usize = 1024;

    fn budget() -> ReplyBudget {
        let mut settings = Settings::default();
        settings.http.unread_limit_bytes = 800 * KIB as u64;
        settings.trusted_proxies = vec!["10.0.0.0/8".parse().expect("a network")];
        ReplyBudget::new(&settings)
    }

    fn body(kib: usize) -> Body {
        Bytes::from(vec![b'x'; kib * KIB]).into()
    }

    fn peer(text: &str) -> SocketAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn a_network_has_its_share_and_all_together_the_budget() {
        let budget = budget();
        let ask = |from: &str, kib| budget.count_body(peer(from), body(kib), false);
        let (one, same) = ("[2001:db8::1]:9", "[2001:db8::2]:9");
        let first = ask(one, 120).expect("room");
        let refused = ask(same, 120).expect_err("no share");
        assert_eq!((refused.code(), refused.retry_after_s()), (Code::Unavailable, Some(1)));
        let small: Vec<_> = (0..99).map(|_| ask(same, 64).expect("small ones")).collect();
        drop((first, small));
        let large = ask(one, 700).expect("one that is alone");
        assert!(ask("192.0.2.1:9", 120).is_err(), "all is taken");
        assert!(budget.count_body(peer("192.0.2.1:9"), body(120), true).is_ok(), "a write is told");
        drop(large);
        let proxy: Vec<_> = (0..8).map(|_| ask("10.1.1.1:9", 100).expect("for many")).collect();
        assert!(ask("10.1.1.1:9", 100).is_err() && ask(one, 100).is_err());
        drop(proxy);
        assert!(budget.budget.is_unused());
    }

    #[tokio::test(start_paused = true)]
    async fn who_leaves_much_unread_has_one_reply_made_at_a_time() {
        let budget = budget();
        let (one, same, other) = ("[2001:db8::1]:9", "[2001:db8::2]:9", "192.0.2.1:9");
        let turn = async |from: &str| budget.turn(peer(from)).await.expect("a turn").is_some();
        let held = budget.count_body(peer(one), body(100), false).expect("room");
        assert!(!turn(one).await, "half of the share is free");
        let more = budget.count_body(peer(one), body(70), false).expect("room");
        let first = budget.turn(peer(one)).await.expect("the turn");
        let mut second = Box::pin(budget.turn(peer(same)));
        let waits = futures_util::FutureExt::now_or_never(&mut second).is_none();
        assert!(waits, "one at a time");
        assert!(!turn(other).await, "other networks do not wait");
        drop(first);
        let second = second.await.expect("the turn");
        assert!(second.is_some());
        let refused = budget.turn(peer(one)).await.expect_err("nobody waits for ever");
        assert_eq!((refused.code(), refused.retry_after_s()), (Code::Unavailable, Some(1)));
        let proxy = budget.count_body(peer("10.1.1.1:9"), body(700), true).expect("for many");
        assert!(!turn("10.1.1.1:9").await, "a proxy reads for many");
        drop((held, more, proxy));
        assert!(!turn(one).await, "what was read makes room");
    }

    #[tokio::test]
    async fn a_stream_whose_part_does_not_fit_ends() {
        let budget = budget();
        let parts = stream::repeat_with(|| Ok(Bytes::from(vec![b'x'; 150 * KIB]))).boxed();
        let body = Body::streamed(parts);
        let mut body = budget.count_body(peer("192.0.2.1:9"), body, false).expect("a stream");
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
