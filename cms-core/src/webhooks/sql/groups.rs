//! The statements of every delivery, for sixteen rows or lanes at a time: a statement costs more than what it does.
//!
//! A group that is not full is filled up with the id -1, which nothing has.

use std::collections::{HashMap, HashSet};

use super::queue::{Claimed, Lane};
use crate::{
    Result, args,
    db::{Change, FromRow, Row, Value, statements},
};

/// Rows or lanes of one statement.
const GROUP: usize = 16;

/// The jobs of one lane that are due, oldest first.
macro_rules! due {
    ($lane:literal, $room:literal) => {
        concat!(
            "select * from (select id from cms_webhook_queue where subscription_id = ",
            $lane,
            " and status in ('pending', 'retry') and next_retry_at <= $1 order by next_retry_at, id limit ",
            $room,
            ") l"
        )
    };
}

/// The same for all lanes of a group.
macro_rules! due_of_all {
    ($lane:literal $room:literal $(, $lanes:literal $rooms:literal)*) => {
        concat!(due!($lane, $room) $(, " union all ", due!($lanes, $rooms))*)
    };
}

statements! {
    SERVED = "update cms_webhook_subscriptions set served_at = $1 \
              where id in ($2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)";
    CLAIM = concat!(
        "update cms_webhook_queue set status = 'sending', lease_until = $2, lease_token = lease_token + 1 where id in (",
        due_of_all!(
            "$3" "$4", "$5" "$6", "$7" "$8", "$9" "$10", "$11" "$12", "$13" "$14", "$15" "$16", "$17" "$18",
            "$19" "$20", "$21" "$22", "$23" "$24", "$25" "$26", "$27" "$28", "$29" "$30", "$31" "$32", "$33" "$34"
        ),
        ") and status in ('pending', 'retry') and next_retry_at <= $1 returning id, event_id, retry_count, lease_token, \
         coalesce((select e.name from cms_events e where e.id = cms_webhook_queue.event_id), ''), \
         coalesce((select e.body from cms_events e where e.id = cms_webhook_queue.event_id), ''), subscription_id"
    );
    FAILING = "select id from cms_webhook_subscriptions where failure_count > 0 \
               and id in ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)";
    /// Also when the lease is over, as long as nobody else has claimed the row: then it is delivered all the same.
    DELIVERED = "with d (id, token) as (values (cast($2 as bigint), cast($3 as bigint)), ($4, $5), ($6, $7), ($8, $9), ($10, $11), ($12, $13), \
                 ($14, $15), ($16, $17), ($18, $19), ($20, $21), ($22, $23), ($24, $25), ($26, $27), ($28, $29), ($30, $31), ($32, $33)) \
                 update cms_webhook_queue set status = 'delivered', lease_until = null, error_message = null, settled_at = $1 \
                 where id in (select d.id from d) and status in ('sending', 'retry', 'held') \
                 and lease_token = (select d.token from d where d.id = cms_webhook_queue.id) returning id";
    LOG_DELIVERED = "with d (id, code, response, duration) as (values (cast($2 as bigint), cast($3 as bigint), cast($4 as text), cast($5 as bigint)), \
                     ($6, $7, $8, $9), ($10, $11, $12, $13), ($14, $15, $16, $17), ($18, $19, $20, $21), ($22, $23, $24, $25), ($26, $27, $28, $29), \
                     ($30, $31, $32, $33), ($34, $35, $36, $37), ($38, $39, $40, $41), ($42, $43, $44, $45), ($46, $47, $48, $49), \
                     ($50, $51, $52, $53), ($54, $55, $56, $57), ($58, $59, $60, $61), ($62, $63, $64, $65)) \
                     insert into cms_webhook_deliveries (queue_id, event_id, event_name, subscription_id, attempt, outcome, status_code, response, \
                     duration_ms, created_at) select q.id, q.event_id, e.name, q.subscription_id, q.retry_count + 1, 'delivered', d.code, d.response, \
                     d.duration, $1 from d join cms_webhook_queue q on q.id = d.id join cms_events e on e.id = q.event_id \
                     order by q.id";
}

