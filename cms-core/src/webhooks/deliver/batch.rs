//! The statements of every delivery. Each handles many jobs or lanes, because a statement costs
//! more than its work. Its first value is a JSON array with one array for each job or lane.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::Arc,
};

use serde::Serialize;

use super::queue::{Claimed, Event, LARGE, event_columns};
use crate::{
    Change, Error, Result,
    db::{PerEngine, Statement, args, record},
};

/// Events that one statement reads: each may be large.
const EVENTS: usize = 16;

record! {
    /// A claimed job without its event.
    struct ClaimedRow: claimed_columns {
        id: i64 = "id",
        event_id: String = "event_id",
        retry_count: i64 = "retry_count",
        lease_token: i64 = "lease_token",
        lane: i64 = "subscription_id",
    }
}

/// The statements of one engine.
#[derive(Clone, Copy)]
pub(crate) struct Batch {
    /// `[lane, …]`
    served: Statement,
    /// `[lane, limit]`
    claim: Statement,
    /// `[event]`; bodies of `$2` bytes at most.
    events: Statement,
    /// `[lane]`
    failing: Statement,
    /// `[job, token, …]`
    delivered: Statement,
    /// `[job, token, status code, response, duration]`
    log_delivered: Statement,
}

/// `$rows`: the elements `e` of the array. `$due`: the due jobs of each lane, oldest first, up to
/// its limit and to `$4`.
macro_rules! batch {
    ($rows:literal, $due:expr) => {
        Batch {
            served: Statement::new(
                "webhooks::batch::served",
                concat!(
                    "update cms_webhook_subscriptions set served_at = $2 \
                     where id in (select cast(e.value ->> 0 as bigint) from ",
                    $rows,
                    ")"
                ),
            ),
            // Skips jobs that were cancelled meanwhile. `status || ''` keeps the engine from
            // searching an index by status: many jobs may share one.
            claim: Statement::new(
                "webhooks::batch::claim",
                concat!(
                    "update cms_webhook_queue set status = 'sending', lease_until = $3, \
                     lease_token = lease_token + 1 where id in (",
                    $due,
                    ") \
                     and status || '' in ('pending', 'retry') returning ",
                    claimed_columns!()
                ),
            ),
            events: Statement::new(
                "webhooks::batch::events",
                concat!(
                    "select ",
                    event_columns!(),
                    " from cms_events \
                     where id in (select e.value ->> 0 from ",
                    $rows,
                    ")"
                ),
            ),
            failing: Statement::new(
                "webhooks::batch::failing",
                concat!(
                    "select id from cms_webhook_subscriptions where failure_count > 0 \
                     and id in (select cast(e.value ->> 0 as bigint) from ",
                    $rows,
                    ")"
                ),
            ),
            // Applies after the lease has ended too, as long as no other worker has claimed the
            // job: the job was delivered all the same.
            delivered: Statement::new(
                "webhooks::batch::delivered",
                concat!(
                    "update cms_webhook_queue set status = 'delivered', lease_until = null, \
                     error_message = null, settled_at = $2 from \
                     (select cast(e.value ->> 0 as bigint) as job, \
                     cast(e.value ->> 1 as bigint) as token from ",
                    $rows,
                    ") d \
                     where id = d.job and lease_token = d.token \
                     and status in ('sending', 'retry', 'held') returning id, lease_token"
                ),
            ),
            log_delivered: Statement::new(
                "webhooks::batch::log_delivered",
                concat!(
                    "insert into cms_webhook_deliveries (queue_id, event_id, event_name, \
                     subscription_id, attempt, outcome, status_code, response, duration_ms, \
                     created_at) select q.id, q.event_id, v.name, q.subscription_id, \
                     q.retry_count + 1, 'delivered', cast(e.value ->> 2 as bigint), \
                     e.value ->> 3, cast(e.value ->> 4 as bigint), cast($2 as bigint) \
                     from ",
                    $rows,
                    " join cms_webhook_queue q \
                     on q.id = cast(e.value ->> 0 as bigint) \
                     join cms_events v on v.id = q.event_id order by q.id"
                ),
            ),
        }
    };
}

/// SQLite has no `lateral`, but a function in `from` may use the tables before it.
pub(crate) const BATCH: PerEngine<Batch> = PerEngine {
    sqlite: batch!(
        "json_each($1) e",
        "select d.value from json_each($1) e, json_each((select json_group_array(l.id order by \
         l.next_retry_at, l.id) from (select id, next_retry_at from cms_webhook_queue \
         where subscription_id = cast(e.value ->> 0 as bigint) \
         and status in ('pending', 'retry') and next_retry_at <= $2 \
         order by next_retry_at, id limit cast($4 as bigint)) l)) d \
         where d.key < cast(e.value ->> 1 as bigint)"
    ),
    postgres: batch!(
        "json_array_elements(cast($1 as json)) e(value)",
        "select d.id from json_array_elements(cast($1 as json)) e(value) cross join lateral \
         (select id from cms_webhook_queue where subscription_id = cast(e.value ->> 0 as bigint) \
         and status in ('pending', 'retry') and next_retry_at <= $2 order by next_retry_at, id \
         limit least(cast($4 as bigint), cast(e.value ->> 1 as bigint))) d"
    ),
};

impl Batch {
    pub(crate) fn all(self) -> [Statement; 6] {
        let Self { served, claim, events, failing, delivered, log_delivered } = self;
        [served, claim, events, failing, delivered, log_delivered]
    }
}

/// The rows as JSON.
fn json(rows: impl IntoIterator<Item = impl Serialize>) -> Result<String> {
    let rows: Vec<_> = rows.into_iter().collect();
    serde_json::to_string(&rows).map_err(Error::internal)
}

