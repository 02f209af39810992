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
    ahead::Ahead,
    claim::{claim, give_back},
    request,
    settle::settle,
    sql::queue,
    task::{Ended, Moment, ROOM, Settled, Task},
};
use crate::{
    Actor, Result,
    db::watched,
    outbound::Attempt,
    webhooks::{
        State,
        subscriptions::{CLAIMS, TABLE, sql as subscriptions},
    },
};

/// Without news the queue is looked at this often: retries fall due by time alone.
const POLL: Duration = Duration::from_millis(250);
/// Ends of attempts that share one transaction.
const BATCH: usize = 256;
/// So long the first end waits for others to share it, and an event while attempts are under way.
const GATHER: Duration = Duration::from_millis(2);
/// The same when more is to be done than has a place; half a batch is enough.
const GATHER_BUSY: Duration = Duration::from_millis(10);
/// An attempt that takes longer gives its place to another: receivers that are slow or dead must
/// not keep others waiting.
const QUICK: Duration = Duration::from_millis(500);
/// All attempts, quick and slow, per place.
const SLOW: usize = 4;
/// How often rows are looked for that wait in the wrong state.
const ASTRAY_MS: i64 = 5_000;

/// Delivers what is queued. Several at once, in one process or in many, are harmless.
pub struct Worker {
    site: Arc<State>,
    under_way: JoinSet<Ended>,
    /// A mark for each attempt that is younger than [`QUICK`], or was when it ended and is not
    /// written down yet.
    young: Arc<()>,
    looked_at: Option<i64>,
    /// Attempts that have ended and are not written down yet.
    ended: Vec<Ended>,
    ahead: Ahead,
    /// All places were taken by the last claim.
    is_full: bool,
}

/// Why [`Worker::run`] came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// Nothing is due and nothing under way.
    Drained,
    /// The stop was asked for.
    Stopped,
}

impl Worker {
    pub(in crate::webhooks) fn new(site: Arc<State>) -> Self {
        Self {
            site,
            under_way: JoinSet::new(),
            young: Arc::new(()),
            looked_at: None,
            ended: Vec::new(),
            ahead: Ahead::default(),
            is_full: false,
        }
    }

    /// Writes down what has ended, claims what is due as far as there is room, and begins attempts.
    /// Returns how many began.
    ///
    /// # Errors
    /// `unavailable` when the database cannot be reached; what has ended is kept for the next call.
    pub async fn claim(&mut self) -> Result<usize> {
        watched(async {
            self.put_right().await?;
            Ok(self.turn(true).await?.1)
        })
        .await
    }

