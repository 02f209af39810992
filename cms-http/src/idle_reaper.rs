//! Ends idle connections: those whose request does not become complete, whose reply is not
//! read, or that send no request for long. When places run out, the connection that has been idle
//! for the longest ends.
//!
//! One task checks all connections at intervals. A timer for each request, as in hyper, would
//! cost a visible share of the time of a reply from memory.

use std::{
    cmp::Reverse,
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering},
    },
    task::{Poll, Waker},
    time::Duration,
};

use futures_util::{StreamExt as _, stream, task::AtomicWaker};
use tokio::{task::AbortHandle, time::Instant};

use crate::{body::Parts, budget::Network, connection_limits::ConnectionPermit};

/// The state of a connection, and the order to end it.
#[derive(Debug, Default)]
pub(crate) struct Activity {
    written: AtomicU64,
    /// Bytes that came in or went out.
    moved: AtomicU64,
    answering: AtomicBool,
    /// Some written bytes are not flushed yet.
    unsent: AtomicBool,
    /// Some of a request's head has come.
    head: AtomicBool,
    /// At least one request was complete.
    served: AtomicBool,
    /// The body of the latest request has not ended yet.
    unread: AtomicBool,
    /// The next part of that body is waited for.
    awaited: AtomicBool,
    /// The reply under way has no length and is not yet made to its end: only the end of the
    /// connection tells its client that it is over (HTTP/1.0).
    open_ended: AtomicBool,
    order: AtomicU8,
    task: AtomicWaker,
}

/// Why a connection must end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Order {
    /// Another connection needs the place. A reply under way may be finished.
    Leave = 1,
    /// The connection made no progress.
    Stuck = 2,
}

impl Activity {
    /// Notes bytes that went out. Incoming bytes are no progress: a head may never end.
    pub(crate) fn wrote(&self, bytes: usize) {
        self.moved.fetch_add(bytes as u64, Ordering::Relaxed);
        self.written.fetch_add(1, Ordering::Relaxed);
        self.unsent.store(true, Ordering::Relaxed);
    }

    /// Notes that everything written was flushed.
    pub(crate) fn sent(&self) {
        self.unsent.store(false, Ordering::Relaxed);
    }

    /// Notes bytes that came in.
    pub(crate) fn read(&self, bytes: usize) {
        self.moved.fetch_add(bytes as u64, Ordering::Relaxed);
        if !self.answering.load(Ordering::Relaxed) {
            self.head.store(true, Ordering::Relaxed);
        }
    }

    /// Notes a complete request.
    pub(crate) fn begin(&self) {
        self.served.store(true, Ordering::Relaxed);
        self.set_answering(true);
    }

    /// Notes whether a request is being answered; answering has its own time limits.
    pub(crate) fn set_answering(&self, answering: bool) {
        self.answering.store(answering, Ordering::Relaxed);
        self.head.store(false, Ordering::Relaxed);
    }

    /// Whether the client still has to send some of the latest request's body.
    pub(crate) fn set_unread(&self, unread: bool) {
        self.unread.store(unread, Ordering::Relaxed);
    }

    /// Whether the next part of a body is waited for.
    pub(crate) fn set_awaited(&self, awaited: bool) {
        self.awaited.store(awaited, Ordering::Relaxed);
    }

    /// Notes whether only the end of the connection ends the reply under way.
    pub(crate) fn set_open_ended(&self, open_ended: bool) {
        self.open_ended.store(open_ended, Ordering::Relaxed);
    }

    pub(crate) fn is_open_ended(&self) -> bool {
        self.open_ended.load(Ordering::Relaxed)
    }

    /// Whether the client has to act: send more of a body, or read a reply.
    fn waits_for_client(&self) -> bool {
        self.awaited.load(Ordering::Relaxed) || self.unsent.load(Ordering::Relaxed)
    }

    pub(crate) fn is_unread(&self) -> bool {
        self.unread.load(Ordering::Relaxed)
    }

    /// Whether any request was complete.
    pub(crate) fn has_served(&self) -> bool {
        self.served.load(Ordering::Relaxed)
    }

    /// Whether a head has begun and is not complete.
    pub(crate) fn is_in_head(&self) -> bool {
        self.head.load(Ordering::Relaxed)
    }

    /// Nothing is being answered or sent.
    fn is_idle(&self) -> bool {
        !self.answering.load(Ordering::Relaxed) && !self.unsent.load(Ordering::Relaxed)
    }

    fn give(&self, order: Order) {
        self.order.fetch_max(order as u8, Ordering::Relaxed);
        self.task.wake();
    }

