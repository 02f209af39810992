//! The queue as workers see it: lanes, claims, settlements.

use super::super::claim::LEASE_MS;
use crate::{
    Result, args,
    db::{Change, Db, FromRow, Row, statements},
};

statements! {
    DUE = "select exists (select 1 from cms_webhook_queue where status in ('pending', 'retry') and next_retry_at <= $1) \
           or exists (select 1 from cms_webhook_queue where status = 'sending' and (lease_until <= $1 or lease_until > $2))";
    /// To `retry`, or `held` when the subscription is off. The status of rows that wait always follows the subscription's.
    RECLAIM = "update cms_webhook_queue set status = $4, lease_until = null where subscription_id = $1 and status = 'sending' \
               and (lease_until <= $2 or lease_until > $3)";
    /// Rows whose event or lease overlapped with a change of their subscription, so that they wait in the wrong state.
    ASTRAY = "select s.id from cms_webhook_subscriptions s where s.id > $1 and case when s.active \
              then exists (select 1 from cms_webhook_queue q where q.subscription_id = s.id and q.status = 'held') \
              else exists (select 1 from cms_webhook_queue q where q.subscription_id = s.id and q.status in ('pending', 'retry')) \
              or exists (select 1 from cms_webhook_queue q where q.subscription_id = s.id and q.status = 'sending' and (q.lease_until <= $2 or q.lease_until > $3)) \
              end order by s.id limit 1";
    /// Lanes that are due, or hold rows whose worker died, and have room: for one attempt after a failure, else for `$3`.
    LANES = "select s.id, s.url, s.secret, s.old_secret, s.old_secret_until, s.custom_headers, \
             (case when s.failure_count > 0 then 1 else $3 end) \
             - (select count(*) from cms_webhook_queue f where f.subscription_id = s.id and f.status = 'sending' and f.lease_until > $1 and f.lease_until <= $4) \
             from cms_webhook_subscriptions s where s.active and s.not_before <= $1 \
             and (exists (select 1 from cms_webhook_queue q where q.subscription_id = s.id and q.status in ('pending', 'retry') and q.next_retry_at <= $1) \
             or exists (select 1 from cms_webhook_queue q where q.subscription_id = s.id and q.status = 'sending' and (q.lease_until <= $1 or q.lease_until > $4))) \
             and (select count(*) from cms_webhook_queue f where f.subscription_id = s.id and f.status = 'sending' and f.lease_until > $1 and f.lease_until <= $4) \
             < (case when s.failure_count > 0 then 1 else $3 end) \
             order by s.served_at, s.id limit $2";
    LANE = "select id, url, secret, old_secret, old_secret_until, custom_headers, cast(1 as bigint) from cms_webhook_subscriptions where id = $1";
    SERVED = "update cms_webhook_subscriptions set served_at = $2 where id = $1";
    CLAIM = "update cms_webhook_queue set status = 'sending', lease_until = $3, lease_token = lease_token + 1 where id in \
             (select q.id from cms_webhook_queue q where q.subscription_id = $1 and q.status in ('pending', 'retry') and q.next_retry_at <= $2 \
             order by q.next_retry_at, q.id limit $4) and status in ('pending', 'retry') and next_retry_at <= $2 \
             returning id, event_id, retry_count, lease_token, \
             (select e.name from cms_events e where e.id = cms_webhook_queue.event_id), \
             (select e.body from cms_events e where e.id = cms_webhook_queue.event_id)";
    /// Also when the lease is over, as long as nobody else has claimed the row: then it is delivered all the same.
    DELIVERED = "update cms_webhook_queue set status = 'delivered', lease_until = null, error_message = null, settled_at = $3 \
                 where id = $1 and status in ('sending', 'retry', 'held') and lease_token = $2";
    AGAIN = "update cms_webhook_queue set status = $5, retry_count = retry_count + 1, next_retry_at = $4, lease_until = null, error_message = $3 \
             where id = $1 and status = 'sending' and lease_token = $2";
    FAILED = "update cms_webhook_queue set status = 'failed', lease_until = null, error_message = $3, settled_at = $4 \
              where id = $1 and status = 'sending' and lease_token = $2";
    /// Both count only for the worker that holds the row: what a worker hears that stood still says nothing of the receiver.
    SUCCEEDED = "update cms_webhook_subscriptions set failure_count = 0, not_before = 0 where id = $1 and failure_count > 0 \
                 and exists (select 1 from cms_webhook_queue q where q.id = $2 and q.status = 'sending' and q.lease_token = $3)";
    COUNT_FAILURE = "update cms_webhook_subscriptions set failure_count = failure_count + 1, not_before = $4 where id = $1 \
                     and exists (select 1 from cms_webhook_queue q where q.id = $2 and q.status = 'sending' and q.lease_token = $3) \
                     returning failure_count, active, max_retries";
    LOG = "insert into cms_webhook_deliveries (queue_id, event_id, event_name, subscription_id, attempt, outcome, error_message, status_code, \
           response, duration_ms, created_at) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)";
    DEPTH = "select status, count(*) from cms_webhook_queue group by status";
    /// Each of these reads one partial index, and none the rows.
    WAITING = "select (select count(*) from cms_webhook_queue where status in ('pending', 'retry') and status = 'pending'), \
               (select count(*) from cms_webhook_queue where status in ('pending', 'retry') and status = 'retry'), \
               (select count(*) from cms_webhook_queue where status = 'sending'), \
               (select count(*) from cms_webhook_queue where status = 'held')";
    OLDEST = "select min(o.at) from \
              (select min(next_retry_at) as at from cms_webhook_queue where status in ('pending', 'retry') and status = 'pending' \
              union all select min(next_retry_at) from cms_webhook_queue where status in ('pending', 'retry') and status = 'retry') o";
    LATE = "select l.id, l.due from (select s.id, (select min(q.next_retry_at) from cms_webhook_queue q where q.subscription_id = s.id \
            and q.status in ('pending', 'retry')) as due from cms_webhook_subscriptions s where s.active) l \
            where l.due <= $1 order by l.due, l.id limit $2";
}

