//! Statements that remove submissions.

use serde_json::{Map, Value as Json};

use crate::{
    Change, Error, Millis, Result,
    db::{Db, args, statements},
};

/// Submissions of a change at most.
const BATCH: i64 = 200;

/// Submissions that go together.
pub(super) struct Batch<'a> {
    pub(super) funnel: i64,
    /// Their state in the inbox.
    pub(super) status: &'a str,
    /// They began then, or before.
    pub(super) until: Millis,
    pub(super) now: Millis,
}

/// Events of submissions that go.
macro_rules! told {
    () => {
        "in (select 'funnel submission ' || submission_id from cms_formfunnel_folding)"
    };
}

statements! {
    KEEPING = "select id, settings_json from cms_formfunnels where id > $1 \
               and status <> 'deleted' order by id limit $2";
    /// Leaves out submissions with events that are on their way to a webhook: a later run takes
    /// them.
    CHOOSE = "insert into cms_formfunnel_folding (submission_id) select s.id from \
              cms_formfunnel_submissions s where s.funnel_id = $1 and s.inbox_status = $2 \
              and s.started_at <= $3 and (s.status <> 'in_progress' or s.expires_at <= $4) \
              and not exists (select 1 from cms_events e join cms_webhook_queue q \
              on q.event_id = e.id where e.subject = 'funnel submission ' || s.id \
              and q.status in ('pending', 'retry', 'sending')) \
              order by s.started_at, s.id limit $5";
    /// Spares submissions that somebody has changed since they were chosen.
    SPARE = "delete from cms_formfunnel_folding where not exists (select 1 from \
             cms_formfunnel_submissions s where s.id = cms_formfunnel_folding.submission_id \
             and s.inbox_status = $1 and (s.status <> 'in_progress' or s.expires_at <= $2))";
    JOBS = concat!(
        "delete from cms_webhook_queue where event_id in (select id from cms_events \
         where subject ", told!(), ") and status not in ('pending', 'retry', 'sending')"
    );
    EVENTS = concat!(
        "delete from cms_events where subject ", told!(), " and not exists (select 1 from \
         cms_webhook_queue q where q.event_id = cms_events.id)"
    );
    MAILS = concat!("delete from cms_mails where cause ", told!());
    REMOVE = "delete from cms_formfunnel_submissions where id in \
              (select submission_id from cms_formfunnel_folding)";
}

/// Funnels with their settings, after an id.
pub(super) async fn keeping(
    db: &Db,
    after: i64,
    limit: i64,
) -> Result<Vec<(i64, Map<String, Json>)>> {
    let rows = db.all::<(i64, String)>(KEEPING, args![after, limit]).await?;
    let read =
        |(id, text): (i64, String)| Ok((id, serde_json::from_str(&text).map_err(Error::internal)?));
    rows.into_iter().map(read).collect()
}

/// Notes the oldest submissions that go. Returns how many.
pub(super) async fn choose(change: &mut Change, batch: &Batch<'_>) -> Result<u64> {
    let Batch { funnel, status, until, now } = *batch;
    change.run(CHOOSE, args![funnel, status, until, now, BATCH]).await
}

/// Leaves out those that do not go any more.
pub(super) async fn spare(change: &mut Change, batch: &Batch<'_>) -> Result<()> {
    change.run(SPARE, args![batch.status, batch.now]).await.map(drop)
}

/// Removes the noted submissions with their mails and what events tell of them. Returns how many.
pub(super) async fn remove(change: &mut Change) -> Result<u64> {
    for clearing in [JOBS, EVENTS, MAILS] {
        change.run(clearing, args![]).await?;
    }
    change.run(REMOVE, args![]).await
}