    /// Registers the task that an order wakes.
    pub(crate) fn wakes(&self, task: &Waker) {
        self.task.register(task);
    }

    /// The order that the connection must obey now.
    pub(crate) fn order(&self) -> Option<Order> {
        match self.order.load(Ordering::Relaxed) {
            1 if self.is_idle() => Some(Order::Leave),
            2 if !self.answering.load(Ordering::Relaxed) => Some(Order::Stuck),
            _ => None,
        }
    }
}

/// A streamed reply. The connection cannot be stuck while a part is being made, but it can be
/// while the client does not read.
pub(crate) fn made_by(activity: Arc<Activity>, mut parts: Parts) -> Parts {
    let poll = move |context: &mut std::task::Context<'_>| {
        let polled = parts.as_mut().poll_next(context);
        activity.set_answering(polled.is_pending());
        if let Poll::Ready(None) = polled {
            activity.set_open_ended(false);
        }
        polled
    };
    stream::poll_fn(poll).boxed()
}

struct Watched {
    activity: Arc<Activity>,
    connection: AbortHandle,
    network: Network,
    /// Weak, so that the place of an ended connection is free at once, not at the next check.
    slot: Weak<ConnectionPermit>,
    written: u64,
    in_head: bool,
    since: Instant,
    /// Since when the client is waited for, and `moved` at that time.
    slow: Option<(Instant, u64)>,
    /// When the connection was ordered to end because it was stuck.
    ordered_at: Option<Instant>,
}

/// The connections of one server.
#[derive(Clone, Default)]
pub(crate) struct Watch(Arc<Mutex<Vec<Watched>>>);

/// How long a stuck connection may take to end by itself.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(3);
/// A client that is waited for this long may lose its place if it moves less than
/// `SLOW_BYTES` a second.
const SLOW_TIME: Duration = Duration::from_secs(5);
const SLOW_BYTES: u64 = 16 << 10;

impl Watch {
    pub(crate) fn add(
        &self,
        activity: Arc<Activity>,
        connection: AbortHandle,
        slot: &Arc<ConnectionPermit>,
    ) {
        let watched = Watched::new(activity, connection, slot, Instant::now());
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(watched);
    }

    /// Orders connections to end after `limit` without progress, or up to a quarter later. Never
    /// returns: its task is aborted.
    pub(crate) async fn run(self, limit: Duration) {
        let mut ticks = tokio::time::interval(
            (limit / 4).clamp(Duration::from_millis(10), Duration::from_secs(1)),
        );
        loop {
            let now = ticks.tick().await;
            let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            all.retain_mut(|watched| {
                watched.check(now, limit);
                !watched.connection.is_finished()
            });
        }
    }

    /// Ends the connection that has been idle for the longest, of this network if one is given. Its
    /// place is free at once. Returns false when none is idle.
    pub(crate) fn dismiss(&self, network: Network) -> bool {
        let now = Instant::now();
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter_mut().for_each(|watched| watched.record_progress(now));
        let idlest = all
            .iter()
            .filter(|watched| network.is_none() || watched.network == network)
            .filter(|watched| watched.activity.is_idle())
            .filter_map(|watched| Some((watched, watched.slot.upgrade()?)))
            .filter(|(_, slot)| !slot.is_given_back())
            .min_by_key(|(watched, _)| watched.since);
        let Some((idlest, slot)) = idlest else { return false };
        slot.give_back();
        idlest.activity.give(Order::Leave);
        true
    }

    /// Ends the connection whose client has been slow for the longest, of the network with the
    /// most connections, so that slow clients of a few networks do not keep everybody else out.
    pub(crate) fn displace(&self) {
        let now = Instant::now();
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let held = all.iter().filter_map(|watched| Some((watched, watched.slot.upgrade()?)));
        let held: Vec<_> = held.filter(|(_, slot)| !slot.is_given_back()).collect();
        let mut places: HashMap<Network, usize> = HashMap::new();
        // Connections of proxies have no network, and come last.
        for (watched, _) in held.iter().filter(|(watched, _)| watched.network.is_some()) {
            *places.entry(watched.network).or_default() += 1;
        }
        let places = |network| places.get(network).copied().unwrap_or_default();
        let slow = held.iter().filter_map(|(watched, slot)| {
            Some((places(&watched.network), watched.slow_since(now)?, watched, slot))
        });
        let slowest = slow.max_by_key(|(places, since, ..)| (*places, Reverse(*since)));
        if let Some((.., watched, slot)) = slowest {
            tracing::debug!("a connection that waits for its client leaves to others");
            slot.give_back();
            watched.connection.abort();
        }
    }
}