/// A delivery that has arrived, for the log.
pub(in crate::webhooks) struct Arrived<'a> {
    pub(in crate::webhooks) row: &'a Claimed,
    pub(in crate::webhooks) status: Option<u16>,
    pub(in crate::webhooks) response: Option<&'a str>,
    pub(in crate::webhooks) duration_ms: i64,
}

/// A claimed row and its lane.
struct OfLane(i64, Claimed);

impl FromRow for OfLane {
    fn from_row(row: &Row) -> Result<Self> {
        Ok(Self(row.get(6)?, Claimed::from_row(row)?))
    }
}

/// The values of each of a group's members, and of as many -1 as are missing.
fn filled<T>(first: Vec<Value>, group: &[T], of: impl Fn(&T) -> Vec<Value>, none: Vec<Value>) -> Vec<Value> {
    let mut values = first;
    values.extend(group.iter().flat_map(of));
    values.extend((group.len()..GROUP).flat_map(|_| none.clone()));
    values
}

/// The lanes had their turn.
pub(in crate::webhooks) async fn serve(change: &mut Change, lanes: &[Lane]) -> Result<()> {
    for group in lanes.chunks(GROUP) {
        change.run(SERVED, filled(args![change.now()], group, |lane| args![lane.id], args![-1])).await?;
    }
    Ok(())
}

/// Takes the oldest jobs of each lane, as many as it has room for. They are sorted by id in each lane.
pub(in crate::webhooks) async fn claim(
    change: &mut Change,
    lanes: &[Lane],
    lease_until: i64,
) -> Result<HashMap<i64, Vec<Claimed>>> {
    let mut claimed: HashMap<i64, Vec<Claimed>> = HashMap::new();
    for group in lanes.chunks(GROUP) {
        let args = filled(args![change.now(), lease_until], group, |lane| args![lane.id, lane.room], args![-1, 0]);
        for OfLane(lane, row) in change.all(CLAIM, args).await? {
            claimed.entry(lane).or_default().push(row);
        }
    }
    claimed.values_mut().for_each(|rows| rows.sort_by_key(|row| row.id));
    Ok(claimed)
}

/// Which of these subscriptions have failed last.
pub(in crate::webhooks) async fn failing(change: &mut Change, subscriptions: &[i64]) -> Result<HashSet<i64>> {
    let mut failing = HashSet::new();
    for group in subscriptions.chunks(GROUP) {
        let found: Vec<(i64,)> = change.all(FAILING, filled(Vec::new(), group, |id| args![*id], args![-1])).await?;
        failing.extend(found.into_iter().map(|(id,)| id));
    }
    Ok(failing)
}

/// Ends leases with success, and logs it. Returns the rows whose lease was not lost before.
pub(in crate::webhooks) async fn delivered(change: &mut Change, arrived: &[Arrived<'_>]) -> Result<HashSet<i64>> {
    let mut ours = HashSet::new();
    for group in arrived.chunks(GROUP) {
        let args = filled(args![change.now()], group, |one| args![one.row.id, one.row.lease_token], args![-1, 0]);
        let found: Vec<(i64,)> = change.all(DELIVERED, args).await?;
        let found: HashSet<i64> = found.into_iter().map(|(id,)| id).collect();
        let logged: Vec<_> = group.iter().filter(|one| found.contains(&one.row.id)).collect();
        let values =
            |one: &&Arrived<'_>| args![one.row.id, one.status.map(i64::from), one.response.map(str::to_owned), one.duration_ms];
        let none = args![-1, None::<i64>, None::<String>, 0];
        change.run(LOG_DELIVERED, filled(args![change.now()], &logged, values, none)).await?;
        ours.extend(found);
    }
    Ok(ours)
}
