//! Removes old submissions. Their counts stay.

use serde_json::{Map, Value as Json};

use super::{
    Funnels,
    counters::{self, TURN},
    settings::{FunnelSettings, INBOX_STATUSES, Retention},
};
use crate::{
    Actor, Change, Code, Error, Millis, Result,
    db::{Db, args, statements, watched},
    jobs,
};

/// Number of funnels read at once.
const PAGE: i64 = 100;
const DAY_MS: Millis = 24 * 3_600_000;

/// The part of a submission that decides how long it is kept.
pub(super) struct Aged<'a> {
    /// Its state in the inbox.
    pub(super) status: &'a str,
    pub(super) started_at: Millis,
    /// Until when the visit may go on; None: it is over.
    pub(super) open_until: Option<Millis>,
}

impl Funnels {
    /// Removes submissions that are older than their funnel keeps them, with their files and
    /// mails, and the payloads of events that hold their answers. Submissions that are not counted
    /// yet are first added to the counters of their day, in the same change. Two kinds are kept:
    /// visits that can still go on, and submissions with an event on its way to a webhook. Returns
    /// how many were removed.
    ///
    /// # Errors
    /// As every write. Committed removals stay.
    pub async fn cleanup_old_submissions(&self) -> Result<u64> {
        watched(self.clean_all()).await
    }

    async fn clean_all(&self) -> Result<u64> {
        let (base, mut last, mut removed) = (&self.0.base, 0, 0);
        loop {
            let page = keeping(base.db(), last, PAGE).await?;
            let Some((id, _)) = page.last() else { return Ok(removed) };
            last = *id;
            for (id, settings) in &page {
                let (settings, _) = FunnelSettings::read(settings);
                match self.clean(*id, &settings).await {
                    Ok(rows) => removed += rows,
                    Err(error) if error.code() == Code::Unavailable => return Err(error),
                    // One funnel must not stop the others.
                    Err(error) => {
                        tracing::warn!(funnel = id, ?error, "old submissions are not removed");
                    }
                }
            }
        }
    }

    async fn clean(&self, funnel: i64, settings: &FunnelSettings) -> Result<u64> {
        let (base, mut removed) = (&self.0.base, 0);
        for status in INBOX_STATUSES {
            let Some(days) = self.kept_days(settings, status) else { continue };
            let now = base.clock().now();
            // The rule of `kept_until`, for all submissions of a state.
            let until = jobs::days_before(now, u64::try_from(days).unwrap_or_default());
            let batch = Batch { funnel, status, until, now };
            while let Some(rows) = self.remove(&batch).await? {
                removed += rows;
            }
        }
        if removed > 0 {
            tracing::info!(funnel, removed, "old submissions were removed");
        }
        Ok(removed)
    }

    /// The time after which the next run removes a submission; None: it is kept for good.
    pub(super) fn kept_until(&self, settings: &FunnelSettings, one: &Aged<'_>) -> Option<Millis> {
        let days = self.kept_days(settings, one.status)?;
        let old = one.started_at.saturating_add(days.saturating_mul(DAY_MS));
        Some(old.max(one.open_until.unwrap_or(old)))
    }

    fn kept_days(&self, settings: &FunnelSettings, status: &str) -> Option<i64> {
        let site = self.0.base.settings().retention.submissions_days;
        settings.retention.days(status, i64::try_from(site).unwrap_or(i64::MAX))
    }

    /// Removes one batch. None: no submission is left to remove.
    async fn remove(&self, batch: &Batch<'_>) -> Result<Option<u64>> {
        let mut change = self.0.base.change(Actor::System).await?;
        change.lock(TURN).await?;
        counters::sql::hold_funnels(&mut change).await?;
        if stage_batch(&mut change, batch).await? == 0 {
            return Ok(None);
        }
        change.search_by_key().await?;
        counters::sql::hold(&mut change).await?;
        unstage_changed(&mut change, batch).await?;
        self.count_leaving(&mut change).await?;
        let removed = remove(&mut change).await?;
        counters::sql::clear_staged(&mut change).await?;
        change.commit().await?;
        Ok(Some(removed))
    }
}

impl Retention {
    /// Days that submissions with this state in the inbox are kept; None: for good.
    fn days(&self, status: &str, site: i64) -> Option<i64> {
        match self {
            Self::Site => Some(site),
            Self::All(days) => *days,
            Self::ByStatus(states) => states.get(status).copied().unwrap_or(Some(site)),
        }
    }
}

