//! Background work of a site: delivers webhooks, sends mails, runs tasks, writes counters, removes
//! old rows.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use tokio::{sync::watch, task::JoinSet};

use super::Cms;
use crate::{
    Millis, Result, backup,
    funnels::Funnels,
    jobs::Stop,
    media::Media,
    pages::Pages,
    settings::Settings,
    tasks::{self, ServiceTask},
    webhooks,
};

/// Interval between rounds that write counters and remove old rows.
const UPKEEP: Millis = 60_000;
/// Seconds between searches for abandoned visits.
const ABANDONED_S: u64 = 300;
/// Seconds between removals of old submissions, and of files without rows.
const CLEANUP_S: u64 = 86_400;
/// Seconds between searches for pages to publish or take off.
const SCHEDULE_S: u64 = 60;
/// Seconds after which a backup is given up.
const DAY_S: u64 = 86_400;
/// Maximum number of rounds of deliveries, and of mails, in one step.
const MOST_ROUNDS: usize = 50;
/// How often the clock is checked for the next round.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// A part of the background work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Work {
    /// Delivers webhooks.
    Deliveries,
    /// Writes this process's counters, retries indexes that it could not make, and removes files
    /// of unfinished uploads, once a minute. Every process does this for itself.
    Counters,
    /// Removes rows older than `retention` says, once a minute.
    Upkeep,
    /// Runs tasks of plugins when they are due.
    Tasks,
    /// Calls the plugins' handlers of events.
    Events,
    /// Sends mails.
    Mail,
    /// Runs the service's own tasks when they are due: marks abandoned visits of funnels, compares
    /// media with their rows, and publishes and takes off pages at their planned times.
    Funnels,
}

impl Work {
    /// All parts of the background work.
    pub const ALL: &[Self] = &[
        Self::Deliveries,
        Self::Counters,
        Self::Upkeep,
        Self::Tasks,
        Self::Events,
        Self::Mail,
        Self::Funnels,
    ];
}

/// Running background work. Dropping it asks the work to stop; [`Background::stop`] also waits.
#[must_use = "the work stops when this is dropped"]
#[derive(Debug)]
pub struct Background {
    stop: watch::Sender<bool>,
    tasks: JoinSet<()>,
}

impl Cms {
    /// Starts all background work: deliveries, counters, retention, tasks, handlers of events and
    /// mails. A program that embeds the site starts it once and keeps the handle. Several
    /// processes of one site may run it at once. Work that panics is restarted.
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

    /// Starts these parts of the background work, for a process that leaves other parts to others.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn background_of(&self, work: &[Work]) -> Background {
        let (stop, mut tasks) = (watch::Sender::new(false), JoinSet::new());
        for part in work {
            let (cms, part, stopped) = (self.clone(), *part, stop.subscribe());
            let name = match part {
                Work::Deliveries => "deliveries",
                Work::Counters => "counters",
                Work::Upkeep => "upkeep",
                Work::Tasks => "tasks",
                Work::Events => "events",
                Work::Mail => "mail",
                Work::Funnels => "funnels",
            };
            tasks.spawn(self.supervised(name, stopped, move |stop| run(cms.clone(), part, stop)));
        }
        Background { stop, tasks }
    }

    /// Does once all that is due for these parts of the background work, and waits for it: for
    /// tests, and for programs that drive the work themselves. Returns the number of things done.
    /// Work that a handler or a task makes due meanwhile waits for the next call.
    ///
    /// A hanging task is ended when its time is over by the site's clock.
    ///
    /// # Errors
    /// `unavailable` when the database fails; the next call continues. A delivery or mail whose
    /// result could not be written is sent again when its lease ends.
    pub async fn step(&self, work: &[Work]) -> Result<u64> {
        let mut done = 0;
        for part in work {
            done += match part {
                Work::Deliveries => self.webhooks().worker().steps(MOST_ROUNDS).await?,
                Work::Tasks => self.tasks().scheduler().step().await? as u64,
                Work::Funnels => self.tasks().own_scheduler().step().await? as u64,
                Work::Events => {
                    webhooks::step_handlers(self.webhooks(), self.plugins(), self.items()).await?
                }
                Work::Mail => self.mail().postman().steps(MOST_ROUNDS).await?,
                Work::Counters => {
                    self.count().await;
                    0
                }
                Work::Upkeep => self.expire().await?,
            };
        }
        Ok(done)
    }

    /// Runs a task until it ends by itself, and restarts it after a panic. [`Cms::restarts`]
    /// counts the panics.
    #[doc(hidden)]
    pub fn supervised<F>(
        &self,
        name: &'static str,
        stop: watch::Receiver<bool>,
        task: impl FnMut(watch::Receiver<bool>) -> F + Send + 'static,
    ) -> impl Future<Output = ()> + Send + 'static
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.0.restarts.clone().supervise(name, stop, task)
    }

    /// The background tasks of this process that panicked and were restarted, each with its number
    /// of restarts.
    #[must_use]
    pub fn restarts(&self) -> BTreeMap<&'static str, u64> {
        self.0.restarts.counts()
    }

    /// One round: writes counters, retries indexes that could not be made, and removes rows older
    /// than `retention` says. Errors are logged; the next round tries again.
    pub async fn upkeep(&self) {
        self.count().await;
        self.remove_old_rows().await;
    }

    async fn count(&self) {
        self.limiter().tidy();
        self.retry_indexes(false);
        let what = "counters were not written; they are kept for the next minute";
        self.0.faults.note("counters", what, &self.flush().await);
        // Last, so that a slow store delays nothing else.
        self.media().tidy().await;
    }

    async fn remove_old_rows(&self) {
        match self.expire().await {
            Ok(0) => {}
            Ok(rows) => tracing::debug!(rows, "old rows were removed"),
            // `expire` has logged each error with its room.
            Err(_) => {}
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
        // The tasks end by themselves; aborting them would interrupt attempts.
        self.tasks.detach_all();
    }
}

