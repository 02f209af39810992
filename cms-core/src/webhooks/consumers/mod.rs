//! Events for code of this process: live, or from where a named consumer stands.
//!
//! ```text
//! mod        cms.events(): what to follow, events as they happen; the names of this process
//! consumer   a follower with a name: the database keeps where it stands
//! handled    calls the handlers of plugins
//! ```

pub(super) mod consumer;
mod handled;

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::{
    StreamExt as _,
    future::join_all,
    stream::{self, BoxStream},
};

pub use consumer::Consumer;
pub(crate) use handled::{call_handlers, enter_handlers, step_handlers};

use super::{Feed, Inner, Webhooks};
use crate::{Millis, Result, events::RecordedEvent, jobs::Lease};

/// Longest time that news may go unnoticed, and the pause after a failure.
const PAUSE: Duration = Duration::from_millis(500);
const UNFOLLOWED: &str = "cannot follow events; trying again";
/// A name that no process has followed for this long is given up, for example after the program
/// was changed.
const GIVEN_UP_MS: Millis = 86_400_000;

/// The events of a site, for code of this process: `cms.events()`.
///
/// [`Change::emit`](crate::Change::emit) raises one.
#[derive(Clone)]
pub struct Events(Webhooks);

/// What to follow, and how: [`Events::subscribe`].
#[must_use = "nothing is followed before `live` or `named`"]
pub struct Subscribe {
    webhooks: Webhooks,
    pattern: String,
}

impl Events {
    pub(crate) fn new(webhooks: &Webhooks) -> Self {
        Self(webhooks.clone())
    }

    /// Follows the events with this name, or with a name that begins with the text before `*`:
    /// `item.orders.*`, `*`. Events of all processes of the site are seen: those of this process at
    /// once, those of others within half a second.
    ///
    /// ```no_run
    /// # async fn run(cms: cms_core::Cms) -> cms_core::Result<()> {
    /// let mut orders = cms.events().subscribe("item.orders.*").named("index").await?;
    /// while let Some(event) = orders.next().await {
    ///     println!("{} {}", event.event, event.data);
    ///     let mut change = orders.change().await?;
    ///     // Write what follows from the event: it commits together with the mark that the event
    ///     // is done.
    ///     change.commit().await?;
    /// }
    /// # Ok(()) }
    /// ```
    pub fn subscribe(&self, pattern: &str) -> Subscribe {
        Subscribe { webhooks: self.0.clone(), pattern: pattern.to_owned() }
    }

    /// The consumers whose next event failed, each with its failures in a row and the reason.
    pub(crate) async fn failing(&self) -> Result<Vec<(String, i64, Option<String>)>> {
        let base = &self.0.0.base;
        consumer::failing(base.db(), base.clock().now() - GIVEN_UP_MS).await
    }

    /// Ends the consumers of this process and gives their names back: another process, or the next
    /// start of this one, takes over at once.
    pub(crate) async fn close(&self) -> Result<()> {
        let Inner { base, leases, .. } = &*self.0.0;
        // An open change of the program may lock one name; the others do not wait for it.
        let given = leases.close().into_iter().map(|(name, held)| async move {
            let given = consumer::give_back(base, &name, held).await;
            given.inspect_err(|error| tracing::warn!(name, ?error, "a name was not given back"))
        });
        join_all(given).await.into_iter().collect()
    }
}

impl Subscribe {
    /// Returns the events from now on. The stream waits while the database is away, and ends when
    /// the site is closed. The database stores no position for the stream, so events that happen
    /// while the program is down are not seen.
    ///
    /// # Errors
    /// `bad_query` for a pattern with `*` anywhere but at the end, `unavailable`.
    pub async fn live(self) -> Result<BoxStream<'static, RecordedEvent>> {
        let feed = self.webhooks.feed(Some(&self.pattern), None).await?;
        let live = Live { subscribe: self, feed, last: None, ahead: VecDeque::new() };
        let events = stream::unfold(live, |mut live| async move {
            while !live.subscribe.is_closed() {
                match live.next().await {
                    Ok(Some(event)) => return Some((event, live)),
                    Ok(None) => live.feed.wait(PAUSE).await,
                    Err(error) => {
                        tracing::debug!(%error, "cannot follow events; trying again");
                        tokio::time::sleep(PAUSE).await;
                    }
                }
            }
            None
        });
        Ok(events.boxed())
    }

    /// Follows events under a name and gives each event at least once. The database keeps where
    /// the name stands, so a restart continues there.
    ///
    /// A new name begins with the events from now on. On PostgreSQL it may also get events
    /// committed shortly before, while an older change was open. One process at a time gets the
    /// events of a name. Another takes over at once after [`Consumer::release`] and
    /// [`Cms::close`](crate::Cms::close), and 30 s after the process crashes or hangs.
    ///
    /// # Errors
    /// `bad_query` for a pattern with `*` anywhere but at the end, or a name that is not 1 to 100
    /// of `a-z`, `0-9`, `_`, `-` and `.`; `unavailable`.
    pub async fn named(self, name: &str) -> Result<Consumer> {
        Consumer::open(self, name).await
    }

    async fn feed_after(&self, id: &str) -> Result<Feed> {
        self.webhooks.feed(Some(&self.pattern), Some(id)).await
    }

    fn is_closed(&self) -> bool {
        self.webhooks.0.base.db().is_closed()
    }
}

