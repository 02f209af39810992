//! A follower with a name. A lease ensures that one process at a time holds the name.

use std::{collections::VecDeque, panic::Location};

use super::{Leases, PAUSE, Subscribe, UNFOLLOWED};
use crate::{
    Actor, Change, Code, Error, Millis, Result,
    base::Base,
    db::{Db, args, record, statements},
    events::RecordedEvent,
    jobs::{self, Backoff, FaultLog, Lease},
    plugins::Begin,
    webhooks::{Feed, history::feed},
};

/// Waits after failures of one event, before it is tried again.
const RETRY_BACKOFF: Backoff = Backoff(&[1, 5, 30, 60, LONGEST_WAIT_S]);
const LONGEST_WAIT_S: i64 = 300;
/// Maximum length of a name.
const MAX_NAME: usize = 100;
/// Characters that are kept of a failure's message.
const MAX_WHY: usize = 1000;

/// Follows events under a name: [`Subscribe::named`]. A dropped consumer leaves its name to
/// the next consumer of this process. Other processes get the name when the site closes, or
/// after 30 s.
pub struct Consumer {
    name: String,
    /// Distinguishes the consumer from others of the same name in this process.
    number: u64,
    subscribe: Subscribe,
    /// `None`: the next call of `first` opens it.
    feed: Option<Feed>,
    /// The last event that is done. Empty: none is.
    after: String,
    /// Events read after `after`.
    ahead: VecDeque<RecordedEvent>,
    /// The lease that this process holds.
    lease: Option<Lease>,
    /// The event that `next` returned last. Cleared when the row is read again.
    given: Option<String>,
    /// Whether the next event failed and is not due yet.
    waits: bool,
    has_gap: bool,
    faults: FaultLog,
}

impl Consumer {
    pub(super) async fn open(subscribe: Subscribe, name: &str) -> Result<Self> {
        let is_known = |c: char| matches!(c, 'a'..='z' | '0'..='9' | '_' | '-' | '.');
        if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(is_known) {
            let what = "The name of a consumer is 1 to 100 of a-z, 0-9, _, - and the full stop.";
            return Err(Error::new(Code::BadQuery, what));
        }
        let after = enter(&subscribe.webhooks.0.base, name).await?;
        Ok(Self {
            feed: Some(subscribe.feed_after(&after).await?),
            name: name.to_owned(),
            number: subscribe.webhooks.0.leases.number(),
            subscribe,
            after,
            ahead: VecDeque::new(),
            lease: None,
            given: None,
            waits: false,
            has_gap: false,
            faults: FaultLog::default(),
        })
    }

    /// Whether events before the one that [`next`](Self::next) returned may be missing: they were
    /// erased, or became older than `retention.events_days`, before they were done.
    #[must_use]
    pub fn has_gap(&self) -> bool {
        self.has_gap
    }

    /// Waits for the next event, also while the database is away. Returns the same event again
    /// until [`change`](Self::change) or [`finish`](Self::finish) marks it as done. Returns `None`
    /// when the site is closed. The future may be dropped while it waits.
    pub async fn next(&mut self) -> Option<RecordedEvent> {
        while !self.is_closed() {
            let first = self.first().await;
            if first.is_err() && self.is_closed() {
                break;
            }
            self.faults.note(&self.name, UNFOLLOWED, &first);
            let pause = match first {
                Ok(Some(event)) => return Some(event),
                Ok(None) => self.waits || self.lease.is_none(),
                Err(_) => true,
            };
            match &self.feed {
                Some(feed) if !pause => feed.wait(PAUSE).await,
                _ => tokio::time::sleep(PAUSE).await,
            }
        }
        None
    }

