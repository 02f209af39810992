//! The worker: claims, sends, settles. Every step returns what happened; only [`Worker::run`]
//! sleeps.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::FutureExt as _;
use tokio::{
    sync::watch,
    task::{JoinError, JoinSet},
};
use tracing::Instrument;

use super::{
    bodies::Bodies,
    claim::{claim, give_back},
    claimed::{ClaimedJob, Ended, LANE_ATTEMPTS, Moment, Settled},
    local_faults::LocalFaults,
    prefetch::Prefetch,
    request,
    settle::settle,
    sql::queue,
};
use crate::{
    Actor, Descriptors, Result,
    db::watched,
    jobs::{self, Until},
    outbound::Attempt,
    webhooks::{
        State,
        subscriptions::{CLAIMS, TABLE, sql as subscriptions},
    },
};

/// How often the queue is read without a wake-up: retries fall due by time alone.
const POLL: Duration = Duration::from_millis(250);
/// Finished attempts that share one transaction at most.
const BATCH: usize = 256;
/// How long a finished attempt, or an event while attempts are under way, waits for others to share
/// its transaction.
const GATHER: Duration = Duration::from_millis(2);
/// The same when all slots are taken or jobs wait; half a batch ends the wait.
const GATHER_BUSY: Duration = Duration::from_millis(10);
/// An attempt that takes longer gives its slot to another job, so that slow or dead receivers do
/// not delay others.
const QUICK: Duration = Duration::from_millis(500);
/// How long the database may take for one change after a stop.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);
/// How often jobs in the wrong state are looked for, in milliseconds.
const RECONCILE_INTERVAL_MS: i64 = 5_000;

/// Delivers queued jobs. Several workers may run at once, in one process or in many.
pub struct Worker {
    site: Arc<State>,
    under_way: JoinSet<Ended>,
    /// Cloned into each attempt that holds a slot: those younger than [`QUICK`], and those that
    /// ended before that and are not settled yet.
    young: Arc<()>,
    looked_at: Option<i64>,
    /// Finished attempts that are not settled yet.
    ended: Vec<Ended>,
    prefetch: Prefetch,
    bodies: Bodies,
    local_faults: LocalFaults,
    /// Attempts under way at most.
    most: usize,
    /// Whether the last claim took all free slots.
    is_full: bool,
}

impl Worker {
    pub(in crate::webhooks) fn new(site: Arc<State>) -> Self {
        let most = site.base.settings().webhooks.most_attempts();
        Self {
            site,
            most: most.min(Descriptors::shares().deliveries),
            under_way: JoinSet::new(),
            young: Arc::new(()),
            looked_at: None,
            ended: Vec::new(),
            prefetch: Prefetch::default(),
            bodies: Bodies::default(),
            local_faults: LocalFaults::default(),
            is_full: false,
        }
    }

    /// Settles finished attempts, claims due jobs for the free slots and begins their attempts.
    /// Returns how many began.
    ///
    /// # Errors
    /// `unavailable` when the database cannot be reached; finished attempts are kept for the next
    /// call.
    pub async fn claim(&mut self) -> Result<usize> {
        watched(self.reconcile()).await?;
        Ok(watched(self.turn(true)).await?.1)
    }

    /// Corrects jobs whose state does not match their subscription: they are held while it is off.
    /// An event committed during the switch can leave jobs in the wrong state.
    async fn reconcile(&mut self) -> Result<()> {
        let now = self.site.base.clock().now();
        if self.looked_at.is_some_and(|at| (now - at).abs() < RECONCILE_INTERVAL_MS) {
            return Ok(());
        }
        let mut after = i64::MIN;
        while let Some(id) = queue::mismatched(self.site.base.db(), after).await? {
            let mut change = self.site.base.change(Actor::System).await?;
            if let Some(subscription) = subscriptions::lock(&mut change, id).await? {
                if subscription.active {
                    subscriptions::release(&mut change, id).await?;
                } else {
                    subscriptions::hold(&mut change, id).await?;
                }
            }
            change.commit().await?;
            after = id;
        }
        self.looked_at = Some(now);
        Ok(())
    }

