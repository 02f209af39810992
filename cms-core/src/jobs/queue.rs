//! The engine of queues: claims due jobs, attempts them and settles finished attempts, many in one
//! change. A [`Queue`] defines its jobs, how to attempt them and how to settle them.

use std::{panic::AssertUnwindSafe, time::Duration};

use futures_util::{FutureExt as _, future::BoxFuture};
use tokio::task::{JoinError, JoinSet};

use super::{Counters, FaultLog, Outcomes, Stop, Until, stopped};
use crate::{
    Actor, Change, Result,
    base::Base,
    db::{Lock, watched},
};

/// Maximum number of finished attempts that share one change.
const BATCH: usize = 256;
/// How long the database may take for one change after a stop.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);
/// Failed writes after which a stopping worker gives up settling.
const TRIES: u32 = 3;

/// Jobs in a table: a worker claims some for the time of a lease, attempts them, and settles them.
pub(crate) trait Queue {
    /// A claimed job.
    type Job: Clone + Send + 'static;
    /// A finished attempt.
    type Ended: Send + 'static;

    /// Its name in the log.
    const NAME: &'static str;
    /// How often the queue is polled: retries fall due by time alone.
    const POLL_INTERVAL: Duration;
    /// Whether a new event may bring jobs.
    const FOLLOWS_EVENTS: bool;
    /// How long attempts may go on after a stop.
    const LONGEST_END: Duration;
    /// The lock for claiming jobs and for settling several attempts at once.
    const CLAIMS: Lock;
    /// Whether settling one attempt needs the lock too.
    const SETTLES_UNDER_LOCK: bool;

    fn base(&self) -> &Base;

    fn counters(&self) -> &Counters;

    /// Corrects what is wrong in the queue.
    async fn reconcile(&mut self) -> Result<()> {
        Ok(())
    }

    /// Called when an attempt has ended. Returns a job to begin in its place, if any.
    fn ended(&mut self, ended: &mut Self::Ended) -> Option<Self::Job>;

    /// Runs before each turn, outside its change.
    async fn prepare(&mut self) {}

    /// Whether a job is due that may begin here now.
    async fn is_due(&mut self, flight: &Flight<Self::Ended>) -> Result<bool>;

    /// Whether claimed jobs wait here to be returned.
    fn returns_jobs(&self) -> bool {
        false
    }

    /// Whether claimed jobs wait here to begin.
    fn holds_jobs(&self) -> bool {
        false
    }

    /// Writes the results of finished attempts, and puts claimed jobs that will not begin here
    /// back into the queue.
    async fn settle(&mut self, change: &mut Change, ended: &mut [Self::Ended]) -> Result<Outcomes>;

    /// Claims due jobs, including jobs whose lease has expired.
    async fn claim(&mut self, change: &mut Change) -> Result<Vec<Self::Job>>;

    /// Called when a turn's change is committed. Returns the claimed jobs that begin now.
    fn committed(&mut self, claimed: Vec<Self::Job>) -> Vec<Self::Job> {
        claimed
    }

    /// Makes an attempt.
    fn attempt(&self, job: Self::Job) -> BoxFuture<'static, Self::Ended>;

    /// The result of an attempt that panicked. It counts as a try: otherwise the job would come
    /// back for ever.
    fn broken(job: Self::Job) -> Self::Ended;

    /// How long a finished attempt waits for others to share its change.
    fn gathering(&self) -> Duration;

    /// Whether some due jobs cannot begin yet but will soon.
    async fn has_due(&self) -> Result<bool> {
        Ok(false)
    }

    /// Called when the worker ends: no attempt begins any more.
    fn end(&mut self);
}

/// Attempts under way, and finished attempts that are not settled yet.
pub(crate) struct Flight<E> {
    pub(crate) under_way: JoinSet<E>,
    pub(crate) ended: Vec<E>,
}

/// A worker on a queue. Several workers may share a queue, in one process or in many. Every step
/// returns what happened; only [`Engine::run`] sleeps.
pub(crate) struct Engine<Q: Queue> {
    queue: Q,
    flight: Flight<Q::Ended>,
}