/// The service's own tasks.
pub(super) fn own_tasks(
    settings: &Settings,
    funnels: &Funnels,
    media: &Media,
    pages: &Pages,
) -> Vec<ServiceTask> {
    let (marks, cleans) = (funnels.clone(), funnels.clone());
    let mark = move |_| -> BoxFuture<'static, Result<()>> {
        let funnels = marks.clone();
        Box::pin(async move { funnels.process_abandoned().await.map(drop) })
    };
    let clean = move |_| -> BoxFuture<'static, Result<()>> {
        let funnels = cleans.clone();
        Box::pin(async move { funnels.cleanup_old_submissions().await.map(drop) })
    };
    let swept = media.clone();
    let sweep = move |_| -> BoxFuture<'static, Result<()>> {
        let media = swept.clone();
        Box::pin(async move { media.check(true).await.map(drop) })
    };
    let scheduled = pages.clone();
    let publish = move |_| -> BoxFuture<'static, Result<()>> {
        let pages = scheduled.clone();
        Box::pin(async move { pages.run_schedule().await.map(drop) })
    };
    let own = |area, name, interval_s, handler| ServiceTask {
        area,
        name,
        interval_s,
        timeout_s: tasks::TIMEOUT_S,
        handler,
    };
    let mut all = vec![
        own("formfunnel", "process_abandoned", ABANDONED_S, Arc::new(mark)),
        own("formfunnel", "cleanup_old_submissions", CLEANUP_S, Arc::new(clean)),
        own("media", "sweep", CLEANUP_S, Arc::new(sweep)),
        own("pages", "schedule", SCHEDULE_S, Arc::new(publish)),
    ];
    if settings.backup.to.is_some() {
        let saved = settings.clone();
        let backup = move |_| -> BoxFuture<'static, Result<()>> {
            let settings = saved.clone();
            Box::pin(async move { backup::scheduled(&settings).await })
        };
        let every = settings.backup.every_h * 3600;
        // A large backup takes hours.
        let own = own("backup", "backup", every, Arc::new(backup));
        all.push(ServiceTask { timeout_s: DAY_S, ..own });
    }
    all
}

async fn run(cms: Cms, part: Work, mut stop: Stop) {
    match part {
        Work::Deliveries => {
            cms.webhooks().worker().run(stop, false).await;
            return;
        }
        Work::Tasks => return cms.tasks().scheduler().run(stop).await,
        Work::Funnels => return cms.tasks().own_scheduler().run(stop).await,
        Work::Events => {
            return webhooks::call_handlers(cms.webhooks(), cms.plugins(), cms.items(), stop).await;
        }
        Work::Mail => {
            cms.mail().postman().run(stop, false).await;
            return;
        }
        Work::Counters | Work::Upkeep => {}
    }
    let rounds = async {
        let mut last = cms.clock().now();
        loop {
            tokio::time::sleep(POLL_INTERVAL).await;
            // If the clock is set back, the round comes early, never late.
            if (cms.clock().now() - last).abs() < UPKEEP {
                continue;
            }
            match part {
                Work::Counters => cms.count().await,
                _ => cms.remove_old_rows().await,
            }
            last = cms.clock().now();
        }
    };
    // Work left at the stop waits for the next start. A database that is away is not waited for.
    tokio::select! {
        () = rounds => {}
        _ = stop.wait_for(|stop| *stop) => {}
    }
}
