//! Statements that count submissions and remove them.

use serde_json::{Map, Value as Json};

use crate::{
    Change, Error, Millis, Result,
    db::{Db, args, statements},
};

/// Submissions of one day that go together.
pub(super) struct Batch<'a> {
    pub(super) funnel: i64,
    /// Their state in the inbox.
    pub(super) status: &'a str,
    pub(super) day: &'a str,
    /// They began before it.
    pub(super) before: Millis,
    pub(super) now: Millis,
}

/// Adds to the counters of a day.
macro_rules! add {
    ([$($counter:literal),*], $counts:expr) => {
        concat!(
            "insert into cms_formfunnel_daily (funnel_id, version, node_id, edge_id, day",
            $(", ", $counter,)*
            ") ", $counts,
            " on conflict (funnel_id, version, node_id, edge_id, day) do update set day = \
             excluded.day",
            $(", ", $counter, " = cms_formfunnel_daily.", $counter, " + excluded.", $counter,)*
        )
    };
}

statements! {
    KEEPING = "select id, settings_json from cms_formfunnels where id > $1 \
               and status <> 'deleted' order by id limit $2";
    OLDEST = "select started_at from cms_formfunnel_submissions where funnel_id = $1 \
              and inbox_status = $2 and started_at <= $3 \
              and (status <> 'in_progress' or expires_at <= $4) order by started_at, id limit 1";
    /// Before the submissions, as everybody who removes them.
    LOCK = "update cms_formfunnels set rev = rev where id = $1";
    /// From here on nobody else changes them. Others read what was there before.
    MARK = "update cms_formfunnel_submissions set status = 'removed', abandoned_at = case when \
            completed_at is null then coalesce(abandoned_at, expires_at) end where id in (select \
            id from cms_formfunnel_submissions where funnel_id = $1 and inbox_status = $2 \
            and started_at < $3 and (status <> 'in_progress' or expires_at <= $4) \
            order by started_at, id limit 500) and inbox_status = $2";
    VISITS = add!(
        ["started", "engaged", "completed", "abandoned", "spam"],
        "select funnel_id, version, 0, 0, $2, \
         cast(sum(case when is_spam then 0 else 1 end) as bigint), \
         cast(sum(case when not is_spam and steps_answered > 0 then 1 else 0 end) as bigint), \
         cast(sum(case when not is_spam and completed_at is not null then 1 else 0 end) \
         as bigint), \
         cast(sum(case when not is_spam and completed_at is null then 1 else 0 end) as bigint), \
         cast(sum(case when is_spam then 1 else 0 end) as bigint) \
         from cms_formfunnel_submissions where funnel_id = $1 and status = 'removed' \
         and not is_test group by funnel_id, version"
    );
    /// As `cms_v_funnel_dropoff_30d` counts them.
    NODES = add!(
        ["entered", "answered", "exited", "rewound", "invalid", "dwell_ms"],
        "select funnel_id, version, node_id, 0, $2, cast(sum(entered) as bigint), \
         cast(sum(entered * answered) as bigint), cast(sum(entered * (1 - answered)) as bigint), \
         cast(sum(rewound) as bigint), cast(sum(invalid) as bigint), \
         cast(sum(dwell_ms) as bigint) from (select s.id, s.funnel_id, s.version, e.node_id, \
         max(case when e.kind = 'presented' and e.on_path then 1 else 0 end) as entered, \
         max(case when s.completed_at is not null or (e.kind = 'answered' and e.on_path) then 1 \
         else 0 end) as answered, sum(case when e.kind = 'rewound' then 1 else 0 end) as rewound, \
         sum(case when e.kind = 'invalid' then 1 else 0 end) as invalid, \
         coalesce(sum(case when e.kind = 'answered' then e.dwell_ms end), 0) as dwell_ms \
         from cms_formfunnel_submissions s join cms_formfunnel_events e on e.submission_id = s.id \
         where s.funnel_id = $1 and s.status = 'removed' and not s.is_spam and not s.is_test \
         and e.node_id is not null group by s.id, s.funnel_id, s.version, e.node_id) visits \
         where entered + rewound + invalid > 0 group by funnel_id, version, node_id"
    );
    EDGES = add!(
        ["traversed"],
        "select s.funnel_id, s.version, 0, e.edge_id, $2, count(distinct s.id) \
         from cms_formfunnel_submissions s join cms_formfunnel_events e on e.submission_id = s.id \
         where s.funnel_id = $1 and s.status = 'removed' and not s.is_spam and not s.is_test \
         and e.kind = 'edge' and e.on_path and e.edge_id is not null \
         group by s.funnel_id, s.version, e.edge_id"
    );
    MAILS = "delete from cms_mails where cause in (select 'funnel submission ' || id from \
             cms_formfunnel_submissions where funnel_id = $1 and status = 'removed')";
    REMOVE = "delete from cms_formfunnel_submissions where funnel_id = $1 and status = 'removed'";
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

/// When the oldest submission began that goes.
pub(super) async fn oldest(
    db: &Db,
    funnel: i64,
    status: &str,
    until: Millis,
    now: Millis,
) -> Result<Option<Millis>> {
    let found = db.optional::<(i64,)>(OLDEST, args![funnel, status, until, now]).await?;
    Ok(found.map(|(began,)| began))
}

/// Counts the oldest submissions of a batch and removes them. Returns how many.
pub(super) async fn fold(change: &mut Change, batch: &Batch<'_>) -> Result<u64> {
    let Batch { funnel, status, day, before, now } = *batch;
    change.run(LOCK, args![funnel]).await?;
    change.run(MARK, args![funnel, status, before, now]).await?;
    for counting in [VISITS, NODES, EDGES] {
        change.run(counting, args![funnel, day]).await?;
    }
    change.run(MAILS, args![funnel]).await?;
    change.run(REMOVE, args![funnel]).await
}