fn batch(change: &Change) -> Batch {
    change.dialect().of(&BATCH)
}

/// Notes that the lanes were served now.
pub(super) async fn serve(change: &mut Change, limits: &[(i64, i64)]) -> Result<()> {
    if limits.is_empty() {
        return Ok(());
    }
    change.run(batch(change).served, args![json(limits)?, change.now()]).await.map(drop)
}

/// Claims the oldest due jobs of each lane, up to its limit, sorted by id within a lane. Once the
/// large bodies take more than `room`, further large bodies are not read; see [`Event::unread`].
pub(super) async fn claim(
    change: &mut Change,
    limits: &[(i64, i64)],
    lease_until: i64,
    room: usize,
) -> Result<HashMap<i64, Vec<Claimed>>> {
    let most = limits.iter().map(|(_, limit)| *limit).max().unwrap_or(0);
    if most == 0 {
        return Ok(HashMap::new());
    }
    let args = args![json(limits)?, change.now(), lease_until, most];
    let mut rows: Vec<ClaimedRow> = change.all(batch(change).claim, args).await?;
    rows.sort_unstable_by_key(|row| row.id);
    let ids = rows.iter().map(|row| row.event_id.as_str()).collect();
    let events = events(change, ids, room).await?;
    let mut claimed: HashMap<i64, Vec<Claimed>> = HashMap::new();
    for ClaimedRow { id, event_id, retry_count, lease_token, lane } in rows {
        let event =
            events.get(&event_id).cloned().unwrap_or_else(|| Arc::new(Event::gone(event_id)));
        claimed.entry(lane).or_default().push(Claimed { id, retry_count, lease_token, event });
    }
    Ok(claimed)
}

/// Reads each event once, however many jobs it has. This is not part of the claim, because SQLite
/// scans a whole table for a look-up in `returning`.
async fn events(
    change: &mut Change,
    ids: BTreeSet<&str>,
    mut room: usize,
) -> Result<HashMap<String, Arc<Event>>> {
    let ids: Vec<_> = ids.into_iter().map(|id| [id]).collect();
    let mut events = HashMap::with_capacity(ids.len());
    for ids in ids.chunks(EVENTS) {
        let longest = if room > 0 { i64::MAX } else { LARGE as i64 };
        let found: Vec<Event> =
            change.all(batch(change).events, args![json(ids)?, longest]).await?;
        let large = found.iter().map(|event| event.body.len()).filter(|bytes| *bytes > LARGE);
        room = room.saturating_sub(large.sum());
        events.extend(found.into_iter().map(|event| (event.id.clone(), Arc::new(event))));
    }
    Ok(events)
}

/// The given subscriptions whose last attempt failed.
pub(super) async fn failing(change: &mut Change, subscriptions: &[i64]) -> Result<HashSet<i64>> {
    if subscriptions.is_empty() {
        return Ok(HashSet::new());
    }
    let ids = json(subscriptions.iter().map(|id| [id]))?;
    let found: Vec<(i64,)> = change.all(batch(change).failing, args![ids]).await?;
    Ok(found.into_iter().map(|(id,)| id).collect())
}

/// A successful attempt for the log: the job, the token of its lease, the status code, the
/// response and the milliseconds. The response contains no U+0000, which PostgreSQL rejects.
#[derive(Serialize)]
pub(super) struct Arrived<'a>(
    pub(super) i64,
    pub(super) i64,
    pub(super) Option<u16>,
    pub(super) Option<&'a str>,
    pub(super) i64,
);

/// Settles and logs successes. Returns the leases that were still ours.
pub(super) async fn delivered(
    change: &mut Change,
    arrived: &[Arrived<'_>],
) -> Result<HashSet<(i64, i64)>> {
    if arrived.is_empty() {
        return Ok(HashSet::new());
    }
    let (statements, now) = (batch(change), change.now());
    let leases = json(arrived.iter().map(|one| [one.0, one.1]))?;
    let ours: Vec<(i64, i64)> = change.all(statements.delivered, args![leases, now]).await?;
    let ours: HashSet<_> = ours.into_iter().collect();
    if ours.is_empty() {
        return Ok(ours);
    }
    let logged = json(arrived.iter().filter(|one| ours.contains(&(one.0, one.1))))?;
    change.run(statements.log_delivered, args![logged, now]).await?;
    Ok(ours)
}

#[cfg(all(test, feature = "sqlite"))]
mod tests {
    use sqlx::AssertSqlSafe;

    use super::*;
    use crate::{Cms, settings::Settings};

    /// The cost must not depend on the length of the queue or of the log of events.
    #[tokio::test]
    async fn every_table_is_searched_by_key() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut settings = Settings::default();
        settings.dirs.data = folder.path().to_owned();
        let cms = Cms::builder(settings).open().await.expect("opened");
        let (mut found, keys) = (
            0,
            [
                "INTEGER PRIMARY KEY",
                "cms_webhook_queue_due (subscription_id=? AND",
                "cms_events_1 (id=?)",
            ],
        );
        for sql in BATCH.sqlite.all() {
            let explained = AssertSqlSafe(format!("explain query plan {}", sql.sql()));
            let plan: Vec<(i64, i64, i64, String)> =
                cms.db().all(explained, Vec::new()).await.expect("a plan");
            let is_of_table =
                |step: &str| ["cms_", " q ", " v "].iter().any(|table| step.contains(table));
            for (.., step) in plan.iter().filter(|(.., step)| is_of_table(&format!("{step} "))) {
                assert!(keys.iter().any(|key| step.contains(key)), "{step}: {sql:?}");
                found += 1;
            }
        }
        assert_eq!(found, 8, "each statement, the claim twice, the log in two tables");
    }
}
