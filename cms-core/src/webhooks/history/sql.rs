//! Statements of the log of attempts, and of the queue as the API shows it. Those that send
//! deliveries again are a few for all of them: each takes their ids as one JSON array.

use std::collections::{BTreeSet, HashSet};

use serde_json::json;

use super::{Attempt, AttemptDetail, Job, JobFilter, MAX_REDELIVER};
use crate::{
    Change, Code, Error, Result,
    change::Reader,
    db::{Db, PerEngine, Statement, Value, args, read, record, statements},
    funnels::subject,
};

record! { Attempt: delivery_columns {
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

record! { AttemptDetail: detail_columns {
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

/// Deliveries that the values `$3` to `$9` of a filter match. The outcome `failed` means every
/// outcome but `delivered`. The end of the range is written as an alternative, because for a plain
/// range PostgreSQL would read by time, then sort.
macro_rules! filtered {
    () => {
        "(cast($3 as bigint) is null or d.subscription_id = $3) \
         and (cast($4 as text) is null or d.event_name = $4) \
         and (cast($5 as text) is null or d.outcome = $5 \
         or ($5 = 'failed' and d.outcome <> 'delivered')) \
         and d.created_at >= $6 and (cast($7 as bigint) is null or d.created_at < $7) \
         and (cast($8 as bigint) is null or d.queue_id = $8) \
         and (cast($9 as text) is null or d.event_id = $9)"
    };
}

/// Up to $2 deliveries before $1, newest first.
macro_rules! newest {
    ($found_by:literal) => {
        concat!(
            "select ",
            delivery_columns!(),
            " from cms_webhook_deliveries d where ",
            $found_by,
            "d.id < $1 and ",
            filtered!(),
            " order by d.id desc limit $2"
        )
    };
}

/// Deliveries that can be sent again, up to $2 before $1: the last one of each event at each
/// subscription, while both exist. With `exists` PostgreSQL may read whole tables.
macro_rules! resendable {
    ($found_by:literal) => {
        concat!(
            "select d.id from cms_webhook_deliveries d where ",
            $found_by,
            "d.id < $1 and ",
            filtered!(),
            " and (select s.id from cms_webhook_subscriptions s \
             where s.id = d.subscription_id) is not null \
             and (select v.id from cms_events v where v.id = d.event_id) is not null \
             and d.id = (select max(l.id) from cms_webhook_deliveries l \
             where l.event_id = d.event_id and l.subscription_id = d.subscription_id) \
             order by d.id limit $2"
        )
    };
}

/// Up to $2 jobs after $1.
macro_rules! jobs {
    ($found_by:literal) => {
        concat!(
            "select ",
            job_columns!(),
            " from cms_webhook_queue q join cms_events e on e.id = q.event_id where ",
            $found_by,
            "q.id > $1 and (cast($3 as text) is null or q.status = $3) \
             and (cast($4 as bigint) is null or q.subscription_id = $4) \
             and (cast($5 as bigint) is null or q.id = $5) \
             and (cast($6 as text) is null or e.name = $6) and q.created_at >= $7 \
             and (cast($8 as bigint) is null or q.created_at < $8) \
             and (cast($9 as text) is null or q.event_id = $9) order by q.id limit $2"
        )
    };
}

statements! {
    LIST = newest!("");
    OF_JOB = newest!("d.queue_id = $8 and ");
    OF_EVENT = newest!("d.event_id = $9 and ");
    OF_SUBMISSION = newest!(
        "d.event_id in (select e.id from cms_events e where e.subject = $10) and "
    );
    GET = concat!(
        "select ", detail_columns!(), " from cms_webhook_deliveries d \
         left join cms_events e on e.id = d.event_id where d.id = $1"
    );
    JOBS = jobs!("");
    JOBS_OF_EVENT = jobs!("q.event_id = $9 and ");
    JOBS_OF_SUBMISSION = jobs!("e.subject = $10 and ");
    JOB = concat!(
        "select ", job_columns!(), " from cms_webhook_queue q \
         join cms_events e on e.id = q.event_id where q.id = $1"
    );
    CANCEL = "update cms_webhook_queue set status = 'cancelled', settled_at = $2 \
              where id = $1 and status in ('pending', 'retry', 'held')";
    /// A job that is already due keeps its time, and so its place.
    RETRY_NOW = "update cms_webhook_queue set next_retry_at = case when next_retry_at > $2 then \
                 $2 else next_retry_at end where id = $1 and status in ('pending', 'retry')";
    PURGE = "delete from cms_webhook_queue where id in \
             (select id from cms_webhook_queue where status = $1 limit 1000)";
    MATCHING = resendable!("");
    MATCHING_OF_EVENT = resendable!("d.event_id = $9 and ");
    MATCHING_OF_SUBMISSION = resendable!(
        "d.event_id in (select e.id from cms_events e where e.subject = $10) and "
    );
}

/// Paths that the payload filter removed; an empty list when the event is gone.
fn removed(text: Option<String>) -> Result<serde_json::Value> {
    Ok(read::optional_json(text)?.unwrap_or_else(|| serde_json::json!([])))
}

/// The values of a filter, from `$3` on; `$1` and `$2` select the page.
fn selected(place: i64, limit: i64, filter: &JobFilter) -> Vec<Value> {
    let mut args = args![
        place,
        limit,
        filter.subscription,
        filter.event.clone(),
        filter.status.clone(),
        filter.since,
        filter.until,
        filter.job,
        filter.event_id.clone()
    ];
    args.extend(filter.submission.map(|submission| subject(submission).into()));
    args
}

/// The statement that reads the fewest deliveries for this filter.
fn listing(filter: &JobFilter) -> Statement {
    match (filter.submission, &filter.event_id, filter.job) {
        (Some(_), ..) => OF_SUBMISSION,
        (None, Some(_), _) => OF_EVENT,
        (None, None, Some(_)) => OF_JOB,
        (None, None, None) => LIST,
    }
}

/// As [`listing`], for the choice of deliveries to send again.
fn choosing(filter: &JobFilter) -> Statement {
    match (filter.submission, &filter.event_id) {
        (Some(_), _) => MATCHING_OF_SUBMISSION,
        (None, Some(_)) => MATCHING_OF_EVENT,
        (None, None) => MATCHING,
    }
}

/// As [`listing`], for jobs.
fn listing_jobs(filter: &JobFilter) -> Statement {
    match (filter.submission, &filter.event_id) {
        (Some(_), _) => JOBS_OF_SUBMISSION,
        (None, Some(_)) => JOBS_OF_EVENT,
        (None, None) => JOBS,
    }
}

/// Newest first.
pub(super) async fn list(
    db: &Db,
    before: i64,
    limit: i64,
    filter: &JobFilter,
) -> Result<Vec<Attempt>> {
    db.all(listing(filter), selected(before, limit, filter)).await
}

/// The number of deliveries that a filter matches.
pub(super) async fn count(db: &Db, filter: &JobFilter) -> Result<i64> {
    db.count_rows(listing(filter), selected(i64::MAX, i64::MAX, filter)).await
}

/// The query plans for the list of deliveries, the choice of those to send again, the list of
/// jobs, and the read before sending again. Each plan is its lines.
#[cfg(feature = "testing")]
pub(super) async fn plans(db: &Db, filter: &JobFilter) -> Result<[Vec<String>; 4]> {
    let sources = db.dialect().of(&REDELIVERING).sources;
    Ok([
        db.plan(listing(filter).sql(), selected(i64::MAX, 50, filter)).await?,
        db.plan(choosing(filter).sql(), selected(i64::MAX, 50, filter)).await?,
        db.plan(listing_jobs(filter).sql(), selected_jobs(i64::MIN, 50, filter)).await?,
        db.plan(sources.sql(), args!["[1,2,3]"]).await?,
    ])
}

pub(super) async fn get(db: &Db, id: i64) -> Result<Option<AttemptDetail>> {
    db.optional(GET, args![id]).await
}

/// As [`selected`], for jobs.
fn selected_jobs(after: i64, limit: i64, filter: &JobFilter) -> Vec<Value> {
    let mut args = args![
        after,
        limit,
        filter.status.clone(),
        filter.subscription,
        filter.job,
        filter.event.clone(),
        filter.since,
        filter.until,
        filter.event_id.clone()
    ];
    args.extend(filter.submission.map(|submission| subject(submission).into()));
    args
}

pub(super) async fn jobs(db: &Db, after: i64, limit: i64, filter: &JobFilter) -> Result<Vec<Job>> {
    db.all(listing_jobs(filter), selected_jobs(after, limit, filter)).await
}

/// The number of jobs that a filter matches.
pub(super) async fn count_jobs(db: &Db, filter: &JobFilter) -> Result<i64> {
    db.count_rows(listing_jobs(filter), selected_jobs(i64::MIN, i64::MAX, filter)).await
}

pub(super) async fn job(from: impl Into<Reader<'_>>, id: i64) -> Result<Option<Job>> {
    from.into().optional(JOB, args![id]).await
}

/// The matching deliveries that can be sent again, up to one more than a call may send.
pub(super) async fn matching(db: &Db, filter: &JobFilter) -> Result<Vec<i64>> {
    let args = selected(i64::MAX, MAX_REDELIVER as i64 + 1, filter);
    Ok(db.all::<(i64,)>(choosing(filter), args).await?.into_iter().map(|(id,)| id).collect())
}

record! {
    /// A delivery to send again: its subscription and event, whether these still exist, and the
    /// unfinished job of that event for that subscription.
    struct Source: source_columns {
        id: i64 = "cast(k.value as bigint)",
        /// `None`: there is no such delivery.
        event_id: Option<String> = "d.event_id",
        subscription: Option<i64> = "d.subscription_id",
        has_subscription: bool = "s.id is not null",
        has_event: bool = "e.id is not null",
        job: Option<i64> =
            "(select max(q.id + 0) from cms_webhook_queue q where q.event_id = d.event_id \
             and q.subscription_id = d.subscription_id \
             and q.status || '' in ('pending', 'retry', 'sending', 'held'))",
    }
}

// `+ 0` and `|| ''` make the engines use the index by event and no other.

/// The statements of one engine. `$1` is a JSON array of ids.
#[derive(Clone, Copy)]
pub(crate) struct Redelivering {
    /// Locks the subscriptions of deliveries.
    lock: Statement,
    /// Reads each delivery as a [`Source`].
    pub(super) sources: Statement,
    /// Makes jobs due at `$2`. A job that is already due keeps its time, and so its place.
    due: Statement,
    /// Queues deliveries at `$2`.
    queue: Statement,
}

/// `$keys`: the elements `k` of the array. `$locking`: locks the rows that are read.
macro_rules! redelivering {
    ($keys:literal, $locking:literal) => {
        Redelivering {
            lock: Statement::new(
                "webhooks::redelivering::lock",
                concat!(
                    "select s.id from cms_webhook_subscriptions s where s.id in \
                     (select d.subscription_id from ",
                    $keys,
                    " join cms_webhook_deliveries d on d.id = cast(k.value as bigint)) \
                     order by s.id",
                    $locking
                ),
            ),
            sources: Statement::new(
                "webhooks::redelivering::sources",
                concat!(
                    "select ",
                    source_columns!(),
                    " from ",
                    $keys,
                    " left join cms_webhook_deliveries d on d.id = cast(k.value as bigint) \
                     left join cms_webhook_subscriptions s on s.id = d.subscription_id \
                     left join cms_events e on e.id = d.event_id order by 1"
                ),
            ),
            due: Statement::new(
                "webhooks::redelivering::due",
                concat!(
                    "update cms_webhook_queue set next_retry_at = $2 \
                     where id in (select cast(k.value as bigint) from ",
                    $keys,
                    ") and status || '' in ('pending', 'retry') and next_retry_at > $2"
                ),
            ),
            queue: Statement::new(
                "webhooks::redelivering::queue",
                concat!(
                    "insert into cms_webhook_queue \
                     (event_id, subscription_id, status, next_retry_at, created_at, resend_of) \
                     select d.event_id, d.subscription_id, \
                     case when s.active then 'pending' else 'held' end, \
                     cast($2 as bigint), cast($2 as bigint), d.queue_id from ",
                    $keys,
                    " join cms_webhook_deliveries d on d.id = cast(k.value as bigint) \
                     join cms_webhook_subscriptions s on s.id = d.subscription_id \
                     join cms_events e on e.id = d.event_id order by d.id"
                ),
            ),
        }
    };
}

/// On SQLite a writing change excludes all others, so there is nothing to lock.
pub(crate) const REDELIVERING: PerEngine<Redelivering> = PerEngine {
    sqlite: redelivering!("json_each($1) k", ""),
    postgres: redelivering!(
        "json_array_elements_text(cast($1 as json)) k (value)",
        " for no key update of s"
    ),
};

impl Redelivering {
    pub(crate) fn all(self) -> [Statement; 4] {
        let Self { lock, sources, due, queue } = self;
        [lock, sources, due, queue]
    }
}

/// Sends the events of deliveries to their subscriptions again. Returns the number of jobs. The
/// caller holds the lock on claims.
pub(super) async fn queue_again(change: &mut Change, ids: &[i64]) -> Result<u64> {
    let (statements, now) = (change.dialect().of(&REDELIVERING), change.now());
    let ids = json!(ids).to_string();
    // Lock order, as everywhere: subscriptions, then their jobs.
    change.all::<(i64,)>(statements.lock, args![ids.as_str()]).await?;
    let (mut waiting, mut fresh, mut events) = (BTreeSet::new(), Vec::new(), HashSet::new());
    for source in change.all::<Source>(statements.sources, args![ids.as_str()]).await? {
        source.expect_there()?;
        if let Some(job) = source.job {
            waiting.insert(job);
        } else if events.insert((source.event_id, source.subscription)) {
            // Several attempts of one event at one subscription make one job.
            fresh.push(source.id);
        }
    }
    // A job that is being sent or held stays as it is.
    change.run(statements.due, args![json!(waiting).to_string(), now]).await?;
    let queued = change.run(statements.queue, args![json!(fresh).to_string(), now]).await?;
    if queued != fresh.len() as u64 {
        return Err(gone("An event was removed in this instant: send the call again"));
    }
    Ok(waiting.len() as u64 + queued)
}

impl Source {
    /// # Errors
    /// `not_found` when the delivery, its subscription or its event is gone.
    fn expect_there(&self) -> Result<()> {
        let id = self.id;
        match (&self.event_id, self.has_subscription, self.has_event) {
            (None, ..) => Err(gone(&format!("There is no delivery with id {id}"))),
            (_, false, _) => {
                Err(gone(&format!("The subscription of delivery {id} is deleted: leave it out")))
            }
            (.., false) => {
                Err(gone(&format!("The event of delivery {id} is no longer kept: leave it out")))
            }
            _ => Ok(()),
        }
    }
}

fn gone(why: &str) -> Error {
    Error::new(Code::NotFound, format!("{why}. Nothing was queued."))
}