/// Maximum number of submissions in a change.
const BATCH: i64 = 200;

/// Submissions that are removed in one change.
struct Batch<'a> {
    funnel: i64,
    /// Their state in the inbox.
    status: &'a str,
    /// They began at this time or before.
    until: Millis,
    now: Millis,
}

/// The subjects of events of the staged submissions.
macro_rules! staged_subjects {
    () => {
        "in (select 'funnel submission ' || submission_id from cms_formfunnel_folding)"
    };
}

statements! {
    KEEPING = "select id, settings_json from cms_formfunnels where id > $1 \
               and status <> 'deleted' order by id limit $2";
    /// Leaves out submissions with events that are on their way to a webhook: a later run
    /// removes them.
    STAGE_BATCH = "insert into cms_formfunnel_folding (submission_id) select s.id from \
                   cms_formfunnel_submissions s where s.funnel_id = $1 and s.inbox_status = $2 \
                   and s.started_at <= $3 and (s.status = 'completed' or s.expires_at <= $4) \
                   and not exists (select 1 from cms_events e join cms_webhook_queue q \
                   on q.event_id = e.id where e.subject = 'funnel submission ' || s.id \
                   and q.status in ('pending', 'retry', 'sending')) \
                   order by s.started_at, s.id limit $5";
    /// Unstages submissions that somebody has changed since they were staged.
    UNSTAGE_CHANGED = "delete from cms_formfunnel_folding where not exists (select 1 from \
                       cms_formfunnel_submissions s where \
                       s.id = cms_formfunnel_folding.submission_id and s.inbox_status = $1 \
                       and (s.status = 'completed' or s.expires_at <= $2))";
    JOBS = concat!(
        "delete from cms_webhook_queue where event_id in (select id from cms_events \
         where subject ", staged_subjects!(), ") and status not in ('pending', 'retry', 'sending')"
    );
    EVENTS = concat!(
        "delete from cms_events where subject ", staged_subjects!(), " and not exists \
         (select 1 from cms_webhook_queue q where q.event_id = cms_events.id)"
    );
    MAILS = concat!("delete from cms_mails where cause ", staged_subjects!());
    REMOVE = "delete from cms_formfunnel_submissions where id in \
              (select submission_id from cms_formfunnel_folding)";
}

/// Funnels with their settings, after an id.
async fn keeping(db: &Db, after: i64, limit: i64) -> Result<Vec<(i64, Map<String, Json>)>> {
    let rows = db.all::<(i64, String)>(KEEPING, args![after, limit]).await?;
    let read =
        |(id, text): (i64, String)| Ok((id, serde_json::from_str(&text).map_err(Error::internal)?));
    rows.into_iter().map(read).collect()
}

/// Stages the oldest submissions of the batch. Returns how many.
async fn stage_batch(change: &mut Change, batch: &Batch<'_>) -> Result<u64> {
    let Batch { funnel, status, until, now } = *batch;
    change.run(STAGE_BATCH, args![funnel, status, until, now, BATCH]).await
}

/// Unstages submissions that have changed since they were staged.
async fn unstage_changed(change: &mut Change, batch: &Batch<'_>) -> Result<()> {
    change.run(UNSTAGE_CHANGED, args![batch.status, batch.now]).await.map(drop)
}

/// Removes the staged submissions, with their mails and their events. Returns how many.
async fn remove(change: &mut Change) -> Result<u64> {
    for clearing in [JOBS, EVENTS, MAILS] {
        change.run(clearing, args![]).await?;
    }
    change.run(REMOVE, args![]).await
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn states_are_kept_as_the_funnel_says_and_otherwise_as_the_site_does() {
        let states = BTreeMap::from([("converted".to_owned(), None), ("new".to_owned(), Some(7))]);
        for (retention, status, days) in [
            (Retention::Site, "new", Some(30)),
            (Retention::All(Some(5)), "new", Some(5)),
            (Retention::All(None), "new", None),
            (Retention::ByStatus(states.clone()), "new", Some(7)),
            (Retention::ByStatus(states.clone()), "converted", None),
            (Retention::ByStatus(states), "rejected", Some(30)),
        ] {
            assert_eq!(retention.days(status, 30), days, "{retention:?} {status}");
        }
    }
}