impl Watched {
    fn new(
        activity: Arc<Activity>,
        connection: AbortHandle,
        slot: &Arc<ConnectionPermit>,
        since: Instant,
    ) -> Self {
        let network = slot.network();
        let slot = Arc::downgrade(slot);
        let (written, in_head) = (0, false);
        let (slow, ordered_at) = (None, None);
        Self { activity, connection, network, slot, written, in_head, since, slow, ordered_at }
    }

    /// Notes progress since the last check: bytes that went out, or a head that has begun.
    fn record_progress(&mut self, now: Instant) {
        let (written, in_head) =
            (self.activity.written.load(Ordering::Relaxed), self.activity.is_in_head());
        let is_answering = self.activity.answering.load(Ordering::Relaxed);
        if written != self.written || is_answering || (in_head && !self.in_head) {
            self.since = now;
        }
        (self.written, self.in_head) = (written, in_head);
        let moved = self.activity.moved.load(Ordering::Relaxed);
        self.slow = match self.slow {
            _ if !self.activity.waits_for_client() => None,
            Some((begun, before)) if is_slow(moved - before, now - begun) => Some((begun, before)),
            // A client that was fast enough is measured anew.
            Some((begun, before)) if now - begun < SLOW_TIME => Some((begun, before)),
            _ => Some((now, moved)),
        };
    }

    /// Since when its client has been too slow.
    fn slow_since(&self, now: Instant) -> Option<Instant> {
        let (begun, before) = self.slow?;
        let moved = self.activity.moved.load(Ordering::Relaxed) - before;
        let is_due = now.saturating_duration_since(begun) >= SLOW_TIME;
        (is_due && self.activity.waits_for_client() && is_slow(moved, now - begun)).then_some(begun)
    }

    /// Orders a stuck connection to end, and aborts it if it does not.
    fn check(&mut self, now: Instant, limit: Duration) {
        self.record_progress(now);
        match self.ordered_at {
            Some(at) if now.saturating_duration_since(at) >= CLOSE_TIMEOUT => {
                self.connection.abort();
            }
            None if now.saturating_duration_since(self.since) >= limit => {
                tracing::debug!("a connection without activity is ended");
                self.activity.give(Order::Stuck);
                self.ordered_at = Some(now);
            }
            _ => {}
        }
    }
}

fn is_slow(bytes: u64, time: Duration) -> bool {
    bytes < SLOW_BYTES * time.as_secs()
}

#[cfg(test)]
mod tests {
    use cms_core::Error;
    use futures_util::FutureExt as _;

    use super::*;
    use crate::connection_limits::ConnectionLimits;

    fn slot() -> Arc<ConnectionPermit> {
        let http = cms_core::settings::Settings::default().http;
        let limits = ConnectionLimits::new(&http, 8, &[]);
        let network = limits.network("192.0.2.1:9".parse().expect("an address"));
        Arc::new(limits.try_take(network).expect("a slot"))
    }

    #[tokio::test]
    async fn only_what_stands_still_is_ended() {
        let (activity, connection) =
            (Arc::new(Activity::default()), tokio::spawn(std::future::pending::<()>()));
        let start = Instant::now();
        let mut watched = Watched::new(activity.clone(), connection.abort_handle(), &slot(), start);
        let mut stays = |second| {
            watched.check(start + Duration::from_secs(second), Duration::from_secs(8));
            watched.ordered_at.is_none()
        };
        assert!(stays(7), "nothing yet, in time");
        activity.wrote(1);
        assert!(stays(14), "a reply since");
        activity.begin();
        assert!(stays(40), "it is being answered, which ends by itself");
        activity.set_answering(false);
        assert!(stays(47));
        activity.read(1);
        assert!(stays(49), "a head has begun");
        activity.read(1);
        assert!(stays(56), "in time");
        assert!(!stays(57), "the head grows and does not end");
        assert_eq!(activity.order(), Some(Order::Stuck));
        watched.check(start + Duration::from_secs(60), Duration::from_secs(8));
        assert!(connection.await.is_err_and(|error| error.is_cancelled()), "it did not obey");
    }