impl<Q: Queue> Engine<Q> {
    pub(crate) fn new(queue: Q) -> Self {
        Self { queue, flight: Flight { under_way: JoinSet::new(), ended: Vec::new() } }
    }

    /// Settles finished attempts, claims due jobs and begins their attempts. Returns how many
    /// began.
    ///
    /// # Errors
    /// `unavailable` when the database cannot be reached; finished attempts are kept for the next
    /// call.
    pub(crate) async fn claim(&mut self) -> Result<usize> {
        Ok(self.whole_turn().await?.1)
    }

    /// Claims once, then settles until nothing is under way.
    pub(crate) async fn step(&mut self) -> Result<Outcomes> {
        let (mut all, _) = self.whole_turn().await?;
        while !self.is_idle() {
            self.wait().await;
            all += watched(self.turn(false)).await?.0;
        }
        Ok(all)
    }

    /// Repeats [`Engine::step`] until a step counts no attempt, at most `most` times. Returns the
    /// number of counted attempts.
    pub(crate) async fn steps(&mut self, most: usize) -> Result<u64> {
        let mut all = 0;
        for _ in 0..most {
            match self.step().await?.counted() {
                0 => break,
                some => all += some,
            }
        }
        Ok(all)
    }

    /// Works until `stop` turns true; with `drain`, also ends once no due job can begin. Attempts
    /// under way finish and are settled.
    pub(crate) async fn run(mut self, stop: Stop, drain: bool) -> Until {
        let base = self.queue.base().clone();
        let (_working, faults) = (self.queue.counters().workers.begin(), FaultLog::default());
        while !*stop.borrow() {
            let turned = tokio::select! {
                turned = self.whole_turn() => turned,
                // Jobs claimed by the interrupted turn are due again when their lease ends.
                () = stopped(stop.clone(), SHUTDOWN_TIMEOUT) => break,
            };
            if !base.db().is_closed() {
                faults.note(Q::NAME, "cannot read or write a queue; trying again", &turned);
            }
            let moved = match turned {
                Ok((settled, begun)) => begun > 0 || settled != Outcomes::default(),
                Err(error) if base.db().is_closed() => {
                    tracing::debug!(%error, "the site is closed");
                    return Until::Stopped;
                }
                Err(_) => {
                    tokio::time::sleep(Q::POLL_INTERVAL).await;
                    // Finished attempts are settled even while no job can be claimed.
                    let settled = tokio::select! {
                        settled = watched(self.turn(false)) => settled,
                        () = stopped(stop.clone(), SHUTDOWN_TIMEOUT) => break,
                    };
                    if let Err(error) = settled {
                        tracing::debug!(%error, "finished attempts were not settled either");
                    }
                    continue;
                }
            };
            if drain && self.is_idle() {
                match moved {
                    // Settled attempts may let other jobs begin: look once more.
                    true => continue,
                    false if matches!(self.queue.has_due().await, Ok(false)) => {
                        return Until::Drained;
                    }
                    false => {}
                }
            }
            let event = async {
                match Q::FOLLOWS_EVENTS {
                    true => base.outbox().rung().await,
                    false => std::future::pending().await,
                }
            };
            tokio::select! {
                () = self.wait(), if !self.flight.under_way.is_empty() => {}
                () = event => self.gather().await,
                () = tokio::time::sleep(Q::POLL_INTERVAL) => {}
                () = stopped(stop.clone(), Duration::ZERO) => {}
            }
        }
        self.finish().await;
        Until::Stopped
    }