    /// Begins a change that marks the event of [`next`](Self::next) as done. The writes of the
    /// change commit together with that mark, or not at all. Begin the change after slow work, and
    /// commit it within 20 s after `next`: after that another process may take over.
    ///
    /// # Errors
    /// `conflict` before [`next`](Self::next) has returned an event, after the event was marked as
    /// done, and when another process has taken over; as every write.
    #[track_caller]
    pub fn change(&self) -> impl Future<Output = Result<Change>> + Send + use<'_> {
        let (at, begin) = (Location::caller(), self.begin());
        async move { begin?.change_of_task(at).await }
    }

    pub(super) fn begin(&self) -> Result<Begin> {
        self.begin_after(&self.after)
    }

    fn begin_after(&self, after: &str) -> Result<Begin> {
        let (Some(lease), Some(event)) = (self.lease, self.given.clone()) else {
            return Err(Error::new(Code::Conflict, "No event is given out: call next() first."));
        };
        let place = (self.name.clone(), after.to_owned());
        let (webhooks, has_gap) = (self.subscribe.webhooks.clone(), self.has_gap);
        let depth = self.ahead.front().map_or(0, |event| event.depth);
        let begin = Begin::new(self.base(), move || {
            let (webhooks, (name, after), event) = (webhooks.clone(), place.clone(), event.clone());
            Box::pin(async move {
                let mut change = webhooks.0.base.change(Actor::System).await?;
                let now = change.now();
                let lease = webhooks.0.leases.until_closed(lease.renewed(now), now);
                if done(&mut change, &name, lease, [&after, &event], has_gap).await? {
                    return Ok(change);
                }
                let what =
                    format!("The event is done or removed, or another process follows as {name}.");
                Err(Error::new(Code::Conflict, what))
            })
        });
        Ok(begin.for_event(depth))
    }

    /// Marks the event as done, unless a change has already done so.
    ///
    /// # Errors
    /// As [`change`](Self::change) and its commit.
    pub async fn finish(&self) -> Result<()> {
        let row = row(self.base().db(), &self.name).await?;
        let after = row.map_or_else(String::new, |row| row.event);
        if self.given.as_ref() == Some(&after) {
            return Ok(());
        }
        // The event at which the name stood may have been removed, which moves the name.
        self.begin_after(&after)?.change().await?.commit().await
    }

    /// Lets another process, or the next start of this one, take over at once.
    /// [`Cms::close`](crate::Cms::close) does the same for every consumer of the process.
    ///
    /// # Errors
    /// `unavailable`. Another process then takes over when the site closes, or when the lease
    /// ends, after 30 s.
    pub async fn release(self) -> Result<()> {
        // Includes a lease taken by a call that was dropped before it knew.
        let Some(held) = self.leases().of(&self.name, self.number) else { return Ok(()) };
        give_back(self.base(), &self.name, held).await?;
        self.leases().forget(&self.name, self.number);
        Ok(())
    }

    /// Records why the event failed. The event is tried again later. Does nothing when the event
    /// is done or another process holds the name.
    pub(super) async fn fail(&self, why: &str) -> Result<()> {
        let row = row(self.base().db(), &self.name).await?;
        let (Some(row), Some(lease)) = (row, self.lease) else { return Ok(()) };
        let wait = RETRY_BACKOFF.wait_ms(row.failures, i64::MAX).unwrap_or_default();
        let why: String = why.chars().take(MAX_WHY).collect();
        let mut change = self.base().change(Actor::System).await?;
        let failure = (row.failures + 1, why.as_str(), change.now() + wait);
        fail(&mut change, &self.name, lease, &self.after, failure).await?;
        change.commit().await
    }

    pub(super) fn is_closed(&self) -> bool {
        self.subscribe.is_closed() || self.leases().is_closed()
    }

    fn base(&self) -> &Base {
        &self.subscribe.webhooks.0.base
    }

    fn leases(&self) -> &Leases {
        &self.subscribe.webhooks.0.leases
    }

    /// The next event, if this process may handle it now.
    pub(super) async fn first(&mut self) -> Result<Option<RecordedEvent>> {
        if !self.hold().await? {
            return Ok(None);
        }
        if self.ahead.is_empty() {
            let mut feed = match self.feed.take() {
                Some(feed) if !feed.is_over() => feed,
                _ => self.subscribe.feed_after(&self.after).await?,
            };
            let read = feed.next().await;
            let is_over = feed.is_over();
            self.feed = Some(feed);
            // The next call continues after the event that the database names.
            if is_over {
                return Ok(None);
            }
            self.ahead.extend(read?);
        }
        let first = self.ahead.front().cloned();
        self.given = first.as_ref().map(|event| event.id.clone());
        Ok(first)
    }

    /// Whether this process holds the name and may try the next event. Reads the row when it may
    /// differ from what this process knows.
    async fn hold(&mut self) -> Result<bool> {
        let now = self.base().clock().now();
        let is_fresh = self.lease.is_some_and(|lease| !lease.is_aging(now));
        let is_read = self.feed.as_ref().is_some_and(|feed| !feed.is_over());
        if is_fresh && is_read && self.given.is_none() && !self.waits {
            return Ok(true);
        }
        let Some(row) = row(self.base().db(), &self.name).await? else {
            return Err(Error::internal("the row of a consumer is gone"));
        };
        if row.has_gap && !self.has_gap {
            tracing::warn!(name = self.name, "events were removed before they were handled");
        }
        self.has_gap = row.has_gap;
        self.go_on_after(row.event);
        let held = self.lease.filter(|lease| lease.token == row.lease.token);
        let is_free =
            row.lease.is_free(now) || self.leases().is_left(&self.name, self.number, row.lease);
        self.lease = match held {
            Some(_) if !row.lease.is_aging(now) => Some(row.lease),
            Some(_) => self.renew(row.lease.renewed(now)).await?,
            None if is_free => self.take(row.lease, row.lease.next(now)).await?,
            None => None,
        };
        self.waits = !jobs::is_due(row.next_try_at, LONGEST_WAIT_S * 1000, now);
        Ok(self.lease.is_some() && !self.waits)
    }

    fn go_on_after(&mut self, event: String) {
        let given = self.given.take();
        if given.as_ref() == Some(&event) {
            self.ahead.pop_front();
        } else if given.is_some() || self.after != event {
            // The event given out may have been removed.
            self.ahead.clear();
            self.feed = None;
        }
        self.after = event;
    }

    /// Takes the lease. `None`: another process was faster, or the site closes.
    async fn take(&self, old: Lease, lease: Lease) -> Result<Option<Lease>> {
        let mut change = self.base().change(Actor::System).await?;
        let held = take(&mut change, &self.name, old, lease).await?;
        // Entered before the commit, because the call may be dropped during the commit.
        if !held || !self.leases().enter(&self.name, self.number, (lease, false)) {
            return Ok(None);
        }
        change.commit().await?;
        if self.leases().enter(&self.name, self.number, (lease, true)) {
            return Ok(Some(lease));
        }
        // The site closed during the commit and did not see this lease.
        give_back(self.base(), &self.name, (lease, true)).await?;
        Ok(None)
    }

    /// Renews the lease. `None`: the lease is lost. Moves the name past events that the pattern
    /// does not match, so that retention does not remove the event at which a rare name stands.
    async fn renew(&mut self, lease: Lease) -> Result<Option<Lease>> {
        let passed = match &self.feed {
            Some(feed) if self.ahead.is_empty() => feed.read_up_to().await?,
            _ => None,
        };
        let mut change = self.base().change(Actor::System).await?;
        let lease = self.leases().until_closed(lease, change.now());
        let held = renew(&mut change, &self.name, lease).await?;
        let moved = match &passed {
            Some(passed) if held => pass(&mut change, &self.name, lease, passed).await?,
            _ => false,
        };
        change.commit().await?;
        if let (true, Some(passed)) = (moved, passed) {
            self.after = passed;
        }
        Ok(held.then_some(lease))
    }
}

