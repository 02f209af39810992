//! Makes indexes in the background after a start, while requests are served. An index that cannot
//! be made is retried after increasing waits.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use tokio::sync::watch;

use super::Cms;
use crate::{
    Clock, Code, Error, Millis, Result,
    content::{install, plan::Build},
    db::{self, Db},
    jobs::Backoff,
    plugins::Problem,
};

/// Waits after consecutive failures.
const RETRY_BACKOFF: Backoff = Backoff(&[60, 120, 240, 480, 960, 1920, 3600]);
/// Pause between two indexes, in which others that wait for their turn get it.
const BETWEEN: Duration = db::TURN.saturating_mul(2);

/// An index to be made.
#[derive(Clone)]
pub(super) struct IndexJob {
    plugin: String,
    build: Build,
    /// Number of failed tries.
    tries: i64,
}

impl IndexJob {
    pub(super) fn new(plugin: &str, build: Build) -> Self {
        Self { plugin: plugin.to_owned(), build, tries: 0 }
    }

    /// Whether it is an index of this plugin.
    pub(super) fn is_of(&self, plugin: &str) -> bool {
        self.plugin == plugin
    }

    /// Whether both mean the same index.
    fn is(&self, other: &Self) -> bool {
        self.plugin == other.plugin && self.build.index.name == other.build.index.name
    }

    /// Its table and columns, for messages.
    fn named(&self) -> String {
        format!("{} ({})", self.build.table.name, self.build.index.spelled().join(", "))
    }
}

/// An index that was not made, and the reason. It stays listed until it is made.
struct Failed {
    wanted: IndexJob,
    why: String,
    again_at: Millis,
    /// Whether it is being tried again.
    is_tried: bool,
}

/// The number of indexes that are still to be made, and those that failed.
#[derive(Default)]
struct Progress {
    left: usize,
    failed: Vec<Failed>,
}

impl Progress {
    /// Records the outcome of an index.
    fn end(&mut self, wanted: &IndexJob, failed: Option<Failed>) {
        self.left -= 1;
        self.failed.retain(|one| !one.wanted.is(wanted));
        self.failed.extend(failed);
    }

    /// Records that making an index was interrupted.
    fn break_off(&mut self, wanted: IndexJob, now: Millis) {
        self.left -= 1;
        if let Some(failed) = self.failed.iter_mut().find(|one| one.wanted.is(&wanted)) {
            failed.is_tried = false;
        } else {
            let why = "the work was interrupted".to_owned();
            self.failed.push(Failed { wanted, why, again_at: now, is_tried: false });
        }
    }
}

/// The indexes that this process makes, with their progress.
#[derive(Default)]
pub(super) struct Building(watch::Sender<Progress>);

impl Building {
    /// Makes these indexes, one after the other.
    pub(super) fn begin(&self, cms: &Cms, wanted: Vec<IndexJob>) {
        self.0.send_modify(|progress| progress.left += wanted.len());
        self.run(cms, wanted);
    }

    /// Retries the failed indexes that are due at this time.
    fn again(&self, cms: &Cms, now: Millis) {
        let mut due = Vec::new();
        self.0.send_modify(|progress| {
            for failed in &mut progress.failed {
                if failed.again_at <= now && !failed.is_tried {
                    failed.is_tried = true;
                    due.push(failed.wanted.clone());
                }
            }
            progress.left += due.len();
        });
        self.run(cms, due);
    }

    fn run(&self, cms: &Cms, wanted: Vec<IndexJob>) {
        if wanted.is_empty() {
            return;
        }
        let all = wanted.len();
        let (progress, clock) = (self.0.clone(), cms.clock().clone());
        let mut left = PendingIndexes { progress, clock, wanted: wanted.into() };
        // Holds only the database: a handle on the site would keep it open until the last index
        // is made.
        let db = cms.db().clone();
        tokio::spawn(async move {
            let mut number = 1;
            while let Some(wanted) = left.wanted.front().cloned() {
                if number > 1 {
                    tokio::time::sleep(BETWEEN).await;
                }
                if db.is_closed() {
                    break;
                }
                let failed = one(&db, wanted.clone(), (number, all)).await.map(|(wanted, why)| {
                    let wait =
                        RETRY_BACKOFF.wait_ms(wanted.tries - 1, i64::MAX).unwrap_or_default();
                    Failed { wanted, why, again_at: left.clock.now() + wait, is_tried: false }
                });
                left.wanted.pop_front();
                left.progress.send_modify(|progress| progress.end(&wanted, failed));
                number += 1;
            }
        });
    }
}

