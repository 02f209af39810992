//! The worker: claims, sends, settles. Every step returns what happened; only [`Worker::run`] sleeps.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::FutureExt as _;
use tokio::{sync::watch, task::JoinSet};

use super::{
    claim::{ROOM, Task, claim},
    request,
    send::Attempt,
    settle::{Ended, Settled, settle},
    sql::{queue, subscriptions},
};
use crate::{Actor, Cms, Result};

/// Without news the queue is looked at this often: retries fall due by time alone.
const POLL: Duration = Duration::from_millis(250);
/// Ends of attempts that share one transaction.
const BATCH: usize = 256;
/// So long the first end waits for others to share it.
const GATHER: Duration = Duration::from_millis(2);
/// An attempt that takes longer gives its place to another: receivers that are slow or dead must not keep others waiting.
const QUICK: Duration = Duration::from_millis(500);
/// All attempts, quick and slow, per place.
const SLOW: usize = 4;
/// How often rows are looked for that wait in the wrong state.
const ASTRAY_MS: i64 = 5_000;

/// Delivers what is queued. Several at once, in one process or in many, are harmless.
pub struct Worker {
    cms: Cms,
    under_way: JoinSet<Ended>,
    /// A mark for each attempt that is younger than [`QUICK`], or was when it ended and is not written down yet.
    young: Arc<()>,
    looked_at: Option<i64>,
    /// Attempts that have ended and are not written down yet.
    ended: Vec<Ended>,
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
    pub(super) fn new(cms: &Cms) -> Self {
        Self { cms: cms.clone(), under_way: JoinSet::new(), young: Arc::new(()), looked_at: None, ended: Vec::new() }
    }

    /// Claims what is due, as far as there is room, and begins the attempts. Returns how many.
    ///
    /// # Errors
    /// `unavailable` when the database cannot be reached.
    pub async fn claim(&mut self) -> Result<usize> {
        self.put_right().await?;
        let places = self.cms.settings().webhooks.concurrency;
        let (all, young) = (self.under_way.len() + self.ended.len(), Arc::strong_count(&self.young) - 1);
        let free = places.saturating_sub(young).min((places * SLOW).saturating_sub(all));
        // When it gets crowded, nobody has more than one.
        let tasks = claim(&self.cms, free, if all < places * SLOW / 2 { ROOM } else { 1 }).await?;
        let count = tasks.len();
        for task in tasks {
            let (cms, place) = (self.cms.clone(), self.young.clone());
            self.under_way.spawn(async move { attempt(&cms, task, place).await });
        }
        Ok(count)
    }