    /// Waits for attempts under way and settles them. Gives up after three failed writes, or after
    /// one write without an answer: unsettled jobs are due again when their lease ends.
    async fn finish(&mut self) {
        self.queue.end();
        let until = tokio::time::Instant::now() + Q::LONGEST_END;
        let mut tries = TRIES;
        loop {
            let turn = tokio::time::timeout(SHUTDOWN_TIMEOUT, watched(self.turn(false))).await;
            let why = match turn {
                Ok(Ok(_)) => None,
                Ok(Err(error)) => {
                    tries -= 1;
                    Some(format!("{error:?}"))
                }
                // The timeout has passed already: no second try.
                Err(_) => {
                    tries = 0;
                    Some("the database does not answer".to_owned())
                }
            };
            if let Some(why) = why {
                tracing::warn!(queue = Q::NAME, why, "finished attempts were not settled");
                if tries > 0 {
                    tokio::time::sleep(Q::POLL_INTERVAL).await;
                }
            }
            if self.is_idle() || tries == 0 {
                return;
            }
            if tokio::time::timeout_at(until, self.wait()).await.is_err() {
                let attempts = self.flight.under_way.len();
                tracing::warn!(queue = Q::NAME, attempts, "attempts did not end before the stop");
                self.flight.under_way.abort_all();
                while let Some(joined) = self.flight.under_way.join_next().await {
                    self.note(joined);
                }
            }
        }
    }

    async fn whole_turn(&mut self) -> Result<(Outcomes, usize)> {
        watched(self.queue.reconcile()).await?;
        watched(self.turn(true)).await
    }

    /// Settles finished attempts and claims due jobs, in one change. Returns the outcomes, and how
    /// many attempts began. After an error the finished attempts are kept for the next turn.
    async fn turn(&mut self, claims: bool) -> Result<(Outcomes, usize)> {
        while self.flight.ended.len() < BATCH
            && let Some(joined) = self.flight.under_way.try_join_next()
        {
            self.note(joined);
        }
        self.queue.prepare().await;
        let claims = claims && self.queue.is_due(&self.flight).await?;
        let ended = self.flight.ended.len();
        if ended == 0 && !claims && !self.queue.returns_jobs() {
            return Ok((Outcomes::default(), 0));
        }
        let mut change = self.queue.base().change(Actor::System).await?;
        change.search_by_key().await?;
        // Lock before any row: the holder of the lock may wait for rows, never the reverse.
        if claims || self.queue.returns_jobs() || ended > 1 || Q::SETTLES_UNDER_LOCK {
            change.lock(Q::CLAIMS).await?;
        }
        let settled = self.queue.settle(&mut change, &mut self.flight.ended).await?;
        let claimed = match claims {
            true => self.queue.claim(&mut change).await?,
            false => Vec::new(),
        };
        change.commit().await?;
        self.flight.ended.clear();
        self.queue.counters().note(&settled);
        let first = self.queue.committed(claimed);
        let begun = first.len();
        first.into_iter().for_each(|job| self.begin(job));
        Ok((settled, begun))
    }

    fn begin(&mut self, job: Q::Job) {
        let (kept, attempt) = (job.clone(), self.queue.attempt(job));
        let counted = self.queue.counters().under_way.begin();
        self.flight.under_way.spawn(watched(async move {
            let _counted = counted;
            let made = AssertUnwindSafe(attempt).catch_unwind().await;
            made.unwrap_or_else(|_| {
                tracing::error!(queue = Q::NAME, "the service failed during an attempt");
                Q::broken(kept)
            })
        }));
    }

    fn note(&mut self, joined: Result<Q::Ended, JoinError>) {
        let Ok(mut ended) = joined else { return };
        let next = self.queue.ended(&mut ended);
        self.flight.ended.push(ended);
        if let Some(job) = next {
            self.begin(job);
        }
    }

    /// Waits for an attempt to end, then briefly for others. Cancel-safe: no finished attempt is
    /// lost.
    async fn wait(&mut self) {
        if let Some(joined) = self.flight.under_way.join_next().await {
            self.note(joined);
            self.gather().await;
        }
    }

    /// Waits for further attempts to end, for [`Queue::gathering`] at most. Half a batch
    /// ends the wait.
    async fn gather(&mut self) {
        let gathering = self.queue.gathering();
        let others = async {
            while self.flight.ended.len() < BATCH / 2
                && let Some(joined) = self.flight.under_way.join_next().await
            {
                self.note(joined);
            }
        };
        let _ = tokio::time::timeout(gathering, others).await;
    }

    fn is_idle(&self) -> bool {
        self.flight.under_way.is_empty()
            && self.flight.ended.is_empty()
            && !self.queue.holds_jobs()
            && !self.queue.returns_jobs()
    }
}
