//! The log of attempts, and the queue as people see it.

use crate::{
    Change, Error, Result, args,
    db::{Db, FromRow, Row, statements},
    ground::clock,
    webhooks::history::deliveries::{Delivery, DeliveryDetail, Job, JobFilter},
};

statements! {
    LIST = "select d.id, d.queue_id, d.event_id, d.event_name, d.subscription_id, d.attempt, d.outcome, d.error_message, d.status_code, \
            d.duration_ms, d.created_at from cms_webhook_deliveries d where d.id < $1 \
            and (cast($3 as bigint) is null or d.subscription_id = $3) and (cast($4 as text) is null or d.event_name = $4) \
            and (cast($5 as text) is null or d.outcome = $5 or ($5 = 'failed' and d.outcome <> 'delivered')) \
            and d.created_at >= $6 order by d.id desc limit $2";
    GET = "select d.id, d.queue_id, d.event_id, d.event_name, d.subscription_id, d.attempt, d.outcome, d.error_message, d.status_code, \
           d.duration_ms, d.created_at, d.response, e.body, e.removed from cms_webhook_deliveries d left join cms_events e on e.id = d.event_id \
           where d.id = $1";
    JOBS = "select q.id, q.event_id, e.name, q.subscription_id, q.status, q.next_retry_at, q.retry_count, q.error_message, q.created_at, \
            q.settled_at, q.resend_of from cms_webhook_queue q join cms_events e on e.id = q.event_id where q.id > $1 \
            and (cast($3 as text) is null or q.status = $3) and (cast($4 as bigint) is null or q.subscription_id = $4) \
            order by q.id limit $2";
    JOB = "select q.id, q.event_id, e.name, q.subscription_id, q.status, q.next_retry_at, q.retry_count, q.error_message, q.created_at, \
           q.settled_at, q.resend_of from cms_webhook_queue q join cms_events e on e.id = q.event_id where q.id = $1";
    CANCEL = "update cms_webhook_queue set status = 'cancelled', settled_at = $2 where id = $1 and status in ('pending', 'retry', 'held')";
    RETRY_NOW = "update cms_webhook_queue set next_retry_at = $2 where id = $1 and status in ('pending', 'retry')";
    PURGE = "delete from cms_webhook_queue where id in (select id from cms_webhook_queue where status = $1 limit 1000)";
    RESEND = "insert into cms_webhook_queue (event_id, subscription_id, status, next_retry_at, created_at, resend_of) \
              select d.event_id, d.subscription_id, case when s.active then 'pending' else 'held' end, cast($2 as bigint), cast($2 as bigint), d.queue_id \
              from cms_webhook_deliveries d join cms_webhook_subscriptions s on s.id = d.subscription_id \
              join cms_events e on e.id = d.event_id where d.id = $1";
    MATCHING = "select d.id from cms_webhook_deliveries d where d.id > $1 and (cast($2 as bigint) is null or d.subscription_id = $2) \
                and (cast($3 as text) is null or d.event_name = $3) \
                and (cast($4 as text) is null or d.outcome = $4 or ($4 = 'failed' and d.outcome <> 'delivered')) \
                and d.created_at >= $5 and d.id = (select max(l.id) from cms_webhook_deliveries l where l.queue_id = d.queue_id) \
                order by d.id limit 10001";
}

impl FromRow for Delivery {
    fn from_row(row: &Row) -> Result<Self> {
        Ok(Self {
            id: row.get(0)?,
            queue_id: row.get(1)?,
            event_id: row.get(2)?,
            event: row.get(3)?,
            subscription: row.get(4)?,
            attempt: row.get(5)?,
            status: row.get(6)?,
            error_message: row.get(7)?,
            response_code: row.get(8)?,
            duration_ms: row.get(9)?,
            created_at: clock::rfc3339(row.get(10)?),
        })
    }
}

impl FromRow for DeliveryDetail {
    fn from_row(row: &Row) -> Result<Self> {
        let json = |text: Option<String>| {
            text.map(|text| serde_json::from_str(&text).map_err(Error::internal)).transpose()
        };
        Ok(Self {
            delivery: Delivery::from_row(row)?,
            response: row.get(11)?,
            payload: json(row.get(12)?)?,
            removed: json(row.get(13)?)?.unwrap_or_else(|| serde_json::json!([])),
        })
    }
}

impl FromRow for Job {
    fn from_row(row: &Row) -> Result<Self> {
        Ok(Self {
            id: row.get(0)?,
            event_id: row.get(1)?,
            event: row.get(2)?,
            subscription: row.get(3)?,
            status: row.get(4)?,
            next_retry_at: clock::rfc3339(row.get(5)?),
            retry_count: row.get(6)?,
            error_message: row.get(7)?,
            created_at: clock::rfc3339(row.get(8)?),
            settled_at: row.get::<Option<i64>>(9)?.map(clock::rfc3339),
            resend_of: row.get(10)?,
        })
    }
}

/// Newest first.
pub(in crate::webhooks) async fn list(
    db: &Db,
    before: i64,
    limit: i64,
    filter: &JobFilter,
) -> Result<Vec<Delivery>> {
    let args = args![
        before,
        limit,
        filter.subscription,
        filter.event.clone(),
        filter.status.clone(),
        filter.since
    ];
    db.all(LIST, args).await
}

pub(in crate::webhooks) async fn get(db: &Db, id: i64) -> Result<Option<DeliveryDetail>> {
    db.optional(GET, args![id]).await
}

pub(in crate::webhooks) async fn jobs(
    db: &Db,
    after: i64,
    limit: i64,
    filter: &JobFilter,
) -> Result<Vec<Job>> {
    db.all(JOBS, args![after, limit, filter.status.clone(), filter.subscription]).await
}

pub(in crate::webhooks) async fn job(db: &Db, id: i64) -> Result<Option<Job>> {
    db.optional(JOB, args![id]).await
}

pub(in crate::webhooks) async fn job_in(change: &mut Change, id: i64) -> Result<Option<Job>> {
    change.optional(JOB, args![id]).await
}

pub(in crate::webhooks) async fn cancel(change: &mut Change, id: i64) -> Result<bool> {
    Ok(change.run(CANCEL, args![id, change.now()]).await? > 0)
}

pub(in crate::webhooks) async fn retry_now(change: &mut Change, id: i64) -> Result<bool> {
    Ok(change.run(RETRY_NOW, args![id, change.now()]).await? > 0)
}

/// Up to 1,000 rows.
pub(in crate::webhooks) async fn purge(change: &mut Change, status: &str) -> Result<u64> {
    change.run(PURGE, args![status]).await
}

/// False when the event is gone, or there was no such delivery.
pub(in crate::webhooks) async fn resend(change: &mut Change, delivery: i64) -> Result<bool> {
    Ok(change.run(RESEND, args![delivery, change.now()]).await? > 0)
}

/// The last attempts of the jobs that fit, at most one more than may be sent again at once.
pub(in crate::webhooks) async fn matching(db: &Db, filter: &JobFilter) -> Result<Vec<i64>> {
    let args = args![
        i64::MIN,
        filter.subscription,
        filter.event.clone(),
        filter.status.clone(),
        filter.since
    ];
    Ok(db.all::<(i64,)>(MATCHING, args).await?.into_iter().map(|(id,)| id).collect())
}
