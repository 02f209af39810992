//! The statements of every delivery, for sixteen jobs or lanes at a time: the statement costs more
//! than its work.
//!
//! A group with fewer members is filled up with an id that no row has: -1, or an empty text.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::Arc,
};

use super::queue::{Claimed, Event, LARGE, event_columns};
use crate::{
    Change, Result,
    db::{Value, args, record, statements},
};

/// Jobs or lanes of one statement.
const GROUP: usize = 16;

/// The due jobs of one lane, oldest first. The limit is an expression: SQLite prepares a statement
/// again whenever a plain limit argument changes.
macro_rules! due {
    ($lane:literal, $limit:literal) => {
        concat!(
            "select * from (select id from cms_webhook_queue where subscription_id = ",
            $lane,
            " and status in ('pending', 'retry') and next_retry_at <= $1 order by next_retry_at, \
              id limit cast(",
            $limit,
            " as bigint)) l"
        )
    };
}

/// The due jobs of all lanes of a group.
macro_rules! due_of_all {
    ($lane:literal $limit:literal $(, $lanes:literal $limits:literal)*) => {
        concat!(due!($lane, $limit) $(, " union all ", due!($lanes, $limits))*)
    };
}

/// A claimed job without its event.
struct Taken {
    id: i64,
    event_id: String,
    retry_count: i64,
    lease_token: i64,
    lane: i64,
}

record! { Taken: taken_columns {
    id: "id",
    event_id: "event_id",
    retry_count: "retry_count",
    lease_token: "lease_token",
    lane: "subscription_id",
} }

statements! {
    SERVED = "update cms_webhook_subscriptions set served_at = $1 \
              where id in ($2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)";
    /// Skips jobs that were cancelled meanwhile. `status || ''` keeps the engine from searching an
    /// index by status: many jobs may share one.
    CLAIM = concat!(
        "update cms_webhook_queue set status = 'sending', lease_until = $2, lease_token = \
         lease_token + 1 where id in (",
        due_of_all!(
            "$3" "$4", "$5" "$6", "$7" "$8", "$9" "$10", "$11" "$12", "$13" "$14", "$15" "$16",
            "$17" "$18", "$19" "$20", "$21" "$22", "$23" "$24", "$25" "$26", "$27" "$28",
            "$29" "$30", "$31" "$32", "$33" "$34"
        ),
        ") and status || '' in ('pending', 'retry') returning ",
        taken_columns!()
    );
    /// Bodies of `$17` bytes at most.
    EVENTS = concat!(
        "select ", event_columns!(), " from cms_events where id in \
         ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)"
    );
    FAILING = "select id from cms_webhook_subscriptions where failure_count > 0 \
               and id in ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)";
    /// Applies after the lease has ended too, as long as no other worker has claimed the job: the
    /// job was delivered all the same. A job may occur twice in a group, if this worker stood still
    /// and claimed it again.
    DELIVERED = "with d (id, token) as (values (cast($2 as bigint), cast($3 as bigint)), ($4, \
                 $5), ($6, $7), ($8, $9), ($10, $11), ($12, $13), \
                 ($14, $15), ($16, $17), ($18, $19), ($20, $21), ($22, $23), ($24, $25), ($26, \
                 $27), ($28, $29), ($30, $31), ($32, $33)) \
                 update cms_webhook_queue set status = 'delivered', lease_until = null, \
                 error_message = null, settled_at = $1 \
                 where id in (select d.id from d) and status in ('sending', 'retry', 'held') \
                 and exists (select 1 from d where d.id = cms_webhook_queue.id and d.token = \
                 cms_webhook_queue.lease_token)";
    WAS_OURS = "select id from cms_webhook_queue where id = $1 and lease_token = $2 and status = \
                'delivered'";
    LOG_DELIVERED = "with d (id, code, response, duration) as (values (cast($2 as bigint), \
                     cast($3 as bigint), cast($4 as text), cast($5 as bigint)), \
                     ($6, $7, $8, $9), ($10, $11, $12, $13), ($14, $15, $16, $17), ($18, $19, \
                     $20, $21), ($22, $23, $24, $25), ($26, $27, $28, $29), \
                     ($30, $31, $32, $33), ($34, $35, $36, $37), ($38, $39, $40, $41), ($42, $43, \
                     $44, $45), ($46, $47, $48, $49), \
                     ($50, $51, $52, $53), ($54, $55, $56, $57), ($58, $59, $60, $61), ($62, $63, \
                     $64, $65)) \
                     insert into cms_webhook_deliveries (queue_id, event_id, event_name, \
                     subscription_id, attempt, outcome, status_code, response, \
                     duration_ms, created_at) select q.id, q.event_id, e.name, q.subscription_id, \
                     q.retry_count + 1, 'delivered', d.code, d.response, \
                     d.duration, $1 from d join cms_webhook_queue q on q.id = d.id join \
                     cms_events e on e.id = q.event_id \
                     order by q.id";
}

/// A successful attempt, for the log.
pub(in crate::webhooks) struct Arrived<'a> {
    pub(in crate::webhooks) job: &'a Claimed,
    pub(in crate::webhooks) status: Option<u16>,
    pub(in crate::webhooks) response: Option<&'a str>,
    pub(in crate::webhooks) duration_ms: i64,
}

/// `first`, the values of each member of a group, then `none` for each missing member.
fn filled<T>(
    first: Vec<Value>,
    group: &[T],
    of: impl Fn(&T) -> Vec<Value>,
    none: Vec<Value>,
) -> Vec<Value> {
    let mut values = first;
    values.extend(group.iter().flat_map(of));
    values.extend((group.len()..GROUP).flat_map(|_| none.clone()));
    values
}