impl Drop for Consumer {
    fn drop(&mut self) {
        self.leases().leave(&self.name, self.number);
    }
}

/// Ends a lease. A lease whose commit was not seen must match exactly, because after a rollback
/// another process may have its token.
pub(super) async fn give_back(
    base: &Base,
    name: &str,
    (lease, is_sure): (Lease, bool),
) -> Result<()> {
    let mut change = base.change(Actor::System).await?;
    let ended = Lease { until: change.now(), ..lease };
    let given = match is_sure {
        true => renew(&mut change, name, ended).await,
        false => take(&mut change, name, lease, ended).await,
    };
    given?;
    change.commit().await
}

/// Adds a new name, which begins with the events from now on. Returns the last event that is done.
pub(super) async fn enter(base: &Base, name: &str) -> Result<String> {
    if let Some(row) = row(base.db(), name).await? {
        return Ok(row.event);
    }
    let (settled, _) = feed::sql::settled(base.db()).await?;
    let mut change = base.change(Actor::System).await?;
    // A new name stands at the last event up to this row.
    change.run(ADD, args![name, settled]).await?;
    change.commit().await?;
    let row = row(base.db(), name).await?;
    Ok(row.map_or_else(String::new, |row| row.event))
}

record! {
    /// A consumer as it is stored.
    #[derive(Clone, Debug)]
    struct Row: row_columns {
        /// The last event that is done.
        event: String = "event_id",
        /// Whether events after it were removed.
        has_gap: bool = "has_gap",
        lease: Lease = "lease_until" + "lease_token" => Lease::stored,
        failures: i64 = "failures",
        next_try_at: Millis = "next_try_at",
    }
}

