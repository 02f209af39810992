//! Follows what other processes commit.

use std::{sync::Weak, time::Duration};

use tokio::sync::watch;

use super::{Cms, Rooms};
use crate::{Code, Error, Result, db::follow::Follower, jobs::Backoff, plugins::installed};

/// Pause after a lost connection.
const PAUSE: Duration = Duration::from_millis(500);
/// Waits after plugins could not be taken into service again.
const WAITS: Backoff = Backoff(&[1, 2, 5, 10, 30, 60]);

impl Cms {
    /// Learns what other processes have committed: raises epochs, wakes the worker and those who
    /// follow events. Runs in the background several times a second; a test calls it instead of
    /// waiting.
    ///
    /// # Errors
    /// `unavailable` when the database cannot be reached.
    pub async fn catch_up(&self) -> Result<()> {
        let changed = self.db().catch_up().await?;
        if changed.iter().any(|table| table == installed::TABLE) {
            // Taken into service beside: what else is news must not wait for it.
            self.0.reapplied.send_modify(|times| *times += 1);
        }
        self.0.base.outbox().ring();
        self.0.base.outbox().tell();
        Ok(())
    }
}

/// Follows other processes until the site is dropped or closed.
pub(super) async fn follow(site: Weak<Rooms>) {
    while let Some(db) = site.upgrade().map(|rooms| rooms.base.db().clone()) {
        let outcome = async {
            let mut follower = Follower::new(&db).await?;
            loop {
                follower.news().await?;
                let Some(rooms) = site.upgrade() else { return Ok(()) };
                Cms(rooms).catch_up().await?;
            }
        };
        match outcome.await {
            Ok(()) => return,
            Err(error) if db.is_closed() => return drop::<Error>(error),
            Err(error) => {
                tracing::warn!(%error, "cannot follow other processes; trying again");
                drop(db);
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

/// Takes the plugins into service again that other processes have applied or removed, until the
/// site is dropped or closed.
pub(super) async fn refresh(site: Weak<Rooms>, mut reapplied: watch::Receiver<u64>) {
    while reapplied.changed().await.is_ok() {
        let mut tries = 0;
        while let Some(cms) = site.upgrade().map(Cms) {
            match cms.refresh_plugins().await {
                Ok(()) => break,
                Err(_) if cms.db().is_closed() => return,
                // Such as this program's own plugin, older than the tables: only other declarations
                // mend that.
                Err(error) if error.is_outdated() || error.code() == Code::ValidationFailed => {
                    let what = "plugins that another process applied do not fit this program; \
                                those before stay in service";
                    tracing::warn!(%error, "{what}");
                    break;
                }
                Err(error) => {
                    let what = "plugins that another process applied are not in service here; \
                                trying again";
                    tracing::warn!(%error, "{what}");
                }
            }
            drop(cms);
            let wait_ms = WAITS.wait_ms(tries, i64::MAX).unwrap_or_default();
            tries += 1;
            let wait = Duration::from_millis(wait_ms.unsigned_abs());
            // What is news meanwhile is not waited for.
            if let Ok(Err(_)) = tokio::time::timeout(wait, reapplied.changed()).await {
                return;
            }
        }
    }
}