    /// Settles finished attempts, returns jobs that do not begin here and claims due jobs, all in
    /// one change. Returns the outcomes, and how many attempts began. After an error the finished
    /// attempts are kept for the next turn.
    async fn turn(&mut self, claims: bool) -> Result<(Settled, usize)> {
        while self.ended.len() < BATCH
            && let Some(joined) = self.under_way.try_join_next()
        {
            self.note(joined);
        }
        // A number of this process's own becomes another when it is read, and would then send
        // waiting jobs back for nothing. Without an answer they go back.
        if let Err(error) = self.site.base.db().read_epochs(Some(&[TABLE])).await {
            tracing::debug!(%error, "how often subscriptions have changed was not read");
        }
        let moment = self.moment();
        self.prefetch.withdraw(Some(moment));
        let (free, most) = self.free_slots();
        let gives_back = !self.prefetch.back().is_empty();
        let claims = claims
            && free > 0
            && (gives_back || queue::is_due(self.site.base.db(), moment.now).await?);
        if self.ended.is_empty() && !gives_back && !claims {
            return Ok((Settled::default(), 0));
        }
        let mut change = self.site.base.change(Actor::System).await?;
        change.search_by_key().await?;
        // One attempt locks one job; several lock theirs in no fixed order.
        if gives_back || claims || self.ended.len() > 1 {
            change.lock(CLAIMS).await?;
        }
        let settled = settle(&mut change, &mut self.ended).await?;
        give_back(&mut change, self.prefetch.back()).await?;
        let mut claimed = Vec::new();
        if claims {
            let room = (free, self.bodies.room());
            claimed = claim(&self.site.base, &mut change, room, moment.epoch, most, |lane| {
                self.prefetch.limit(lane, most)
            })
            .await?;
        }
        change.commit().await?;
        self.ended.clear();
        self.is_full = claims && claimed.len() == free;
        self.prefetch.given_back();
        self.bodies.note(&claimed);
        self.site.counters.note(&settled);
        let first = self.prefetch.add(claimed);
        let begun = first.len();
        first.into_iter().for_each(|claimed| self.begin(claimed));
        Ok((settled, begun))
    }

    fn moment(&self) -> Moment {
        Moment { now: self.site.base.clock().now(), epoch: self.site.base.db().epochs().of(TABLE) }
    }

    /// Free slots after settling finished attempts, in total and per lane. A waiting job already
    /// has a slot.
    fn free_slots(&self) -> (usize, i64) {
        let slots = self.site.base.settings().webhooks.concurrency;
        let waiting = self.prefetch.waiting();
        let all = self.under_way.len() + waiting;
        let settling = self.ended.iter().filter(|ended| ended.slot.is_some()).count();
        let young = Arc::strong_count(&self.young) - 1 - settling + waiting;
        let free = slots.saturating_sub(young).min(self.most.saturating_sub(all));
        // When half of all attempts are taken, each lane gets one.
        (free, if all < self.most / 2 { LANE_ATTEMPTS } else { 1 })
    }

    fn begin(&mut self, claimed: ClaimedJob) {
        let (site, slot) = (self.site.clone(), self.young.clone());
        let (job, subscription) = (claimed.job.clone(), claimed.subscription);
        let begun = site.base.clock().now();
        let span = tracing::debug_span!("delivery", job = job.id, subscription);
        self.under_way.spawn(watched(async move {
            let made =
                AssertUnwindSafe(attempt(&site, claimed, slot).instrument(span)).catch_unwind();
            // A panic counts as a failed attempt; otherwise the job would come back forever.
            let (attempt, slot) = made.await.unwrap_or_else(|_| {
                let why = "the service failed during the attempt: see its log";
                (Attempt::failed("internal", why.to_owned()), None)
            });
            Ended { subscription, job, attempt, begun, slot, rest: None }
        }));
    }

    /// Notes a finished attempt and begins the next job of its lane.
    fn note(&mut self, joined: Result<Ended, JoinError>) {
        let Ok(mut ended) = joined else { return };
        let moment = self.moment();
        ended.rest = self.local_faults.rest(ended.subscription, &mut ended.attempt, moment.now);
        self.prefetch.end(&ended, moment.now);
        if let Some(claimed) = self.prefetch.next(ended.subscription, moment) {
            self.begin(claimed);
        }
        self.ended.push(ended);
    }

    /// Waits for an attempt to end, then briefly for others. Cancel-safe: no finished attempt is
    /// lost.
    async fn wait(&mut self) {
        if let Some(joined) = self.under_way.join_next().await {
            self.note(joined);
            self.gather().await;
        }
    }

    async fn gather(&mut self) {
        let patience =
            if self.is_full || self.prefetch.waiting() > 0 { GATHER_BUSY } else { GATHER };
        let others = async {
            while self.ended.len() < BATCH / 2
                && let Some(joined) = self.under_way.join_next().await
            {
                self.note(joined);
            }
        };
        let _ = tokio::time::timeout(patience, others).await;
    }

