//! Background work of a site: delivers webhooks, writes counters, removes old rows.

use std::time::Duration;

use tokio::{sync::watch, task::JoinSet};

use super::Cms;
use crate::jobs::{Stop, supervise};

/// How often counters are written and old rows removed.
const UPKEEP: Duration = Duration::from_secs(60);

/// A part of the background work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Work {
    /// Delivers webhooks.
    Deliveries,
    /// Writes counters of keys and removes rows older than `retention` says, once a minute.
    Upkeep,
}

impl Work {
    /// All parts of the background work.
    pub const ALL: &[Self] = &[Self::Deliveries, Self::Upkeep];
}

/// Running background work. Dropping it asks the work to stop; [`Background::stop`] also waits.
#[must_use = "the work stops when this is dropped"]
#[derive(Debug)]
pub struct Background {
    stop: watch::Sender<bool>,
    tasks: JoinSet<()>,
}

impl Cms {
    /// Starts all background work: deliveries, counters, retention. A program that embeds the site
    /// starts it once and keeps the handle. Several processes of one site may all run it. A task
    /// that panics starts again.
    ///
    /// ```no_run
    /// # async fn run(cms: cms_core::Cms) {
    /// let background = cms.background();
    /// // serve requests ...
    /// background.stop().await;
    /// cms.close().await;
    /// # }
    /// ```
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn background(&self) -> Background {
        self.background_of(Work::ALL)
    }

    /// Starts these parts of the background work. A process may leave deliveries to others.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn background_of(&self, work: &[Work]) -> Background {
        let (stop, mut tasks) = (watch::Sender::new(false), JoinSet::new());
        for part in work {
            let (cms, stopped) = (self.clone(), stop.subscribe());
            match part {
                Work::Deliveries => tasks.spawn(supervise("deliveries", stopped, move |stop| {
                    deliver(cms.clone(), stop)
                })),
                Work::Upkeep => tasks
                    .spawn(supervise("upkeep", stopped, move |stop| keep_up(cms.clone(), stop))),
            };
        }
        Background { stop, tasks }
    }

    /// One round of upkeep: writes counters and removes rows older than `retention` says. Errors
    /// are logged; the next round tries again.
    pub async fn upkeep(&self) {
        self.limiter().tidy();
        if let Err(error) = self.flush().await {
            tracing::warn!(%error, "counters were not written; they are kept for the next minute");
        }
        match self.expire().await {
            Ok(0) => {}
            Ok(rows) => tracing::debug!(rows, "old rows were removed"),
            Err(error) => tracing::warn!(%error, "old rows were not removed"),
        }
    }
}

impl Background {
    /// Stops the work and waits for it. Attempts under way finish and are settled.
    pub async fn stop(mut self) {
        self.stop.send_replace(true);
        while self.tasks.join_next().await.is_some() {}
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.stop.send_replace(true);
        // The tasks end by themselves; aborting them would break attempts off.
        self.tasks.detach_all();
    }
}

async fn deliver(cms: Cms, stop: Stop) {
    cms.webhooks().worker().run(stop, false).await;
}

async fn keep_up(cms: Cms, mut stop: Stop) {
    while tokio::time::timeout(UPKEEP, stop.wait_for(|stop| *stop)).await.is_err() {
        cms.upkeep().await;
    }
}