statements! {
    ROW = concat!("select ", row_columns!(), " from cms_event_consumers where name = $1");
    ADD = "insert into cms_event_consumers (name, event_id) values ($1, coalesce((select e.id \
           from cms_events e where e.rowid <= $2 order by e.rowid desc, e.place desc, e.id desc \
           limit 1), '')) on conflict (name) do nothing";
    /// Compares the end too: the token alone does not show that the owner has renewed the lease.
    TAKE = "update cms_event_consumers set lease_token = $4, lease_until = $5 \
            where name = $1 and lease_token = $2 and lease_until = $3";
    RENEW = "update cms_event_consumers set lease_until = $3 where name = $1 and lease_token = $2";
    /// A name cannot stand at an event that was erased in the meantime.
    PASS = "update cms_event_consumers set event_id = $3 where name = $1 and lease_token = $2 \
            and exists (select 1 from cms_events e where e.id = $3)";
    /// Keeps a gap that the consumer has not shown.
    DONE = "update cms_event_consumers set event_id = $4, has_gap = (has_gap and not $5), \
            failures = 0, error_message = null, next_try_at = 0 \
            where name = $1 and lease_token = $2 and event_id = $3 \
            and exists (select 1 from cms_events e where e.id = $4)";
    FAIL = "update cms_event_consumers set failures = $4, error_message = $5, next_try_at = $6 \
            where name = $1 and lease_token = $2 and event_id = $3";
    FAILING = "select name, failures, error_message from cms_event_consumers \
               where failures > 0 and lease_until >= $1 order by name limit 50";
}

async fn row(db: &Db, name: &str) -> Result<Option<Row>> {
    db.optional(ROW, args![name]).await
}

/// Takes the lease. False: another process was faster.
async fn take(change: &mut Change, name: &str, old: Lease, lease: Lease) -> Result<bool> {
    let args = args![name, old.token, old.until, lease.token, lease.until];
    Ok(change.run(TAKE, args).await? > 0)
}

/// Renews or ends the lease. Returns false when the lease is lost. Locks the row, so that on
/// PostgreSQL later statements of the change notice every removal of an event.
async fn renew(change: &mut Change, name: &str, lease: Lease) -> Result<bool> {
    Ok(change.run(RENEW, args![name, lease.token, lease.until]).await? > 0)
}

/// Moves the name to an event up to which nothing is left to do. False: the event is not there.
async fn pass(change: &mut Change, name: &str, lease: Lease, event: &str) -> Result<bool> {
    Ok(change.run(PASS, args![name, lease.token, event]).await? > 0)
}

/// Records that the event after another one is done, and whether a gap before it was shown. False:
/// the lease is lost, or the event is already done or removed.
async fn done(
    change: &mut Change,
    name: &str,
    lease: Lease,
    [after, event]: [&str; 2],
    shown: bool,
) -> Result<bool> {
    Ok(renew(change, name, lease).await?
        && change.run(DONE, args![name, lease.token, after, event, shown]).await? > 0)
}

/// Records that the event after this one failed.
async fn fail(
    change: &mut Change,
    name: &str,
    lease: Lease,
    after: &str,
    (failures, why, next_try_at): (i64, &str, Millis),
) -> Result<()> {
    let args = args![name, lease.token, after, failures, why, next_try_at];
    change.run(FAIL, args).await.map(drop)
}

/// The names whose next event fails, each with its failures in a row and the reason. Only names
/// that a process has followed since then are included.
pub(super) async fn failing(db: &Db, since: Millis) -> Result<Vec<(String, i64, Option<String>)>> {
    db.all(FAILING, args![since]).await
}