    /// Claims once, then settles until nothing is under way: for tests, and for programs that drive
    /// the worker themselves.
    ///
    /// # Errors
    /// As [`Worker::claim`]; unsettled attempts are kept for the next call.
    pub async fn step(&mut self) -> Result<Settled> {
        watched(self.reconcile()).await?;
        let mut all = watched(self.turn(true)).await?.0;
        while !self.is_idle() {
            self.wait().await;
            let (settled, _) = watched(self.turn(false)).await?;
            all.delivered += settled.delivered;
            all.retried += settled.retried;
            all.failed += settled.failed;
            all.put_back += settled.put_back;
            all.lost += settled.lost;
        }
        Ok(all)
    }

    /// Works until `stop` turns true; with `drain`, also until no job is due. Attempts under way
    /// finish and are settled.
    pub async fn run(mut self, mut stop: watch::Receiver<bool>, drain: bool) -> Until {
        let site = self.site.clone();
        let _working = site.counters.workers.begin();
        loop {
            if *stop.borrow() {
                self.finish().await;
                return Until::Stopped;
            }
            let claimed = tokio::select! {
                claimed = self.claim() => Some(claimed),
                () = jobs::stopped(stop.clone(), SHUTDOWN_TIMEOUT) => None,
            };
            let Some(claimed) = claimed else { continue };
            let begun = match claimed {
                Ok(begun) => begun,
                Err(error) if site.base.db().is_closed() => {
                    tracing::debug!(%error, "the site is closed");
                    return Until::Stopped;
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot read or write the webhook queue; trying again");
                    tokio::time::sleep(POLL).await;
                    // Finished attempts are settled even while no job can be claimed.
                    if let Err(error) = watched(self.turn(false)).await {
                        tracing::debug!(%error, "finished attempts were not settled either");
                    }
                    continue;
                }
            };
            // Due jobs of a lane may wait for its pause after a failure.
            if begun == 0
                && self.is_idle()
                && drain
                && matches!(queue::is_due(site.base.db(), site.base.clock().now()).await, Ok(false))
            {
                return Until::Drained;
            }
            tokio::select! {
                () = self.wait(), if !self.under_way.is_empty() => {}
                () = site.base.outbox().rung() => self.gather().await,
                () = tokio::time::sleep(POLL) => {}
                // A dropped sender never stops the worker.
                () = async {
                    if stop.changed().await.is_err() {
                        std::future::pending().await
                    }
                } => {}
            }
        }
    }

    fn is_idle(&self) -> bool {
        self.under_way.is_empty()
            && self.ended.is_empty()
            && self.prefetch.waiting() == 0
            && self.prefetch.back().is_empty()
    }

    /// Returns jobs that did not begin, and waits for attempts under way. After three failed writes
    /// or one without an answer it gives up: unsettled jobs are sent again when their lease ends.
    async fn finish(&mut self) {
        self.prefetch.withdraw(None);
        let mut tries = 3;
        loop {
            let why = match tokio::time::timeout(SHUTDOWN_TIMEOUT, watched(self.turn(false))).await
            {
                Ok(Ok(_)) => None,
                Ok(Err(error)) => {
                    tries -= 1;
                    Some(error.to_string())
                }
                // It was waited for already.
                Err(_) => {
                    tries = 0;
                    Some("the database does not answer".to_owned())
                }
            };
            if let Some(why) = why {
                tracing::warn!(why, "finished attempts were not settled");
                tokio::time::sleep(POLL).await;
            }
            if self.is_idle() || tries == 0 {
                return;
            }
            self.wait().await;
        }
    }
}

/// Makes an attempt. Returns its slot too, unless the attempt was slow.
async fn attempt(site: &State, claimed: ClaimedJob, slot: Arc<()>) -> (Attempt, Option<Arc<()>>) {
    let ClaimedJob { target, job, .. } = claimed;
    let _under_way = site.counters.under_way.begin();
    let target = match target {
        Ok(_) if job.event.body.is_empty() => {
            let why = "the event is no longer kept: see retention.events_days";
            return (Attempt::failed("event", why.to_owned()), Some(slot));
        }
        Ok(target) => target,
        Err(why) => {
            let why = format!("the secret or a header cannot be opened: {why}");
            return (Attempt::failed("secret", why), Some(slot));
        }
    };
    let request = request::build(&site.base, &target, &job);
    let mut sending = std::pin::pin!(site.http.post(&target.url, request.headers, request.body));
    match tokio::time::timeout(QUICK, &mut sending).await {
        Ok(attempt) => (attempt, Some(slot)),
        Err(_) => {
            drop(slot);
            (sending.await, None)
        }
    }
}
