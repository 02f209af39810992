//! The queue as workers see it: lanes, claims, settlements; and its state, for `/metrics` and
//! `/readyz`.

use std::sync::Arc;

use bytes::Bytes;

use crate::{
    Change, Millis, Result,
    db::{Db, args, record, statements},
    jobs::Outcomes,
    webhooks::{Webhooks, subscriptions::sql as subscriptions},
};

/// How long a worker owns a claimed job: longer than any attempt takes.
pub(super) use crate::jobs::LEASE_MS;

/// A body with more bytes is large. Smaller bodies need no limit, because the number of attempts
/// is limited.
pub(super) const LARGE: usize = 64 << 10;

record! {
    /// A subscription with due jobs.
    #[derive(Clone, Debug)]
    pub(super) struct Lane: lane_columns {
        pub(super) id: i64 = "l.id",
        pub(super) url: String = "l.url",
        pub(super) secret: String = "l.secret",
        pub(super) old_secret: Option<(String, i64)> =
            "l.old_secret" + "l.old_secret_until" => old_secret,
        /// A JSON object.
        pub(super) custom_headers: String = "l.custom_headers",
        /// Whether its last attempt failed.
        pub(super) failing: bool = "l.failing",
        /// Its jobs that workers hold.
        pub(super) sending: i64 = "l.sending",
    }
}

fn old_secret((secret, until): (Option<String>, Option<i64>)) -> Result<Option<(String, i64)>> {
    Ok(secret.zip(until))
}

record! {
    /// An event as its receivers get it.
    #[derive(Debug)]
    pub(super) struct Event: event_columns {
        pub(super) id: String = "id",
        pub(super) name: String = "name",
        pub(super) body: Bytes =
            "case when octet_length(body) <= cast($2 as bigint) then body end" => body,
        /// Whether the body was larger than the caller allowed and was therefore not read.
        pub(super) unread: bool = "octet_length(body) > cast($2 as bigint)",
    }
}

impl Event {
    /// An event that retention has removed.
    pub(super) fn gone(id: String) -> Self {
        Self { id, name: String::new(), body: Bytes::new(), unread: false }
    }
}

pub(super) use event_columns;

fn body(text: Option<String>) -> Result<Bytes> {
    Ok(text.unwrap_or_default().into())
}

