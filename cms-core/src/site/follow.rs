//! Follows what other processes commit.

use std::{sync::Weak, time::Duration};

use super::{Cms, Rooms};
use crate::{Error, Result, db::follow::Follower};

/// Pause after a lost connection.
const PAUSE: Duration = Duration::from_millis(500);

impl Cms {
    /// Learns what other processes have committed: raises epochs, wakes the worker and those who
    /// follow events. Runs in the background several times a second; a test calls it instead of
    /// waiting.
    ///
    /// # Errors
    /// `unavailable` when the database cannot be reached.
    pub async fn catch_up(&self) -> Result<()> {
        let changed = self.db().catch_up().await?;
        self.follow_plugins(&changed).await;
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
