//! Follows the commits of other processes.

use std::{pin::pin, sync::Weak, time::Duration};

use tokio::{sync::watch, time::timeout};

use super::{Cms, Rooms};
use crate::{
    Code, Error, Result,
    db::{Db, follow::Follower},
    jobs::{Backoff, FaultLog},
    plugins::{has_manifest, installed},
};

/// Pause after a lost connection.
const PAUSE: Duration = Duration::from_millis(500);
/// How often missing plugin folders are checked.
const FOLDERS: Duration = Duration::from_secs(1);
/// Waits after plugins could not be taken into service again.
const RETRY_BACKOFF: Backoff = Backoff(&[1, 2, 5, 10, 30, 60]);

impl Cms {
    /// Catches up with the commits of other processes: raises epochs, and wakes the worker and
    /// those that follow events. Runs in the background several times a second. A test calls it
    /// instead of waiting.
    pub async fn catch_up(&self) -> Result<()> {
        let changed = self.db().catch_up().await?;
        if changed.iter().any(|table| table == installed::TABLE) {
            // `refresh` does this in a task of its own, so that other news does not wait for it.
            self.0.reapplied.send_modify(|times| *times += 1);
        }
        self.0.base.outbox().ring();
        self.0.base.outbox().tell();
        Ok(())
    }
}

impl Cms {
    /// Whether the missing folder of a plugin that was in service exists again.
    fn has_lost_folder_again(&self) -> bool {
        let plugins = &self.settings().dirs.plugins;
        self.plugins().gone().iter().any(|id| has_manifest(&plugins.join(id)))
    }
}

/// Follows other processes until the site is dropped or closed.
pub(super) async fn follow(site: Weak<Rooms>) {
    let (faults, what) = (FaultLog::default(), "cannot follow other processes; trying again");
    while let Some(db) = site.upgrade().map(|rooms| rooms.base.db().clone()) {
        let outcome = async {
            let mut follower = connected(&site, &db).await?;
            while look(&site).await? {
                follower.news().await?;
                faults.note("follow", what, &Ok(()));
            }
            Ok::<(), Error>(())
        };
        let outcome = outcome.await;
        if outcome.is_ok() || db.is_closed() {
            return;
        }
        faults.note("follow", what, &outcome);
        drop(db);
        tokio::time::sleep(PAUSE).await;
    }
}

/// Connects. Looks for commits meanwhile too, because the site may work for a while without a
/// spare connection.
async fn connected(site: &Weak<Rooms>, db: &Db) -> Result<Follower> {
    let mut connecting = pin!(Follower::new(db));
    loop {
        // If the database is away, connecting reports that.
        let _ = look(site).await;
        if let Ok(follower) = timeout(PAUSE, &mut connecting).await {
            return follower;
        }
    }
}

/// Catches up with other commits. Returns false when the site is gone.
async fn look(site: &Weak<Rooms>) -> Result<bool> {
    let Some(rooms) = site.upgrade() else { return Ok(false) };
    Cms(rooms).catch_up().await.map(|()| true)
}

/// Takes plugins into service again that other processes have applied or removed, and plugins
/// whose missing folder is back. Runs until the site is dropped or closed.
pub(super) async fn refresh(site: Weak<Rooms>, mut reapplied: watch::Receiver<u64>) {
    // A folder that is back but does not fit is not retried each second.
    let mut looks_for_folders = true;
    loop {
        match timeout(FOLDERS, reapplied.changed()).await {
            Ok(Ok(())) => looks_for_folders = true,
            Ok(Err(_)) => return,
            Err(_) => match site.upgrade().map(Cms) {
                None => return,
                Some(cms) if looks_for_folders && cms.has_lost_folder_again() => {}
                Some(_) => continue,
            },
        }
        let (mut tries, faults) = (0, FaultLog::default());
        while let Some(cms) = site.upgrade().map(Cms) {
            let refreshed = cms.refresh_plugins().await;
            let what = "the plugins that another process applied could not be put into service; \
                        trying again";
            match &refreshed {
                Ok(()) => {
                    faults.note("plugins", what, &refreshed);
                    break;
                }
                Err(_) if cms.db().is_closed() => return,
                // For example, this program's own plugin is older than the tables. Only other
                // declarations solve this, so it is not retried.
                Err(error) if error.is_outdated() || error.code() == Code::ValidationFailed => {
                    let what = "this program cannot serve the plugins that another process \
                                applied; the previous plugins stay in service";
                    tracing::warn!(?error, "{what}");
                    looks_for_folders = false;
                    break;
                }
                Err(_) => faults.note("plugins", what, &refreshed),
            }
            drop(cms);
            let wait_ms = RETRY_BACKOFF.wait_ms(tries, i64::MAX).unwrap_or_default();
            tries += 1;
            let wait = Duration::from_millis(wait_ms.unsigned_abs());
            // News ends the wait early.
            if let Ok(Err(_)) = timeout(wait, reapplied.changed()).await {
                return;
            }
        }
    }
}