    #[tokio::test]
    async fn the_idlest_connection_leaves() {
        let (watch, now) = (Watch::default(), Instant::now());
        let task = tokio::spawn(std::future::pending::<()>());
        let mut slots: Vec<Arc<ConnectionPermit>> = Vec::new();
        let mut add = |age: u64| {
            let (activity, slot) = (Arc::new(Activity::default()), slot());
            let since = now.checked_sub(Duration::from_secs(age)).expect("a moment");
            let watched = Watched::new(activity.clone(), task.abort_handle(), &slot, since);
            watch.0.lock().expect("not poisoned").push(watched);
            slots.push(slot);
            activity
        };
        let (young, oldest, busy, old) = (add(1), add(9), add(10), add(5));
        let ended = add(20);
        slots.pop();
        busy.begin();
        let orders = || [&young, &oldest, &busy, &old].map(|activity| activity.order().is_some());
        assert!(watch.dismiss(None) && orders() == [false, true, false, false]);
        assert!(watch.dismiss(None) && orders() == [false, true, false, true]);
        young.wrote(1);
        assert!(!watch.dismiss(None), "one answers, one sends");
        assert!(!watch.dismiss(Some(1)), "nobody of that network");
        young.sent();
        assert!(watch.dismiss(None) && orders() == [true, true, false, true]);
        assert!(ended.order().is_none(), "it holds no slot");
        task.abort();
    }

    #[tokio::test]
    async fn slow_clients_of_the_largest_network_leave_to_others() {
        let (watch, now) = (Watch::default(), Instant::now());
        let http = cms_core::settings::Settings::default().http;
        let limits = ConnectionLimits::new(&http, 8, &[]);
        let mut slots = Vec::new();
        let mut add = |address: &str, age: u64| {
            let network = limits.network(address.parse().expect("an address"));
            let slot = Arc::new(limits.try_take(network).expect("a slot"));
            let (activity, task) =
                (Arc::new(Activity::default()), tokio::spawn(std::future::pending::<()>()));
            let since = now.checked_sub(Duration::from_secs(age)).expect("a moment");
            let mut watched = Watched::new(activity.clone(), task.abort_handle(), &slot, since);
            watched.slow = Some((since, 0));
            watch.0.lock().expect("not poisoned").push(watched);
            slots.push(slot);
            (activity, task)
        };
        let alone = add("192.0.2.1:1", 60);
        let (old, older, young) =
            (add("198.51.100.1:1", 9), add("198.51.100.1:2", 20), add("198.51.100.1:3", 1));
        watch.displace();
        tokio::task::yield_now().await;
        let is_ended =
            |(_, task): &(Arc<Activity>, tokio::task::JoinHandle<()>)| task.is_finished();
        let ended = || [&alone, &old, &older, &young].map(is_ended);
        assert_eq!(ended(), [false; 4], "none waits for its client");
        alone.0.wrote(1);
        for (activity, _) in [&old, &older, &young] {
            activity.begin();
            activity.set_awaited(true);
        }
        for expected in [
            [false, false, true, false],
            [false, true, true, false],
            [true, true, true, false],
            [true, true, true, false],
        ] {
            watch.displace();
            tokio::task::yield_now().await;
            assert_eq!(ended(), expected);
        }
        young.1.abort();
    }

    #[tokio::test]
    async fn a_client_is_slow_once_it_moves_little_for_a_while() {
        let (activity, connection) =
            (Arc::new(Activity::default()), tokio::spawn(std::future::pending::<()>()));
        let start = Instant::now();
        let mut watched = Watched::new(activity.clone(), connection.abort_handle(), &slot(), start);
        activity.set_awaited(true);
        for (second, bytes, is_slow) in [
            (0, 0, false),
            (4, 9, false),
            (6, 9, true),
            (8, 1 << 20, false),
            (9, 1 << 20, false),
            (14, 1 << 20, false),
            (20, 90, true),
        ] {
            activity.read(bytes);
            let now = start + Duration::from_secs(second);
            watched.record_progress(now);
            assert_eq!(watched.slow_since(now).is_some(), is_slow, "at {second} s");
        }
        activity.set_awaited(false);
        assert!(watched.slow_since(start + Duration::from_secs(30)).is_none(), "it is answered");
        connection.abort();
    }

    #[tokio::test]
    async fn only_a_part_that_is_being_made_excuses_a_stream() {
        let (activity, (sender, receiver)) =
            (Arc::new(Activity::default()), tokio::sync::oneshot::channel::<()>());
        let part = async { receiver.await.map(|()| bytes::Bytes::new()).map_err(Error::internal) };
        let mut parts = made_by(activity.clone(), stream::once(part).boxed());
        let is_answering = || activity.answering.load(Ordering::Relaxed);
        activity.set_open_ended(true);
        assert!(parts.next().now_or_never().is_none() && is_answering());
        sender.send(()).expect("a receiver");
        assert!(parts.next().await.is_some_and(|part| part.is_ok()) && !is_answering());
        assert!(activity.is_open_ended(), "it may still fail");
        assert!(parts.next().await.is_none() && !is_answering() && !activity.is_open_ended());
    }
}