/// A subscription whose turn it is.
#[derive(Clone, Debug)]
pub(in crate::webhooks) struct Lane {
    pub(in crate::webhooks) id: i64,
    pub(in crate::webhooks) url: String,
    pub(in crate::webhooks) secret: String,
    pub(in crate::webhooks) old_secret: Option<(String, i64)>,
    /// A JSON object.
    pub(in crate::webhooks) custom_headers: String,
    /// Attempts that may begin now.
    pub(in crate::webhooks) room: i64,
}

impl FromRow for Lane {
    fn from_row(row: &Row) -> Result<Self> {
        Ok(Self {
            id: row.get(0)?,
            url: row.get(1)?,
            secret: row.get(2)?,
            old_secret: row.get::<Option<String>>(3)?.zip(row.get::<Option<i64>>(4)?),
            custom_headers: row.get(5)?,
            room: row.get(6)?,
        })
    }
}

/// A row that is ours until its lease ends.
#[derive(Clone, Debug)]
pub(in crate::webhooks) struct Claimed {
    pub(in crate::webhooks) id: i64,
    pub(in crate::webhooks) event_id: String,
    pub(in crate::webhooks) retry_count: i64,
    pub(in crate::webhooks) lease_token: i64,
    pub(in crate::webhooks) event: String,
    pub(in crate::webhooks) body: String,
}

impl FromRow for Claimed {
    fn from_row(row: &Row) -> Result<Self> {
        Ok(Self {
            id: row.get(0)?,
            event_id: row.get(1)?,
            retry_count: row.get(2)?,
            lease_token: row.get(3)?,
            event: row.get(4)?,
            body: row.get(5)?,
        })
    }
}

/// Whether there is anything to claim.
pub(in crate::webhooks) async fn is_due(db: &Db, now: i64) -> Result<bool> {
    let (due,): (bool,) = db.one(DUE, args![now, latest(now)]).await?;
    Ok(due)
}

/// Gives the rows of a subscription back whose worker died.
pub(in crate::webhooks) async fn reclaim(change: &mut Change, subscription: i64, active: bool) -> Result<u64> {
    let status = if active { "retry" } else { "held" };
    change.run(RECLAIM, args![subscription, change.now(), latest(change.now()), status]).await
}

/// A lease that ends later was given before the clock was put back.
fn latest(now: i64) -> i64 {
    now + 2 * LEASE_MS
}

/// A subscription after `after` that has rows which wait in the wrong state.
pub(in crate::webhooks) async fn astray(db: &Db, after: i64, now: i64) -> Result<Option<i64>> {
    Ok(db.optional::<(i64,)>(ASTRAY, args![after, now, latest(now)]).await?.map(|(id,)| id))
}