    /// Rows wait as their subscription says: held or not. An event that was queued while it changed may have missed that.
    async fn put_right(&mut self) -> Result<()> {
        let now = self.cms.clock().now();
        if self.looked_at.is_some_and(|at| (now - at).abs() < ASTRAY_MS) {
            return Ok(());
        }
        let mut after = i64::MIN;
        while let Some(id) = queue::astray(self.cms.db(), after).await? {
            let mut change = self.cms.change(Actor::System).await?;
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

    /// Waits for an attempt to end, and a moment for others. Nothing is lost when this is given up half-way.
    async fn wait(&mut self) {
        if let Some(ended) = self.under_way.join_next().await {
            self.ended.extend(ended.ok());
            let others = async {
                while let Some(ended) = self.under_way.join_next().await {
                    self.ended.extend(ended.ok());
                }
            };
            let _ = tokio::time::timeout(GATHER, others).await;
        }
    }

    /// Writes down what has ended, in one transaction. None: nothing has.
    ///
    /// # Errors
    /// `unavailable` when the database cannot be reached; the attempts are kept for the next call.
    async fn settle(&mut self) -> Result<Option<Settled>> {
        while self.ended.len() < BATCH
            && let Some(ended) = self.under_way.try_join_next()
        {
            self.ended.extend(ended.ok());
        }
        if self.ended.is_empty() {
            return Ok(None);
        }
        let settled = settle(&self.cms, &mut self.ended).await?;
        self.ended.clear();
        self.cms.delivered().note(&settled);
        Ok(Some(settled))
    }

    /// Claims and settles once, until nothing is under way: for tests and for those who drive it themselves.
    ///
    /// # Errors
    /// As [`Worker::claim`]; what has ended and could not be written down is kept for the next call.
    pub async fn step(&mut self) -> Result<Settled> {
        let mut all = self.settle().await?.unwrap_or_default();
        self.claim().await?;
        while !self.is_idle() {
            self.wait().await;
            let settled = self.settle().await?.unwrap_or_default();
            all.delivered += settled.delivered;
            all.retried += settled.retried;
            all.failed += settled.failed;
            all.lost += settled.lost;
        }
        Ok(all)
    }

    /// Works until `stop` turns true. With `drain`, also until nothing is due. Attempts under way are finished and written down.
    pub async fn run(mut self, mut stop: watch::Receiver<bool>, drain: bool) -> Until {
        let cms = self.cms.clone();
        let _working = cms.delivered().work();
        loop {
            if *stop.borrow() {
                self.finish().await;
                return Until::Stopped;
            }
            // First, because a claim may find leases at an end whose attempts have ended here.
            if let Err(error) = self.settle().await {
                tracing::warn!(%error, "deliveries were not written down; trying again");
                tokio::time::sleep(POLL).await;
            }
            let claimed = match self.claim().await {
                Ok(claimed) => claimed,
                Err(error) if cms.db().is_closed() => {
                    tracing::debug!(%error, "the site is closed");
                    return Until::Stopped;
                }
                Err(error) => {
                    tracing::warn!(%error, "the webhook queue cannot be read; trying again");
                    tokio::time::sleep(POLL).await;
                    continue;
                }
            };
            // What is due may have to wait a moment after a failure.
            if claimed == 0 && self.is_idle() && drain && matches!(queue::is_due(cms.db(), cms.clock().now()).await, Ok(false)) {
                return Until::Drained;
            }
            tokio::select! {
                () = self.wait(), if !self.under_way.is_empty() => {}
                () = cms.db().queue().notified() => {}
                () = tokio::time::sleep(POLL) => {}
                // Whoever could stop it may be gone.
                () = async { if stop.changed().await.is_err() { std::future::pending().await } } => {}
            }
        }
    }

    fn is_idle(&self) -> bool {
        self.under_way.is_empty() && self.ended.is_empty()
    }

    /// What cannot be written down in a few tries is sent again when its lease ends.
    async fn finish(&mut self) {
        let mut tries = 3;
        while !self.is_idle() && tries > 0 {
            self.wait().await;
            if let Err(error) = self.settle().await {
                tracing::warn!(%error, "deliveries were not written down");
                tries -= 1;
                tokio::time::sleep(POLL).await;
            }
        }
    }
}

async fn attempt(cms: &Cms, task: Task, place: Arc<()>) -> Ended {
    let mut place = Some(place);
    let Task { target, subscription, row } = task;
    let _under_way = cms.delivered().begin();
    let attempt = match target {
        Ok(_) if row.body.is_empty() => Attempt::without_event(),
        Ok(target) => {
            let request = request::build(cms, &target, &row);
            // A fault of ours is a failure like any other, or the row would come back for ever.
            let sending = AssertUnwindSafe(cms.sender().post(&target.url, request.headers, request.body)).catch_unwind();
            let mut sending = std::pin::pin!(sending);
            let sent = match tokio::time::timeout(QUICK, &mut sending).await {
                Ok(sent) => sent,
                Err(_) => {
                    place = None;
                    sending.await
                }
            };
            sent.unwrap_or_else(|_| Attempt::broken_off())
        }
        Err(why) => Attempt::unsendable(&why),
    };
    Ended { subscription, row, attempt, _place: place }
}
