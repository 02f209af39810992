//! Statements of the log of attempts, and of the queue as the API shows it.

use super::{Delivery, DeliveryDetail, Job, JobFilter};
use crate::{
    Change, Result,
    db::{Db, args, read, record, statements},
    funnels::subject,
};

record! { Delivery: delivery_columns {
    id: "d.id",
    queue_id: "d.queue_id",
    event_id: "d.event_id",
    event: "d.event_name",
    subscription: "d.subscription_id",
    attempt: "d.attempt",
    status: "d.outcome",
    error_message: "d.error_message",
    response_code: "d.status_code",
    duration_ms: "d.duration_ms",
    created_at: "d.created_at" => read::time,
} }

record! { DeliveryDetail: detail_columns {
    delivery: (delivery_columns),
    response: "d.response",
    payload: "e.body" => read::optional_json,
    removed: "e.removed" => removed,
} }

record! { Job: job_columns {
    id: "q.id",
    event_id: "q.event_id",
    event: "e.name",
    subscription: "q.subscription_id",
    status: "q.status",
    next_retry_at: "q.next_retry_at" => read::time,
    retry_count: "q.retry_count",
    error_message: "q.error_message",
    created_at: "q.created_at" => read::time,
    settled_at: "q.settled_at" => read::optional_time,
    resend_of: "q.resend_of",
} }

/// Matches deliveries of one subscription, one event and one outcome; `failed` is every outcome but
/// `delivered`.
macro_rules! filtered {
    ($subscription:literal, $event:literal, $outcome:literal) => {
        concat!(
            "(cast(",
            $subscription,
            " as bigint) is null or d.subscription_id = ",
            $subscription,
            ") and (cast(",
            $event,
            " as text) is null or d.event_name = ",
            $event,
            ") and (cast(",
            $outcome,
            " as text) is null or d.outcome = ",
            $outcome,
            " or (",
            $outcome,
            " = 'failed' and d.outcome <> 'delivered'))"
        )
    };
}

statements! {
    LIST = concat!(
        "select ", delivery_columns!(), " from cms_webhook_deliveries d where d.id < $1 and ",
        filtered!("$3", "$4", "$5"), " and d.created_at >= $6 order by d.id desc limit $2"
    );
    OF_JOB = concat!(
        "select ", delivery_columns!(), " from cms_webhook_deliveries d \
         where d.queue_id = $7 and d.id < $1 and ",
        filtered!("$3", "$4", "$5"), " and d.created_at >= $6 order by d.id desc limit $2"
    );
    OF_SUBMISSION = concat!(
        "select ", delivery_columns!(), " from cms_webhook_deliveries d \
         where d.event_id in (select e.id from cms_events e where e.subject = $7) \
         and (cast($8 as bigint) is null or d.queue_id = $8) and d.id < $1 and ",
        filtered!("$3", "$4", "$5"), " and d.created_at >= $6 order by d.id desc limit $2"
    );
    GET = concat!(
        "select ", detail_columns!(), " from cms_webhook_deliveries d \
         left join cms_events e on e.id = d.event_id where d.id = $1"
    );
    JOBS = concat!(
        "select ", job_columns!(), " from cms_webhook_queue q \
         join cms_events e on e.id = q.event_id where q.id > $1 \
         and (cast($3 as text) is null or q.status = $3) \
         and (cast($4 as bigint) is null or q.subscription_id = $4) \
         and (cast($5 as bigint) is null or q.id = $5) \
         and (cast($6 as text) is null or e.subject = $6) \
         and (cast($7 as text) is null or e.name = $7) \
         and q.created_at >= $8 order by q.id limit $2"
    );
    JOB = concat!(
        "select ", job_columns!(), " from cms_webhook_queue q \
         join cms_events e on e.id = q.event_id where q.id = $1"
    );
    CANCEL = "update cms_webhook_queue set status = 'cancelled', settled_at = $2 \
              where id = $1 and status in ('pending', 'retry', 'held')";
    RETRY_NOW = "update cms_webhook_queue set next_retry_at = $2 \
                 where id = $1 and status in ('pending', 'retry')";
    PURGE = "delete from cms_webhook_queue where id in \
             (select id from cms_webhook_queue where status = $1 limit 1000)";
    RESEND = "insert into cms_webhook_queue \
              (event_id, subscription_id, status, next_retry_at, created_at, resend_of) \
              select d.event_id, d.subscription_id, \
              case when s.active then 'pending' else 'held' end, \
              cast($2 as bigint), cast($2 as bigint), d.queue_id \
              from cms_webhook_deliveries d \
              join cms_webhook_subscriptions s on s.id = d.subscription_id \
              join cms_events e on e.id = d.event_id where d.id = $1";
    MATCHING = concat!(
        "select d.id from cms_webhook_deliveries d where d.id > $1 and ",
        filtered!("$2", "$3", "$4"), " and d.created_at >= $5 \
         and (cast($6 as bigint) is null or d.queue_id = $6) and (cast($7 as text) is null \
         or d.event_id in (select e.id from cms_events e where e.subject = $7)) and d.id = \
         (select max(l.id) from cms_webhook_deliveries l where l.queue_id = d.queue_id) \
         order by d.id limit 10001"
    );
}

/// Paths that the payload filter removed; an empty list when the event is gone.
fn removed(text: Option<String>) -> Result<serde_json::Value> {
    Ok(read::optional_json(text)?.unwrap_or_else(|| serde_json::json!([])))
}

/// Newest first.
pub(in crate::webhooks) async fn list(
    db: &Db,
    before: i64,
    limit: i64,
    filter: &JobFilter,
) -> Result<Vec<Delivery>> {
    let (event, status) = (filter.event.clone(), filter.status.clone());
    let mut args = args![before, limit, filter.subscription, event, status, filter.since];
    match (filter.submission, filter.job) {
        (None, None) => db.all(LIST, args).await,
        (None, Some(job)) => {
            args.extend(args![job]);
            db.all(OF_JOB, args).await
        }
        (Some(submission), job) => {
            args.extend(args![subject(submission), job]);
            db.all(OF_SUBMISSION, args).await
        }
    }
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
    let args = args![
        after,
        limit,
        filter.status.clone(),
        filter.subscription,
        filter.job,
        filter.submission.map(subject),
        filter.event.clone(),
        filter.since
    ];
    db.all(JOBS, args).await
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

/// Removes up to 1,000 jobs.
pub(in crate::webhooks) async fn purge(change: &mut Change, status: &str) -> Result<u64> {
    change.run(PURGE, args![status]).await
}

/// False when there is no such delivery, or its event is gone.
pub(in crate::webhooks) async fn resend(change: &mut Change, delivery: i64) -> Result<bool> {
    Ok(change.run(RESEND, args![delivery, change.now()]).await? > 0)
}

/// The last attempts of matching jobs: up to one more than a call may send again.
pub(in crate::webhooks) async fn matching(db: &Db, filter: &JobFilter) -> Result<Vec<i64>> {
    let args = args![
        i64::MIN,
        filter.subscription,
        filter.event.clone(),
        filter.status.clone(),
        filter.since,
        filter.job,
        filter.submission.map(subject)
    ];
    Ok(db.all::<(i64,)>(MATCHING, args).await?.into_iter().map(|(id,)| id).collect())
}
