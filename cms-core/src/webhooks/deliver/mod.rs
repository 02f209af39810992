//! The worker of webhooks: what the queue engine claims, sends and settles here.
//!
//! ```text
//! claim    jobs and lanes under a lease, and the jobs that wait for their lane
//! request  an attempt's headers, body and signatures; a ping
//! settle   ends of attempts: fenced, breaker, log, rests after faults of this machine
//! queue    statements for one job or lane, and the state of the queue
//! batch    statements for many
//! ```

pub(super) mod batch;
mod claim;
pub(super) mod queue;
pub(super) mod request;
mod settle;

use std::{sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use tokio::sync::watch;
use tracing::Instrument;

pub use request::{PING, Pinged};

use self::{
    claim::{Bodies, ClaimedJob, Ended, LANE_ATTEMPTS, Moment, Prefetch, claim, give_back},
    settle::{LocalFaults, settle},
};
use super::{
    Inner,
    subscriptions::{CLAIMS, TABLE, sql as subscriptions},
};
use crate::{
    Actor, Change, Descriptors, Result,
    base::Base,
    db::{Lock, args},
    jobs::{Counters, Engine, Flight, Outcomes, Queue, Until},
    outbound::Attempt,
};

/// How long a finished attempt, or an event while attempts are under way, waits for others to share
/// its transaction.
const GATHER: Duration = Duration::from_millis(2);
/// The same, when all slots are taken or jobs wait.
const GATHER_BUSY: Duration = Duration::from_millis(10);
/// An attempt that takes longer gives its slot to another job, so slow or dead receivers do not
/// delay others.
const QUICK: Duration = Duration::from_millis(500);
/// Interval between searches for jobs in the wrong state, in milliseconds.
const RECONCILE_INTERVAL_MS: i64 = 5_000;

/// Delivers queued jobs. Several workers may run at once, in one process or in many.
pub struct Worker(Engine<Deliveries>);

impl Worker {
    pub(super) fn new(site: Arc<Inner>) -> Self {
        let most = site.base.settings().webhooks.most_attempts();
        Self(Engine::new(Deliveries {
            most: most.min(Descriptors::shares().deliveries),
            young: Arc::new(()),
            reconciled_at: None,
            prefetch: Prefetch::default(),
            bodies: Bodies::default(),
            local_faults: LocalFaults::default(),
            moment: Moment { now: 0, epoch: 0 },
            free: (0, 0),
            is_full: false,
            site,
        }))
    }

    /// Settles finished attempts, claims due jobs for the free slots and begins their attempts.
    /// Returns how many began.
    ///
    /// # Errors
    /// `unavailable` when the database cannot be reached; finished attempts are kept for the next
    /// call.
    pub async fn claim(&mut self) -> Result<usize> {
        self.0.claim().await
    }

    /// Claims once, then settles until nothing is under way: for tests, and for programs that drive
    /// the worker themselves.
    pub async fn step(&mut self) -> Result<Outcomes> {
        self.0.step().await
    }

    /// Steps until a step delivers nothing, `most` times at most. Returns the number of attempts
    /// that count.
    pub(crate) async fn steps(&mut self, most: usize) -> Result<u64> {
        self.0.steps(most).await
    }

    /// Works until `stop` turns true; with `drain`, also until no job is due. Attempts under way
    /// finish and are settled.
    pub async fn run(self, stop: watch::Receiver<bool>, drain: bool) -> Until {
        self.0.run(stop, drain).await
    }
}

/// The queue of webhooks.
struct Deliveries {
    site: Arc<Inner>,
    /// Attempts under way at most.
    most: usize,
    /// Each attempt that holds a slot has a clone: attempts younger than [`QUICK`], and quick
    /// attempts that ended and are not settled yet.
    young: Arc<()>,
    reconciled_at: Option<i64>,
    prefetch: Prefetch,
    bodies: Bodies,
    local_faults: LocalFaults,
    /// When the turn began.
    moment: Moment,
    /// Jobs that the turn may claim, in total and per lane.
    free: (usize, i64),
    /// Whether the last claim took all free slots.
    is_full: bool,
}

impl Deliveries {
    fn moment(&self) -> Moment {
        Moment { now: self.site.base.clock().now(), epoch: self.site.base.db().epochs().of(TABLE) }
    }

    /// Free slots after settling finished attempts, in total and per lane. A waiting job already
    /// has a slot.
    fn free_slots(&self, flight: &Flight<Ended>) -> (usize, i64) {
        let slots = self.site.base.settings().webhooks.concurrency;
        let waiting = self.prefetch.waiting();
        let all = flight.under_way.len() + waiting;
        let settling = flight.ended.iter().filter(|ended| ended.slot.is_some()).count();
        let young = Arc::strong_count(&self.young) - 1 - settling + waiting;
        let free = slots.saturating_sub(young).min(self.most.saturating_sub(all));
        // When half of all attempts are under way, each lane gets one.
        (free, if all < self.most / 2 { LANE_ATTEMPTS } else { 1 })
    }
}

impl Queue for Deliveries {
    type Job = ClaimedJob;
    type Ended = Ended;

    const NAME: &'static str = "webhooks";
    const POLL_INTERVAL: Duration = Duration::from_millis(250);
    const FOLLOWS_EVENTS: bool = true;
    /// No attempt takes longer.
    const LONGEST_END: Duration = Duration::from_millis(queue::LEASE_MS.unsigned_abs());
    const CLAIMS: Lock = CLAIMS;
    const SETTLES_UNDER_LOCK: bool = false;

    fn base(&self) -> &Base {
        &self.site.base
    }

    fn counters(&self) -> &Counters {
        &self.site.counters
    }

    /// Corrects jobs whose state does not match their subscription: they are held while it is off.
    /// An event committed during the switch can leave jobs in the wrong state.
    async fn reconcile(&mut self) -> Result<()> {
        let now = self.site.base.clock().now();
        if self.reconciled_at.is_some_and(|at| (now - at).abs() < RECONCILE_INTERVAL_MS) {
            return Ok(());
        }
        let mut after = i64::MIN;
        let db = self.site.base.db();
        while let Some((id,)) = db.optional::<(i64,)>(queue::MISMATCHED, args![after]).await? {
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
        self.reconciled_at = Some(now);
        Ok(())
    }

    /// The next job of its lane may begin.
    fn ended(&mut self, ended: &mut Ended) -> Option<ClaimedJob> {
        let moment = self.moment();
        ended.rest = self.local_faults.rest(ended.subscription, &mut ended.attempt, moment.now);
        self.prefetch.end(ended, moment.now);
        self.prefetch.next(ended.subscription, moment)
    }

    async fn prepare(&mut self) {
        // Reading replaces an epoch that only this process counts by the stored one. If that
        // happened later, the new epoch would return waiting jobs for nothing. If the read fails,
        // they return.
        if let Err(error) = self.site.base.db().read_epochs(Some(&[TABLE])).await {
            tracing::debug!(%error, "how often subscriptions have changed was not read");
        }
        self.moment = self.moment();
        self.prefetch.withdraw(Some(self.moment));
    }

    async fn is_due(&mut self, flight: &Flight<Ended>) -> Result<bool> {
        self.free = self.free_slots(flight);
        Ok(self.free.0 > 0 && (self.returns_jobs() || self.has_due().await?))
    }

    fn returns_jobs(&self) -> bool {
        !self.prefetch.back().is_empty()
    }

    fn holds_jobs(&self) -> bool {
        self.prefetch.waiting() > 0
    }

    async fn settle(&mut self, change: &mut Change, ended: &mut [Ended]) -> Result<Outcomes> {
        let settled = settle(change, ended).await?;
        give_back(change, self.prefetch.back()).await?;
        self.is_full = false;
        Ok(settled)
    }

    async fn claim(&mut self, change: &mut Change) -> Result<Vec<ClaimedJob>> {
        let ((free, most), room) = (self.free, self.bodies.room());
        let limit = |lane: &_| self.prefetch.limit(lane, most);
        let epoch = self.moment.epoch;
        let claimed = claim(&self.site.base, change, (free, room), epoch, most, limit).await?;
        self.is_full = claimed.len() == free;
        Ok(claimed)
    }

    fn committed(&mut self, claimed: Vec<ClaimedJob>) -> Vec<ClaimedJob> {
        self.prefetch.given_back();
        self.bodies.note(&claimed);
        self.prefetch.add(claimed)
    }

    fn attempt(&self, claimed: ClaimedJob) -> BoxFuture<'static, Ended> {
        let (site, slot) = (self.site.clone(), self.young.clone());
        let (job, subscription) = (claimed.job.clone(), claimed.subscription);
        let begun = site.base.clock().now();
        let span = tracing::debug_span!("delivery", job = job.id, subscription);
        let made = async move {
            let (attempt, slot) = attempt(&site, claimed, slot).await;
            Ended { subscription, job, attempt, begun, slot, rest: None }
        };
        Box::pin(made.instrument(span))
    }

    fn broken(ClaimedJob { subscription, job, moment, .. }: ClaimedJob) -> Ended {
        let why = "the service failed during the attempt: see its log";
        let attempt = Attempt::failed("internal", why.to_owned());
        Ended { subscription, job, attempt, begun: moment.now, slot: None, rest: None }
    }

    fn gathering(&self) -> Duration {
        if self.is_full || self.holds_jobs() { GATHER_BUSY } else { GATHER }
    }

    async fn has_due(&self) -> Result<bool> {
        queue::is_due(self.site.base.db(), self.site.base.clock().now()).await
    }

    fn end(&mut self) {
        self.prefetch.withdraw(None);
    }
}

/// Makes an attempt. Returns its slot too, unless the attempt was slow.
async fn attempt(site: &Inner, claimed: ClaimedJob, slot: Arc<()>) -> (Attempt, Option<Arc<()>>) {
    let ClaimedJob { target, job, .. } = claimed;
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