/// Makes an index and logs the outcome. Returns the index and the reason if it was not made.
async fn one(
    db: &Db,
    mut wanted: IndexJob,
    (number, all): (usize, usize),
) -> Option<(IndexJob, String)> {
    let (plugin, table) = (&wanted.plugin, &wanted.build.table.name);
    let columns = wanted.build.index.spelled().join(", ");
    tracing::info!(plugin, table, columns, "making index {number} of {all}; requests go on");
    let began = Instant::now();
    match install::build(db, plugin, &wanted.build).await {
        Ok(true) => {
            let took_ms = began.elapsed().as_millis();
            tracing::info!(plugin, table, columns, took_ms, "index {number} of {all} is made");
            None
        }
        // The next start makes the index.
        Ok(false) | Err(_) if db.is_closed() => None,
        Ok(false) => {
            tracing::info!(plugin, table, columns, "index {number} of {all} is no longer declared");
            None
        }
        Err(error) => {
            tracing::error!(plugin, table, columns, ?error, "an index was not made; trying again");
            wanted.tries += 1;
            Some((wanted, error.detail().to_owned()))
        }
    }
}

/// Indexes that one start has not made yet. After a panic the rest is retried, and nobody waits
/// for it meanwhile.
struct PendingIndexes {
    progress: watch::Sender<Progress>,
    clock: Clock,
    wanted: VecDeque<IndexJob>,
}

impl Drop for PendingIndexes {
    fn drop(&mut self) {
        let (rest, now) = (std::mem::take(&mut self.wanted), self.clock.now());
        if rest.is_empty() {
            return;
        }
        self.progress.send_modify(|progress| {
            rest.into_iter().for_each(|wanted| progress.break_off(wanted, now));
        });
    }
}

impl Cms {
    /// Waits until the indexes that opening the site began are made.
    ///
    /// # Errors
    /// `unavailable` when some could not be made; the background work and the next start
    /// retry them.
    pub async fn indexes_made(&self) -> Result<()> {
        let mut progress = self.0.building.0.subscribe();
        // The sender lives as long as the site.
        let Ok(made) = progress.wait_for(|progress| progress.left == 0).await else {
            return Ok(());
        };
        if made.failed.is_empty() {
            return Ok(());
        }
        let failures: Vec<_> = made
            .failed
            .iter()
            .map(|failed| format!("{}: {}", failed.wanted.named(), failed.why))
            .collect();
        let detail = format!("Indexes were not made: {}.", failures.join("; "));
        Err(Error::new(Code::Unavailable, detail))
    }

    /// The state of the indexes that this process makes: `failed` while some could not be made,
    /// also while they are retried; `making`; `made`.
    #[must_use]
    pub fn indexes_state(&self) -> &'static str {
        let progress = self.0.building.0.borrow();
        match (progress.left, progress.failed.is_empty()) {
            (_, false) => "failed",
            (0, true) => "made",
            _ => "making",
        }
    }

    /// The indexes of a plugin that this process could not make.
    #[must_use]
    pub fn failed_indexes(&self, plugin: &str) -> Vec<Problem> {
        let progress = self.0.building.0.borrow();
        let own = progress.failed.iter().filter(|failed| failed.wanted.plugin == plugin);
        own.map(|Failed { wanted, why, .. }| {
            let index = wanted.named();
            Problem::whole(format!("the index {index} was not made and is tried again: {why}"))
        })
        .collect()
    }

    /// Retries indexes that could not be made: with `now` all of them, else those whose wait
    /// is over.
    pub(super) fn retry_indexes(&self, now: bool) {
        let until = if now { Millis::MAX } else { self.clock().now() };
        self.0.building.again(self, until);
    }
}