statements! {
    /// Scans the index in its order up to the first due job. With `exists` PostgreSQL may search
    /// the table instead, where the waiting jobs stand behind all settled ones.
    DUE = "select (select q.subscription_id from cms_webhook_queue q where q.status in \
           ('pending', 'retry') and q.next_retry_at <= $1 \
           order by q.subscription_id limit 1) is not null \
           or exists (select 1 from cms_webhook_queue where status = 'sending' and (lease_until \
           <= $1 or lease_until > $2))";
    /// Subscriptions with jobs whose lease is over. A lease end that is too far ahead was set
    /// before the clock was set back.
    LOST = "select distinct q.subscription_id from cms_webhook_queue q where q.status = 'sending' \
            and (q.lease_until <= $1 or q.lease_until > $2) \
            order by q.subscription_id";
    RECLAIM = "update cms_webhook_queue set status = $4, lease_until = null where subscription_id \
               = $1 and status = 'sending' \
               and (lease_until <= $2 or lease_until > $3)";
    /// The next subscription with jobs in the wrong state.
    MISMATCHED = "select s.id from cms_webhook_subscriptions s where s.id > $1 and case when \
                  s.active then exists (select 1 from cms_webhook_queue q where \
                  q.subscription_id = s.id and q.status = 'held') \
                  else exists (select 1 from cms_webhook_queue q where \
                  q.subscription_id = s.id and q.status in ('pending', 'retry')) \
                  end order by s.id limit 1";
    /// Due lanes that may have another attempt: one after a failure, else up to `$3`. Uses `min`,
    /// because with `exists` PostgreSQL reads and joins the whole backlog.
    LANES = concat!(
        "select ", lane_columns!(), " from (select s.id, s.url, s.secret, s.old_secret, \
         s.old_secret_until, s.custom_headers, s.failure_count > 0 as failing, \
         (select count(*) from cms_webhook_queue f where f.subscription_id = s.id \
         and f.status = 'sending') as sending, s.served_at \
         from cms_webhook_subscriptions s where s.active \
         and (s.not_before <= $1 or s.not_before > $4) \
         and (select min(q.next_retry_at) from cms_webhook_queue q \
         where q.subscription_id = s.id and q.status in ('pending', 'retry')) <= $1) l \
         where l.sending < (case when l.failing then 1 else $3 end) \
         order by l.served_at, l.id limit cast($2 as bigint)"
    );
    /// One lane, due or not.
    LANE = concat!(
        "select ", lane_columns!(), " from (select id, url, secret, old_secret, old_secret_until, \
         custom_headers, failure_count > 0 as failing, cast(0 as bigint) as sending \
         from cms_webhook_subscriptions where id = $1) l"
    );
    /// Ends a lease. A lease that was already lost changes nothing.
    SETTLE = "update cms_webhook_queue set status = $3, retry_count = retry_count + $4, \
              next_retry_at = coalesce($5, next_retry_at), \
              error_message = coalesce($6, error_message), \
              settled_at = coalesce($7, settled_at), lease_until = null \
              where id = $1 and status = 'sending' and lease_token = $2";
    /// Both count only for the worker that owns the job: the result of a worker that hung says
    /// nothing about the receiver.
    SUCCEEDED = "update cms_webhook_subscriptions set failure_count = 0, not_before = 0 where id \
                 = $1 and failure_count > 0 \
                 and exists (select 1 from cms_webhook_queue q where q.id = $2 and q.status in \
                 ('sending', 'retry', 'held') and q.lease_token = $3)";
    COUNT_FAILURE = "update cms_webhook_subscriptions set failure_count = failure_count + $5, \
                     not_before = $4 where id = $1 \
                     and exists (select 1 from cms_webhook_queue q where q.id = $2 and q.status = \
                     'sending' and q.lease_token = $3) \
                     returning failure_count, active, max_retries";
    /// Lets a lane rest until $2. Returns whether the subscription is active; no row: the
    /// subscription was deleted with its jobs.
    REST = "update cms_webhook_subscriptions set not_before = case when not_before > $2 then \
            not_before else $2 end where id = $1 returning active";
    /// Omits the response when the event was erased during the attempt, because many receivers
    /// repeat what they were sent.
    LOG = "insert into cms_webhook_deliveries (queue_id, event_id, event_name, subscription_id, \
           attempt, outcome, error_message, status_code, \
           response, duration_ms, created_at) values ($1, $2, $3, $4, $5, $6, $7, $8, \
           case when exists (select 1 from cms_events e where e.id = $2) \
           then cast($9 as text) end, $10, $11)";
    /// Whether a subscription was deleted, with its jobs.
    DELETED = "select not exists (select 1 from cms_webhook_subscriptions where id = $1)";
    /// Number of jobs by status.
    DEPTH = "select status, count(*) from cms_webhook_queue group by status";
    /// Each of these reads one partial index, never the table.
    WAITING = "select w.pending, w.retry, (select count(*) from cms_webhook_queue where status = \
               'sending'), \
               (select count(*) from cms_webhook_queue where status = 'held') \
               from (select count(case when status = 'pending' then 1 end) as pending, count(case \
               when status = 'retry' then 1 end) as retry \
               from cms_webhook_queue where status in ('pending', 'retry')) w";
    OLDEST = "select min(next_retry_at) from cms_webhook_queue where status in ('pending', \
              'retry')";
    SERVED = "select max(served_at) from cms_webhook_subscriptions where active";
    LATE = "select l.id, l.due from (select q.subscription_id as id, min(q.next_retry_at) as due \
            from cms_webhook_queue q \
            where q.status in ('pending', 'retry') group by q.subscription_id) l where l.due <= $1 \
            and exists (select 1 from cms_webhook_subscriptions s where s.id = l.id and s.active \
            and (s.not_before <= $1 or s.not_before > $3)) \
            order by l.due, l.id limit $2";
}

/// A job that this worker owns until its lease ends.
#[derive(Clone, Debug)]
pub(super) struct Claimed {
    pub(super) id: i64,
    pub(super) retry_count: i64,
    pub(super) lease_token: i64,
    pub(super) event: Arc<Event>,
}

impl Claimed {
    /// The job's id and the token of its lease.
    pub(super) fn lease(&self) -> (i64, i64) {
        (self.id, self.lease_token)
    }
}

/// Whether any job is due or any lease is over.
pub(super) async fn is_due(db: &Db, now: i64) -> Result<bool> {
    let (due,): (bool,) = db.one(DUE, args![now, latest(now)]).await?;
    Ok(due)
}