/// Events as they happen.
struct Live {
    subscribe: Subscribe,
    feed: Feed,
    /// The last event that was read.
    last: Option<String>,
    /// Events that were read and not given out yet.
    ahead: VecDeque<RecordedEvent>,
}

impl Live {
    async fn next(&mut self) -> Result<Option<RecordedEvent>> {
        if self.ahead.is_empty() {
            if self.feed.is_over() {
                self.reopen().await?;
            }
            self.ahead.extend(self.feed.next().await?);
            self.last = self.ahead.back().map(|event| event.id.clone()).or(self.last.take());
        }
        Ok(self.ahead.pop_front())
    }

    /// Continues after the last event. If that event was removed, continues with the events from
    /// now on. Others may be missed then, but earlier events must not come again.
    async fn reopen(&mut self) -> Result<()> {
        let after = match &self.last {
            Some(last) => Some(self.subscribe.feed_after(last).await?),
            None => None,
        };
        self.feed = match after.filter(|feed| !feed.has_gap()) {
            Some(feed) => feed,
            None => self.subscribe.webhooks.feed(Some(&self.subscribe.pattern), None).await?,
        };
        Ok(())
    }
}

/// The leases of this process, by name.
#[derive(Default)]
pub(super) struct Leases(Mutex<All>);

#[derive(Default)]
struct All {
    /// The number of the last consumer.
    last: u64,
    held: BTreeMap<String, Held>,
    is_closed: bool,
}

struct Held {
    /// The number of the consumer; `None`: the consumer was dropped.
    by: Option<u64>,
    /// The lease as the consumer took it.
    lease: Lease,
    /// Whether the consumer saw the commit of the lease.
    is_sure: bool,
}

impl Leases {
    /// A number for a new consumer.
    fn number(&self) -> u64 {
        let mut all = self.all();
        all.last += 1;
        all.last
    }

    /// Records the lease that a consumer takes, and whether that is committed. False:
    /// the site closes.
    fn enter(&self, name: &str, by: u64, (lease, is_sure): (Lease, bool)) -> bool {
        let mut all = self.all();
        if !all.is_closed {
            all.held.insert(name.to_owned(), Held { by: Some(by), lease, is_sure });
        }
        !all.is_closed
    }

    /// The lease that a consumer has taken, and whether the consumer saw its commit.
    fn of(&self, name: &str, by: u64) -> Option<(Lease, bool)> {
        let all = self.all();
        let held = all.held.get(name).filter(|held| held.by == Some(by))?;
        Some((held.lease, held.is_sure))
    }

    /// Forgets the lease that a consumer has given back.
    fn forget(&self, name: &str, by: u64) {
        let mut all = self.all();
        if all.held.get(name).is_some_and(|held| held.by == Some(by)) {
            all.held.remove(name);
        }
    }

    /// Notes that a consumer was dropped. Its lease may still run.
    fn leave(&self, name: &str, by: u64) {
        let mut all = self.all();
        if let Some(held) = all.held.get_mut(name).filter(|held| held.by == Some(by)) {
            held.by = None;
        }
    }

    /// Whether a consumer may take a lease that has not ended. It may if the holder was dropped in
    /// this process, or if the lease is the consumer's own and its call was dropped before it saw
    /// the commit.
    fn is_left(&self, name: &str, by: u64, stored: Lease) -> bool {
        self.all().held.get(name).is_some_and(|held| match held.by {
            None if held.is_sure => held.lease.token == stored.token,
            // After a rollback another process may have the token.
            None => held.lease == stored,
            Some(holder) => holder == by && held.lease == stored,
        })
    }

    /// The lease to write. Once the site closes, the lease ends at once.
    fn until_closed(&self, lease: Lease, now: Millis) -> Lease {
        if self.is_closed() { Lease { until: now, ..lease } } else { lease }
    }

    fn is_closed(&self) -> bool {
        self.all().is_closed
    }

    /// Stops all leases from being taken or renewed. Returns the held leases by name, each with
    /// whether its commit was seen.
    fn close(&self) -> BTreeMap<String, (Lease, bool)> {
        let mut all = self.all();
        all.is_closed = true;
        let held = std::mem::take(&mut all.held);
        held.into_iter().map(|(name, held)| (name, (held.lease, held.is_sure))).collect()
    }

    fn all(&self) -> MutexGuard<'_, All> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_whose_commit_nobody_saw_must_be_the_very_same() {
        let (leases, taken) = (Leases::default(), Lease { until: 30, token: 7 });
        let later = Lease { until: 31, ..taken };
        for is_sure in [false, true] {
            assert!(leases.enter("index", 1, (taken, is_sure)));
            leases.leave("index", 1);
            assert!(leases.is_left("index", 2, taken));
            assert_eq!(leases.is_left("index", 2, later), is_sure, "renewed, or another's");
        }
        assert_eq!(leases.close()["index"], (taken, true));
        assert!(!leases.enter("index", 2, (taken, true)), "the site closes");
    }
}