/// Lanes that were served least recently.
pub(in crate::webhooks) async fn lanes(change: &mut Change, limit: i64, room: i64) -> Result<Vec<Lane>> {
    let mut lanes: Vec<Lane> = change.all(LANES, args![change.now(), limit, room, latest(change.now())]).await?;
    // Claims and settlements lock subscriptions in the same order.
    lanes.sort_by_key(|lane| lane.id);
    Ok(lanes)
}

/// One lane, whether it is its turn or not.
pub(in crate::webhooks) async fn lane(db: &Db, id: i64) -> Result<Option<Lane>> {
    db.optional(LANE, args![id]).await
}

/// It had its turn.
pub(in crate::webhooks) async fn serve(change: &mut Change, lane: i64) -> Result<()> {
    change.run(SERVED, args![lane, change.now()]).await.map(drop)
}

/// Oldest first.
pub(in crate::webhooks) async fn claim(change: &mut Change, lane: i64, room: i64, lease_until: i64) -> Result<Vec<Claimed>> {
    let mut rows: Vec<Claimed> = change.all(CLAIM, args![lane, change.now(), lease_until, room]).await?;
    rows.sort_by_key(|row| row.id);
    Ok(rows)
}

/// The three ways in which a lease ends. False: it was lost before.
pub(in crate::webhooks) async fn delivered(change: &mut Change, row: &Claimed) -> Result<bool> {
    Ok(change.run(DELIVERED, args![row.id, row.lease_token, change.now()]).await? > 0)
}

pub(in crate::webhooks) async fn again(change: &mut Change, row: &Claimed, error: &str, at: i64, held: bool) -> Result<bool> {
    let status = if held { "held" } else { "retry" };
    Ok(change.run(AGAIN, args![row.id, row.lease_token, error, at, status]).await? > 0)
}

pub(in crate::webhooks) async fn failed(change: &mut Change, row: &Claimed, error: &str) -> Result<bool> {
    Ok(change.run(FAILED, args![row.id, row.lease_token, error, change.now()]).await? > 0)
}

pub(in crate::webhooks) async fn succeeded(change: &mut Change, lane: i64, row: &Claimed) -> Result<()> {
    change.run(SUCCEEDED, args![lane, row.id, row.lease_token]).await.map(drop)
}

/// Failures in a row, whether the subscription is active, and its retries; None when the lease was lost, or the subscription deleted
/// with its jobs.
pub(in crate::webhooks) async fn count_failure(
    change: &mut Change,
    lane: i64,
    row: &Claimed,
    not_before: i64,
) -> Result<Option<(i64, bool, i64)>> {
    change.optional(COUNT_FAILURE, args![lane, row.id, row.lease_token, not_before]).await
}

/// What the log keeps of an attempt.
pub(in crate::webhooks) struct LogRow<'a> {
    pub(in crate::webhooks) outcome: &'a str,
    pub(in crate::webhooks) error: Option<&'a str>,
    pub(in crate::webhooks) status: Option<u16>,
    pub(in crate::webhooks) response: Option<&'a str>,
    pub(in crate::webhooks) duration_ms: i64,
}

/// An attempt, also one that came too late.
pub(in crate::webhooks) async fn log(change: &mut Change, lane: i64, row: &Claimed, entry: &LogRow<'_>) -> Result<()> {
    let args = args![
        row.id,
        &row.event_id,
        &row.event,
        lane,
        row.retry_count + 1,
        entry.outcome,
        entry.error.map(str::to_owned),
        entry.status.map(i64::from),
        entry.response.map(str::to_owned),
        entry.duration_ms,
        change.now(),
    ];
    change.run(LOG, args).await.map(drop)
}

/// Rows by status.
pub(in crate::webhooks) async fn depth(db: &Db) -> Result<Vec<(String, i64)>> {
    db.all(DEPTH, args![]).await
}

/// How many rows are `pending`, `retry`, `sending` and `held`.
pub(in crate::webhooks) async fn waiting(db: &Db) -> Result<(i64, i64, i64, i64)> {
    db.one(WAITING, args![]).await
}

/// The lanes that are most late, and since when their oldest row is due.
pub(in crate::webhooks) async fn late(db: &Db, now: i64, limit: i64) -> Result<Vec<(i64, i64)>> {
    db.all(LATE, args![now, limit]).await
}

/// When the row is due that waits longest.
pub(in crate::webhooks) async fn oldest(db: &Db) -> Result<Option<i64>> {
    let (oldest,): (Option<i64>,) = db.one(OLDEST, args![]).await?;
    Ok(oldest)
}