/// Returns jobs whose lease is over; they are due again, or held while their subscription is off.
/// Lock order: the subscription, then its jobs.
pub(super) async fn reclaim(change: &mut Change) -> Result<u64> {
    let (now, latest) = (change.now(), latest(change.now()));
    let mut returned = 0;
    for (id,) in change.all::<(i64,)>(LOST, args![now, latest]).await? {
        let active =
            subscriptions::lock(change, id).await?.is_some_and(|subscription| subscription.active);
        returned += change
            .run(RECLAIM, args![id, now, latest, if active { "retry" } else { "held" }])
            .await?;
    }
    Ok(returned)
}

/// The latest end that a lease or a pause can have now. A later end was set before the clock was
/// set back.
fn latest(now: i64) -> i64 {
    now + 2 * LEASE_MS
}

/// Due lanes, the least recently served first.
pub(super) async fn lanes(change: &mut Change, limit: i64, most: i64) -> Result<Vec<Lane>> {
    change.all(LANES, args![change.now(), limit, most, latest(change.now())]).await
}

/// What becomes of a job whose lease ends.
pub(super) enum End {
    /// The job waits as before its claim: nothing was sent.
    Returned,
    /// The job waits as before its claim, but is due at that moment: the attempt says nothing
    /// about the receiver.
    PutBack(Millis),
    /// The job is attempted again at that moment.
    Again(Millis),
    /// The job is given up.
    Failed,
}

/// Ends a lease. Without `active`, a waiting job is held. False: the lease was already lost.
pub(super) async fn settle(
    change: &mut Change,
    job: &Claimed,
    end: End,
    active: bool,
    error: Option<&str>,
) -> Result<bool> {
    let (tries, at) = match end {
        End::Returned | End::Failed => (0, None),
        End::PutBack(at) => (0, Some(at)),
        End::Again(at) => (1, Some(at)),
    };
    let (status, settled_at) = match end {
        End::Failed => ("failed", Some(change.now())),
        _ if !active => ("held", None),
        _ if job.retry_count + tries == 0 => ("pending", None),
        _ => ("retry", None),
    };
    let error = error.map(str::to_owned);
    let args = args![job.id, job.lease_token, status, tries, at, error, settled_at];
    Ok(change.run(SETTLE, args).await? > 0)
}

pub(super) async fn succeeded(change: &mut Change, lane: i64, job: &Claimed) -> Result<()> {
    change.run(SUCCEEDED, args![lane, job.id, job.lease_token]).await.map(drop)
}

/// Counts a failure, unless the service itself failed. Returns the failures in a row, whether the
/// subscription is active, and its retries. Returns `None` when the lease was lost or the
/// subscription was deleted with its jobs.
pub(super) async fn count_failure(
    change: &mut Change,
    lane: i64,
    job: &Claimed,
    not_before: i64,
    counts: bool,
) -> Result<Option<(i64, bool, i64)>> {
    let args = args![lane, job.id, job.lease_token, not_before, i64::from(counts)];
    change.optional(COUNT_FAILURE, args).await
}

/// An attempt in the log.
pub(super) struct LogRow<'a> {
    pub(super) outcome: &'a str,
    pub(super) error: Option<&'a str>,
    pub(super) status: Option<u16>,
    pub(super) response: Option<&'a str>,
    pub(super) duration_ms: i64,
}

/// Logs an attempt, even if its lease was lost.
pub(super) async fn log(
    change: &mut Change,
    lane: i64,
    job: &Claimed,
    entry: &LogRow<'_>,
) -> Result<()> {
    let args = args![
        job.id,
        &job.event.id,
        &job.event.name,
        lane,
        job.retry_count + 1,
        entry.outcome,
        entry.error.map(str::to_owned),
        entry.status.map(i64::from),
        entry.response.map(str::to_owned),
        entry.duration_ms,
        change.now(),
    ];
    change.run(LOG, args).await.map(drop)
}

/// Number of jobs that are `pending`, `retry`, `sending` and `held`.
async fn waiting(db: &Db) -> Result<(i64, i64, i64, i64)> {
    db.one(WAITING, args![]).await
}

/// The latest lanes, each with the time when its oldest job became due. A resting lane is not
/// included, because no worker serves it.
async fn late(db: &Db, now: i64, limit: i64) -> Result<Vec<(i64, i64)>> {
    db.all(LATE, args![now, limit, latest(now)]).await
}