    /// Rows wait as their subscription says: held or not. An event that was queued while it changed
    /// may have missed that.
    async fn put_right(&mut self) -> Result<()> {
        let now = self.site.base.clock().now();
        if self.looked_at.is_some_and(|at| (now - at).abs() < ASTRAY_MS) {
            return Ok(());
        }
        let mut after = i64::MIN;
        while let Some(id) = queue::astray(self.site.base.db(), after).await? {
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

    /// What has ended is written down, what does not begin here is given back, what is due is
    /// claimed: all in one change. Returns what became of attempts, and how many began. When it
    /// fails, what has ended is kept for the next turn.
    async fn turn(&mut self, claims: bool) -> Result<(Settled, usize)> {
        while self.ended.len() < BATCH
            && let Some(joined) = self.under_way.try_join_next()
        {
            self.note(joined);
        }
        let moment = self.moment();
        self.ahead.withdraw(Some(moment));
        let (free, most) = self.room();
        let gives_back = !self.ahead.back().is_empty();
        let claims = claims
            && free > 0
            && (gives_back || queue::is_due(self.site.base.db(), moment.now).await?);
        if self.ended.is_empty() && !gives_back && !claims {
            return Ok((Settled::default(), 0));
        }
        let mut change = self.site.base.change(Actor::System).await?;
        change.search_by_key().await?;
        if gives_back || claims {
            change.lock(CLAIMS).await?;
        }
        let settled = settle(&mut change, &mut self.ended).await?;
        give_back(&mut change, self.ahead.back()).await?;
        let mut tasks = Vec::new();
        if claims {
            tasks = claim(&self.site.base, &mut change, free, moment.epoch, most, |lane| {
                self.ahead.room(lane, most)
            })
            .await?;
        }
        change.commit().await?;
        self.ended.clear();
        self.is_full = claims && tasks.len() == free;
        self.ahead.given_back();
        self.site.counters.note(&settled);
        let tasks = self.ahead.add(tasks);
        let begun = tasks.len();
        tasks.into_iter().for_each(|task| self.begin(task));
        Ok((settled, begun))
    }

    fn moment(&self) -> Moment {
        Moment { now: self.site.base.clock().now(), epoch: self.site.base.db().epochs().of(TABLE) }
    }

    /// How many jobs may be claimed once that has been written down what has ended, and how many of
    /// a lane. Those that wait have a place already.
    fn room(&self) -> (usize, i64) {
        let places = self.site.base.settings().webhooks.concurrency;
        let waiting = self.ahead.waiting();
        let all = self.under_way.len() + waiting;
        let settling = self.ended.iter().filter(|ended| ended.place.is_some()).count();
        let young = Arc::strong_count(&self.young) - 1 - settling + waiting;
        let free = places.saturating_sub(young).min((places * SLOW).saturating_sub(all));
        // When it gets crowded, nobody has more than one.
        (free, if all < places * SLOW / 2 { ROOM } else { 1 })
    }

    fn begin(&mut self, task: Task) {
        let (site, place) = (self.site.clone(), self.young.clone());
        let (job, subscription) = (task.row.id, task.subscription);
        let span = tracing::debug_span!("delivery", job, subscription);
        self.under_way.spawn(async move { attempt(&site, task, place).await }.instrument(span));
    }

    /// An attempt has ended; the next of its lane begins.
    fn note(&mut self, joined: Result<Ended, JoinError>) {
        let Ok(ended) = joined else { return };
        let moment = self.moment();
        self.ahead.end(&ended, moment.now);
        if let Some(task) = self.ahead.next(ended.subscription, moment) {
            self.begin(task);
        }
        self.ended.push(ended);
    }

    /// Waits for an attempt to end, and a moment for others. Nothing is lost when this is given up
    /// half-way.
    async fn wait(&mut self) {
        if let Some(joined) = self.under_way.join_next().await {
            self.note(joined);
            self.gather().await;
        }
    }

    async fn gather(&mut self) {
        let patience = if self.is_full || self.ahead.waiting() > 0 { GATHER_BUSY } else { GATHER };
        let others = async {
            while self.ended.len() < BATCH / 2
                && let Some(joined) = self.under_way.join_next().await
            {
                self.note(joined);
            }
        };
        let _ = tokio::time::timeout(patience, others).await;
    }

    /// Claims and settles once, until nothing is under way: for tests and for those who drive it
    /// themselves.
    ///
    /// # Errors
    /// As [`Worker::claim`]; what has ended and could not be written down is kept for the next
    /// call.
    pub async fn step(&mut self) -> Result<Settled> {
        self.put_right().await?;
        let mut all = self.turn(true).await?.0;
        while !self.is_idle() {
            self.wait().await;
            let (settled, _) = self.turn(false).await?;
            all.delivered += settled.delivered;
            all.retried += settled.retried;
            all.failed += settled.failed;
            all.lost += settled.lost;
        }
        Ok(all)
    }

    /// Works until `stop` turns true. With `drain`, also until nothing is due. Attempts under way
    /// are finished and written down.
    pub async fn run(mut self, mut stop: watch::Receiver<bool>, drain: bool) -> Until {
        let site = self.site.clone();
        let _working = site.counters.work();
        loop {
            if *stop.borrow() {
                self.finish().await;
                return Until::Stopped;
            }
            let begun = match self.claim().await {
                Ok(begun) => begun,
                Err(error) if site.base.db().is_closed() => {
                    tracing::debug!(%error, "the site is closed");
                    return Until::Stopped;
                }
                Err(error) => {
                    tracing::warn!(%error, "the webhook queue cannot be read or written; trying again");
                    tokio::time::sleep(POLL).await;
                    // What has ended does not wait until jobs can be claimed again.
                    if let Err(error) = self.turn(false).await {
                        tracing::debug!(%error, "deliveries were not written down either");
                    }
                    continue;
                }
            };
            // What is due may have to wait a moment after a failure.
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
                // Whoever could stop it may be gone.
                () = async { if stop.changed().await.is_err() { std::future::pending().await } } => {}
            }
        }
    }

    fn is_idle(&self) -> bool {
        self.under_way.is_empty()
            && self.ended.is_empty()
            && self.ahead.waiting() == 0
            && self.ahead.back().is_empty()
    }

    /// Gives back what was not begun, and waits for what was. What cannot be written down in a few
    /// tries is sent again when its lease ends.
    async fn finish(&mut self) {
        self.ahead.withdraw(None);
        let mut tries = 3;
        loop {
            if let Err(error) = self.turn(false).await {
                tracing::warn!(%error, "deliveries were not written down");
                tries -= 1;
                tokio::time::sleep(POLL).await;
            }
            if self.is_idle() || tries == 0 {
                return;
            }
            self.wait().await;
        }
    }
}

async fn attempt(site: &State, task: Task, place: Arc<()>) -> Ended {
    let mut place = Some(place);
    let Task { target, subscription, row, .. } = task;
    let begun = site.base.clock().now();
    let _under_way = site.counters.begin();
    let attempt = match target {
        Ok(_) if row.event.body.is_empty() => Attempt::failed(
            "event",
            "the event is no longer kept: see retention.events_days".to_owned(),
        ),
        Ok(target) => {
            let sending = async {
                let request = request::build(&site.base, &target, &row);
                site.http.post(&target.url, request.headers, request.body).await
            };
            // A fault of ours is a failure like any other, or the row would come back for ever.
            let mut sending = std::pin::pin!(AssertUnwindSafe(sending).catch_unwind());
            let sent = match tokio::time::timeout(QUICK, &mut sending).await {
                Ok(sent) => sent,
                Err(_) => {
                    place = None;
                    sending.await
                }
            };
            sent.unwrap_or_else(|_| {
                Attempt::failed(
                    "internal",
                    "the attempt broke off: see the log of the service".to_owned(),
                )
            })
        }
        Err(why) => {
            Attempt::failed("secret", format!("the secret or a header cannot be opened: {why}"))
        }
    };
    Ended { subscription, row, attempt, begun, place }
}
