//! What the queue and this process's attempts look like, for `/metrics` and `/readyz`.

use super::queue;
use crate::{Millis, Result, jobs::Outcomes, webhooks::Webhooks};

/// Lanes in [`Backlog::late_lanes`] at most.
const LATE_LANES: i64 = 5;

/// Number of jobs that are `pending`, `retry`, `sending` and `held`, and the latest lanes, each
/// with the time when its oldest job became due.
pub(in crate::webhooks) type Figures = ((i64, i64, i64, i64), Vec<(i64, i64)>);

/// The state of the queue, for all processes. Settled jobs are not counted: they are no load, and
/// there may be many.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Backlog {
    /// Jobs not attempted yet.
    pub pending: i64,
    /// Jobs that failed and wait for their next attempt.
    pub retry: i64,
    /// Jobs that a worker of any process holds.
    pub sending: i64,
    /// Jobs that wait for their subscription to be activated.
    pub held: i64,
    /// Milliseconds by which the oldest due job is late; 0 when none is due.
    pub oldest_due_ms: i64,
    /// The latest subscriptions, five at most, each with the milliseconds by which its oldest due
    /// job is late.
    pub late_lanes: Vec<(i64, i64)>,
}

impl Webhooks {
    /// Attempts of this process since its start, by outcome.
    #[must_use]
    pub fn outcomes(&self) -> Outcomes {
        self.0.counters.outcomes()
    }

    /// Attempts under way in this process.
    #[must_use]
    pub fn under_way(&self) -> u64 {
        self.0.counters.under_way.count()
    }

    /// Milliseconds by which the oldest due job is late; 0 when none is due. The figure may be one
    /// second old.
    ///
    /// # Errors
    /// `unavailable` when the database cannot be reached.
    pub async fn oldest_due_ms(&self) -> Result<i64> {
        let (db, now) = (self.0.base.db().clone(), self.0.base.clock().now());
        let read = async move { queue::oldest(&db).await };
        let oldest = self.0.oldest.get(now, read).await?;
        Ok(oldest.map_or(0, |oldest| (now - oldest).max(0)))
    }

    /// When a worker of any process last served a subscription that is active.
    pub(crate) async fn served_at(&self) -> Result<Option<Millis>> {
        queue::served(self.0.base.db()).await
    }

    /// Reads the state of the queue from indexes: 200,000 waiting jobs take some 55 ms on SQLite,
    /// 0.2 s on PostgreSQL. The figures may be one second old.
    ///
    /// # Errors
    /// `unavailable` when the database cannot be reached.
    pub async fn backlog(&self) -> Result<Backlog> {
        let (db, now) = (self.0.base.db().clone(), self.0.base.clock().now());
        let read = async move {
            Ok((queue::waiting(&db).await?, queue::late(&db, now, LATE_LANES).await?))
        };
        let ((pending, retry, sending, held), late) = self.0.backlog.get(now, read).await?;
        let late_lanes: Vec<_> =
            late.into_iter().map(|(id, due)| (id, (now - due).max(0))).collect();
        let oldest_due_ms = late_lanes.first().map_or(0, |(_, late)| *late);
        Ok(Backlog { pending, retry, sending, held, oldest_due_ms, late_lanes })
    }
}

#[cfg(all(test, feature = "sqlite"))]
mod tests {
    use sqlx::AssertSqlSafe;

    use crate::{Cms, settings::Settings, webhooks::deliver::queue};

    /// The cost must not depend on settled jobs or on the width of rows.
    #[tokio::test]
    async fn the_backlog_is_read_from_indexes() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut settings = Settings::default();
        settings.dirs.data = folder.path().to_owned();
        let cms = Cms::builder(settings).open().await.expect("opened");
        let mut looked_at = 0;
        for sql in [queue::DUE, queue::WAITING, queue::OLDEST, queue::LATE] {
            let explained = AssertSqlSafe(format!("explain query plan {}", sql.sql()));
            let plan: Vec<(i64, i64, i64, String)> =
                cms.db().all(explained, Vec::new()).await.expect("a plan");
            for (.., step) in plan
                .iter()
                .filter(|(.., step)| step.contains("cms_webhook_queue") || step.contains(" q "))
            {
                assert!(step.contains("COVERING INDEX"), "{step}: {sql:?}");
                looked_at += 1;
            }
        }
        assert!(looked_at >= 7, "every part of the four was seen: {looked_at}");
    }
}