/// Lanes in [`Backlog::late_lanes`] at most.
const LATE_LANES: i64 = 5;

/// Number of jobs that are `pending`, `retry`, `sending` and `held`, and the latest lanes, each
/// with the time when its oldest job became due.
pub(in crate::webhooks) type Figures = ((i64, i64, i64, i64), Vec<(i64, i64)>);

/// The state of the queue, for all processes. Settled jobs are not counted: they are no load, and
/// there may be many.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Backlog {
    /// Jobs not attempted yet.
    pub pending: i64,
    /// Jobs that failed and wait for their next attempt.
    pub retry: i64,
    /// Jobs that a worker of any process holds.
    pub sending: i64,
    /// Jobs that wait for their subscription to be activated.
    pub held: i64,
    /// Milliseconds by which the oldest due job is late; 0 when none is due.
    pub oldest_due_ms: i64,
    /// The latest subscriptions, five at most, each with the milliseconds by which its oldest due
    /// job is late.
    pub late_lanes: Vec<(i64, i64)>,
}

impl Webhooks {
    /// Attempts of this process since its start, by outcome.
    #[must_use]
    pub fn outcomes(&self) -> Outcomes {
        self.0.counters.outcomes()
    }

    /// Attempts under way in this process.
    #[must_use]
    pub fn under_way(&self) -> u64 {
        self.0.counters.under_way.count()
    }

    /// Milliseconds by which the oldest due job is late; 0 when none is due. The figure may be one
    /// second old.
    pub async fn oldest_due_ms(&self) -> Result<i64> {
        let (db, now) = (self.0.base.db().clone(), self.0.base.clock().now());
        let read = async move {
            let (oldest,): (Option<i64>,) = db.one(OLDEST, args![]).await?;
            Ok(oldest)
        };
        let oldest = self.0.oldest.get(now, read).await?;
        Ok(oldest.map_or(0, |oldest| (now - oldest).max(0)))
    }

    /// When a worker of any process last served a subscription that is active. 0: none was served
    /// yet. `None`: none is active.
    pub(crate) async fn served_at(&self) -> Result<Option<Millis>> {
        let (served,): (Option<i64>,) = self.0.base.db().one(SERVED, args![]).await?;
        Ok(served)
    }

    /// Reads the state of the queue from indexes: 200,000 waiting jobs take some 55 ms on SQLite,
    /// 0.2 s on PostgreSQL. The figures may be one second old.
    pub async fn backlog(&self) -> Result<Backlog> {
        let (db, now) = (self.0.base.db().clone(), self.0.base.clock().now());
        let read = async move { Ok((waiting(&db).await?, late(&db, now, LATE_LANES).await?)) };
        let ((pending, retry, sending, held), late) = self.0.backlog.get(now, read).await?;
        let late_lanes: Vec<_> =
            late.into_iter().map(|(id, due)| (id, (now - due).max(0))).collect();
        let oldest_due_ms = late_lanes.first().map_or(0, |(_, late)| *late);
        Ok(Backlog { pending, retry, sending, held, oldest_due_ms, late_lanes })
    }
}

#[cfg(all(test, feature = "sqlite"))]
mod tests {
    use sqlx::AssertSqlSafe;

    use super::{DUE, LATE, OLDEST, WAITING};
    use crate::{Cms, settings::Settings};

    /// The cost must not depend on settled jobs or on the width of rows.
    #[tokio::test]
    async fn the_backlog_is_read_from_indexes() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut settings = Settings::default();
        settings.dirs.data = folder.path().to_owned();
        let cms = Cms::builder(settings).open().await.expect("opened");
        let mut looked_at = 0;
        for sql in [DUE, WAITING, OLDEST, LATE] {
            let explained = AssertSqlSafe(format!("explain query plan {}", sql.sql()));
            let plan: Vec<(i64, i64, i64, String)> =
                cms.db().all(explained, Vec::new()).await.expect("a plan");
            for (.., step) in plan
                .iter()
                .filter(|(.., step)| step.contains("cms_webhook_queue") || step.contains(" q "))
            {
                assert!(step.contains("COVERING INDEX"), "{step}: {sql:?}");
                looked_at += 1;
            }
        }
        assert!(looked_at >= 7, "every part of the four was seen: {looked_at}");
    }
}
