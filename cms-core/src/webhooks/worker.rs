//! The worker: claims, sends, settles. Every step returns what happened; only [`Worker::run`] sleeps.

use std::time::Duration;

use tokio::{sync::watch, task::JoinSet};

use super::{
    claim::{Task, claim},
    request,
    send::Attempt,
    settle::{Ended, Settled, settle},
};
use crate::{Cms, Result};

/// Without news the queue is looked at this often: retries fall due by time alone.
const POLL: Duration = Duration::from_millis(250);
/// Ends of attempts that share one transaction.
const BATCH: usize = 256;

/// Delivers what is queued. Several at once, in one process or in many, are harmless.
pub struct Worker {
    cms: Cms,
    under_way: JoinSet<Ended>,
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
        Self { cms: cms.clone(), under_way: JoinSet::new(), ended: Vec::new() }
    }

    /// Claims what is due, as far as there is room, and begins the attempts. Returns how many.
    ///
    /// # Errors
    /// `unavailable` when the database cannot be reached.
    pub async fn claim(&mut self) -> Result<usize> {
        let room = self.cms.settings().webhooks.concurrency.saturating_sub(self.under_way.len() + self.ended.len());
        let tasks = claim(&self.cms, room).await?;
        let count = tasks.len();
        for task in tasks {
            let cms = self.cms.clone();
            self.under_way.spawn(async move { attempt(&cms, task).await });
        }
        Ok(count)
    }

    /// Waits for an attempt to end. Nothing is lost when this is given up half-way.
    async fn wait(&mut self) {
        if let Some(ended) = self.under_way.join_next().await {
            self.ended.extend(ended.ok());
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
        let mut all = Settled::default();
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
        loop {
            if *stop.borrow() {
                self.finish().await;
                return Until::Stopped;
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
            if claimed == 0 && self.is_idle() && drain {
                return Until::Drained;
            }
            tokio::select! {
                () = self.wait(), if !self.under_way.is_empty() => {}
                () = cms.db().queue().notified() => {}
                () = tokio::time::sleep(POLL) => {}
                _ = stop.changed() => {}
            }
            if let Err(error) = self.settle().await {
                tracing::warn!(%error, "deliveries were not written down; trying again");
                tokio::time::sleep(POLL).await;
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

async fn attempt(cms: &Cms, task: Task) -> Ended {
    let Task { target, subscription, row } = task;
    let _under_way = cms.delivered().begin();
    let attempt = match target {
        Ok(target) => {
            let request = request::build(cms, &target, &row);
            cms.sender().post(&target.url, request.headers, request.body).await
        }
        Err(why) => Attempt::unsendable(&why),
    };
    Ended { subscription, row, attempt }
}