/// Notes that the lanes were served now.
pub(in crate::webhooks) async fn serve(change: &mut Change, limits: &[(i64, i64)]) -> Result<()> {
    for group in limits.chunks(GROUP) {
        change
            .run(SERVED, filled(args![change.now()], group, |(lane, _)| args![*lane], args![-1]))
            .await?;
    }
    Ok(())
}

/// Claims the oldest due jobs of each lane, up to its limit, sorted by id within a lane. Once the
/// large bodies take more than `room`, no further one is read; see [`Event::unread`].
pub(in crate::webhooks) async fn claim(
    change: &mut Change,
    limits: &[(i64, i64)],
    lease_until: i64,
    room: usize,
) -> Result<HashMap<i64, Vec<Claimed>>> {
    let mut taken: Vec<Taken> = Vec::new();
    for group in limits.chunks(GROUP) {
        let args = filled(
            args![change.now(), lease_until],
            group,
            |(lane, limit)| args![*lane, *limit],
            args![-1, 0],
        );
        taken.extend(change.all(CLAIM, args).await?);
    }
    taken.sort_unstable_by_key(|job| job.id);
    let ids = taken.iter().map(|job| job.event_id.as_str()).collect();
    let events = events(change, ids, room).await?;
    let mut claimed: HashMap<i64, Vec<Claimed>> = HashMap::new();
    for Taken { id, event_id, retry_count, lease_token, lane } in taken {
        let event =
            events.get(&event_id).cloned().unwrap_or_else(|| Arc::new(Event::gone(event_id)));
        claimed.entry(lane).or_default().push(Claimed { id, retry_count, lease_token, event });
    }
    Ok(claimed)
}

/// Reads each event once, however many jobs it has. Not part of the claim: SQLite scans a whole
/// table for a look-up in `returning`.
async fn events(
    change: &mut Change,
    ids: BTreeSet<&str>,
    mut room: usize,
) -> Result<HashMap<String, Arc<Event>>> {
    let ids: Vec<_> = ids.into_iter().collect();
    let mut events = HashMap::with_capacity(ids.len());
    for group in ids.chunks(GROUP) {
        let mut args = filled(Vec::new(), group, |id| args![*id], args![""]);
        args.extend(args![if room > 0 { i64::MAX } else { LARGE as i64 }]);
        let found: Vec<Event> = change.all(EVENTS, args).await?;
        let large = found.iter().map(|event| event.body.len()).filter(|bytes| *bytes > LARGE);
        room = room.saturating_sub(large.sum());
        events.extend(found.into_iter().map(|event| (event.id.clone(), Arc::new(event))));
    }
    Ok(events)
}

/// Those of the subscriptions whose last attempt failed.
pub(in crate::webhooks) async fn failing(
    change: &mut Change,
    subscriptions: &[i64],
) -> Result<HashSet<i64>> {
    let mut failing = HashSet::new();
    for group in subscriptions.chunks(GROUP) {
        let found: Vec<(i64,)> =
            change.all(FAILING, filled(Vec::new(), group, |id| args![*id], args![-1])).await?;
        failing.extend(found.into_iter().map(|(id,)| id));
    }
    Ok(failing)
}

/// Settles and logs successes. Returns the leases that were still ours.
pub(in crate::webhooks) async fn delivered(
    change: &mut Change,
    arrived: &[Arrived<'_>],
) -> Result<HashSet<(i64, i64)>> {
    let mut ours = HashSet::new();
    for group in arrived.chunks(GROUP) {
        let args = filled(
            args![change.now()],
            group,
            |one| args![one.job.id, one.job.lease_token],
            args![-1, 0],
        );
        // The number of changed rows nearly always says which were ours. Reading a row for each
        // would cost as much as the update.
        let found = match change.run(DELIVERED, args).await? {
            all if all == group.len() as u64 => group.iter().map(|one| one.job.lease()).collect(),
            _ => still_ours(change, group).await?,
        };
        let logged: Vec<_> = group.iter().filter(|one| found.contains(&one.job.lease())).collect();
        let values = |one: &&Arrived<'_>| {
            args![
                one.job.id,
                one.status.map(i64::from),
                one.response.map(str::to_owned),
                one.duration_ms
            ]
        };
        let none = args![-1, None::<i64>, None::<String>, 0];
        change.run(LOG_DELIVERED, filled(args![change.now()], &logged, values, none)).await?;
        ours.extend(found);
    }
    Ok(ours)
}

async fn still_ours(change: &mut Change, group: &[Arrived<'_>]) -> Result<HashSet<(i64, i64)>> {
    let mut ours = HashSet::new();
    for one in group {
        let found: Option<(i64,)> =
            change.optional(WAS_OURS, args![one.job.id, one.job.lease_token]).await?;
        ours.extend(found.map(|_| one.job.lease()));
    }
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
        for sql in [SERVED, CLAIM, EVENTS, FAILING, DELIVERED, LOG_DELIVERED] {
            let explained = AssertSqlSafe(format!("explain query plan {}", sql.sql()));
            let plan: Vec<(i64, i64, i64, String)> =
                cms.db().all(explained, Vec::new()).await.expect("a plan");
            for (.., step) in
                plan.iter().filter(|(.., step)| step.contains("cms_") || step.ends_with(" e"))
            {
                assert!(keys.iter().any(|key| step.contains(key)), "{step}: {sql:?}");
                found += 1;
            }
        }
        assert!(found >= 20, "the claim of each lane, and the others: {found}");
    }
}
