//! The log of attempts and the queue, as the API shows them; with the recorded events, and the feed
//! that follows them.

pub(super) mod feed;
pub(super) mod messages;
pub(super) mod sql;

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::{Webhooks, deliver::queue, subscriptions::CLAIMS};
use crate::{
    AuditEntry, Change, Code, Error, Page, Paging, Result,
    db::args,
    ground::{ListName, filter::bad},
};

/// Deliveries that one call may send again.
pub const MAX_REDELIVER: usize = 10_000;

/// The states of a job.
const JOB_STATES: &str = "pending, sending, retry, delivered, failed, held, cancelled";

/// The outcomes of an attempt, and `failed` for all but `delivered`.
const OUTCOMES: &str = "delivered, failed, timeout, dns, refused_address, connect, tls, status, \
                        redirect, protocol, secret, event, internal, lease_lost";

/// An attempt in the log. Times are RFC 3339 in UTC.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Delivery")]
#[non_exhaustive]
pub struct Attempt {
    /// Its id; later attempts have larger ones.
    pub id: i64,
    /// The job; receivers see its id as `X-Delivery-ID`.
    pub queue_id: i64,
    /// The event's id; receivers see it as `webhook-id`.
    pub event_id: String,
    /// Its name.
    pub event: String,
    /// The subscription's id.
    pub subscription: i64,
    /// Number of the attempt, from 1.
    pub attempt: i64,
    /// `delivered`, or the code of the failure: `timeout`, `dns`, `refused_address`, `connect`,
    /// `tls`, `status`, `redirect`, `protocol`, `secret`, `event`, `internal`, `lease_lost`.
    pub status: String,
    /// The failure as a sentence.
    pub error_message: Option<String>,
    /// Status code of the reply.
    pub response_code: Option<i64>,
    /// Duration in milliseconds.
    pub duration_ms: i64,
    /// When the attempt ended.
    pub created_at: String,
}

/// An attempt with payload and reply.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "DeliveryDetail")]
#[non_exhaustive]
pub struct AttemptDetail {
    /// The attempt.
    #[serde(flatten)]
    pub delivery: Attempt,
    /// The beginning of the reply's body, up to 4 KiB.
    pub response: Option<String>,
    /// The body that was sent; null once `retention.events_days` is over.
    pub payload: Option<Json>,
    /// Paths of the members that the payload filter removed.
    pub removed: Json,
}

/// A job of the queue. Times are RFC 3339 in UTC.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Job {
    /// Its id.
    pub id: i64,
    /// The event.
    pub event_id: String,
    /// Its name.
    pub event: String,
    /// The subscription's id.
    pub subscription: i64,
    /// `pending`, `sending`, `retry`, `delivered`, `failed`, `held`, `cancelled`.
    pub status: String,
    /// When the next attempt is due.
    pub next_retry_at: String,
    /// Number of failed attempts after which it was to be tried again: a job that failed for good
    /// after three attempts has 2.
    pub retry_count: i64,
    /// The last failure as a sentence.
    pub error_message: Option<String>,
    /// When it was queued.
    pub created_at: String,
    /// When the job was delivered, given up or cancelled.
    pub settled_at: Option<String>,
    /// The job that this one sends again.
    pub resend_of: Option<i64>,
}

/// Selects jobs or deliveries.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct JobFilter {
    /// Only this job, or its attempts.
    pub job: Option<i64>,
    /// Only those of this event; receivers see its id as `webhook-id`.
    pub event_id: Option<String>,
    /// Only those of the events of one visit of a funnel: the id of its submission. Changes in the
    /// inbox are no events of the visit.
    pub submission: Option<i64>,
    /// Only those of this subscription.
    pub subscription: Option<i64>,
    /// Only those of events with this name.
    pub event: Option<String>,
    /// Only those in this state; for deliveries `failed` means every state but `delivered`.
    pub status: Option<String>,
    /// Only those created at this time or later, in milliseconds.
    pub since: i64,
    /// Only those created before this time, in milliseconds.
    pub until: Option<i64>,
}

impl JobFilter {
    /// Why no row can have the status that is asked for.
    fn unknown_status(&self, known: &str) -> Option<String> {
        let status = self.status.as_deref()?;
        let is_known = known.split(", ").any(|one| one == status);
        (!is_known).then(|| format!("there is no status {status:?}, only {known}"))
    }

    /// The part of the filter that the cursors of a list are bound to.
    fn selection(&self) -> impl std::fmt::Debug {
        (
            (self.job, &self.event_id, self.submission, self.subscription),
            (&self.event, &self.status, self.since, self.until),
        )
    }
}

/// How full the queue is.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Depth {
    /// Number of jobs by status.
    pub by_status: std::collections::BTreeMap<String, i64>,
    /// Milliseconds by which the oldest due job is late; 0 when none is due.
    pub oldest_due_ms: i64,
}

impl Webhooks {
    /// Logged attempts, newest first, a page at a time.
    ///
    /// # Errors
    /// `bad_query` for a cursor that is not from here, or an unknown status.
    pub async fn deliveries(&self, filter: &JobFilter, paging: &Paging) -> Result<Page<Attempt>> {
        if let Some(why) = filter.unknown_status(OUTCOMES) {
            return Err(bad(format!("status: {why}.")));
        }
        let base = &self.0.base;
        let read = async |before, limit| sql::list(base.db(), before, limit, filter).await;
        let list = base.list(ListName::Deliveries).of(filter.selection());
        let page = Page::newest_first(list, paging, read, |one: &Attempt| one.id).await?;
        page.counted(paging, async || sql::count(base.db(), filter).await).await
    }

    /// One attempt with its payload.
    pub async fn delivery(&self, id: i64) -> Result<AttemptDetail> {
        let missing = || Error::new(Code::NotFound, format!("There is no delivery with id {id}."));
        sql::get(self.0.base.db(), id).await?.ok_or_else(missing)
    }

    /// Jobs of the queue by id, a page at a time.
    ///
    /// # Errors
    /// `bad_query` for a cursor that is not from here, or an unknown status.
    pub async fn jobs(&self, filter: &JobFilter, paging: &Paging) -> Result<Page<Job>> {
        if let Some(why) = filter.unknown_status(JOB_STATES) {
            return Err(bad(format!("status: {why}.")));
        }
        let base = &self.0.base;
        let read = async |after, limit| sql::jobs(base.db(), after, limit, filter).await;
        let list = base.list(ListName::Jobs).of(filter.selection());
        let page = Page::by_id(list, paging, read, |job: &Job| job.id).await?;
        page.counted(paging, async || sql::count_jobs(base.db(), filter).await).await
    }

    /// The query plans of the engine for four statements: the list of deliveries, the choice
    /// of those to send again, the list of jobs, and the read before sending again. Each plan
    /// is its lines.
    #[cfg(feature = "testing")]
    #[doc(hidden)]
    pub async fn plans(&self, filter: &JobFilter) -> Result<[Vec<String>; 4]> {
        sql::plans(self.0.base.db(), filter).await
    }

    /// One job.
    pub async fn job(&self, id: i64) -> Result<Job> {
        sql::job(self.0.base.db(), id).await?.ok_or_else(|| no_job(id))
    }

    /// How full the queue is.
    pub async fn depth(&self) -> Result<Depth> {
        let by_status: Vec<(String, i64)> = self.0.base.db().all(queue::DEPTH, args![]).await?;
        let by_status = by_status.into_iter().collect();
        Ok(Depth { by_status, oldest_due_ms: self.oldest_due_ms().await? })
    }

    /// `running` when a worker of this process delivers, `none` when other processes do.
    #[must_use]
    pub fn worker_state(&self) -> &'static str {
        self.0.counters.workers.state()
    }

    /// Cancels a waiting job.
    ///
    /// # Errors
    /// `not_found`; `conflict` when the job is being sent or is settled.
    pub async fn cancel(&self, change: &mut Change, id: i64) -> Result<Job> {
        let done = change.run(sql::CANCEL, args![id, change.now()]).await? > 0;
        self.acted(change, id, done, "cancel").await
    }

    /// Makes a waiting job due now.
    pub async fn retry_now(&self, change: &mut Change, id: i64) -> Result<Job> {
        let done = change.run(sql::RETRY_NOW, args![id, change.now()]).await? > 0;
        change.wake_worker();
        self.acted(change, id, done, "retry").await
    }

    async fn acted(
        &self,
        change: &mut Change,
        id: i64,
        done: bool,
        action: &'static str,
    ) -> Result<Job> {
        let job = sql::job(&mut *change, id).await?.ok_or_else(|| no_job(id))?;
        if !done {
            let remedy = match (job.status.as_str(), action) {
                ("sending", _) => "look again when the attempt has ended",
                ("held", _) => "activate its subscription",
                ("cancelled", "retry") => {
                    "to have it sent all the same, redeliver one of its deliveries, where it was \
                     tried before that"
                }
                (_, "retry") => "to have it sent once more, redeliver one of its deliveries",
                _ => "only jobs that wait can be cancelled",
            };
            let detail = format!("Job {id} is {}: {remedy}. Nothing was changed.", job.status);
            return Err(Error::new(Code::Conflict, detail));
        }
        change
            .audit(AuditEntry { action, table: "webhook_queue", id: &id.to_string(), columns: &[] })
            .await?;
        Ok(job)
    }

    /// Removes settled jobs of one status: `delivered`, `failed` or `cancelled`. Returns the number
    /// removed, 1,000 at most.
    ///
    /// # Errors
    /// `validation_failed` for another status.
    pub async fn purge(&self, change: &mut Change, status: &str) -> Result<u64> {
        if !["delivered", "failed", "cancelled"].contains(&status) {
            return Err(Error::invalid_field(
                "status",
                "unknown",
                "delivered, failed or cancelled",
            ));
        }
        let removed = change.run(sql::PURGE, args![status]).await?;
        if removed > 0 {
            change
                .audit(AuditEntry {
                    action: "purge",
                    table: "webhook_queue",
                    id: status,
                    columns: &[],
                })
                .await?;
        }
        Ok(removed)
    }

    /// The ids of the deliveries to send again: the given ids, or all that match the filter. Call
    /// this before the change begins, so that a long log does not delay other writers.
    ///
    /// # Errors
    /// `count_moved` when the filter matches a different number than `expected`;
    /// `validation_failed` for more than [`MAX_REDELIVER`], or an unknown status.
    pub async fn chosen(&self, which: &Redeliver) -> Result<Vec<i64>> {
        let ids: Vec<i64> = match which {
            Redeliver::Ids(ids) => {
                ids.iter().copied().collect::<BTreeSet<_>>().into_iter().collect()
            }
            Redeliver::Filter { filter, expected } => {
                if let Some(why) = filter.unknown_status(OUTCOMES) {
                    return Err(Error::invalid_field("filter.status", "unknown", why));
                }
                let found = sql::matching(self.0.base.db(), filter).await?;
                if found.len() as u64 != *expected && found.len() <= MAX_REDELIVER {
                    let detail = format!(
                        "The filter matches {} deliveries now, not {expected}: check it. Nothing \
                         was queued.",
                        found.len()
                    );
                    let matched = found.len() as u64;
                    return Err(Error::new(Code::CountMoved, detail).matching(matched));
                }
                found
            }
        };
        if ids.len() > MAX_REDELIVER {
            return Err(Error::invalid_field(
                "ids",
                "range",
                format!("at most {MAX_REDELIVER} at once: narrow the filter"),
            ));
        }
        Ok(ids)
    }

    /// Sends the [chosen](Webhooks::chosen) deliveries again, with the same event id and body.
    /// Returns the number of jobs.
    ///
    /// An event whose job for that subscription still waits gets no second job: the job
    /// becomes due now, or stays held while the subscription is off. A job that is being sent
    /// is left alone.
    ///
    /// # Errors
    /// `not_found` for an unknown id, and when its subscription or its event is gone.
    pub async fn redeliver(&self, change: &mut Change, ids: &[i64]) -> Result<u64> {
        // Many jobs become due here, and a worker claims them in another order.
        change.search_by_key().await?;
        change.lock(CLAIMS).await?;
        let queued = sql::queue_again(change, ids).await?;
        change.wake_worker();
        let count = queued.to_string();
        change
            .audit(AuditEntry {
                action: "redeliver",
                table: "webhook_queue",
                id: &count,
                columns: &[],
            })
            .await?;
        Ok(queued)
    }
}

/// The deliveries to send again.
#[derive(Clone, Debug)]
pub enum Redeliver {
    /// These deliveries.
    Ids(Vec<i64>),
    /// The last delivery of each event at each subscription, if that delivery matches and both the
    /// subscription and the event still exist.
    Filter {
        /// Selects the deliveries.
        filter: JobFilter,
        /// The number of matches that the caller expects.
        expected: u64,
    },
}

fn no_job(id: i64) -> Error {
    Error::new(Code::NotFound, format!("There is no job with id {id}."))
}
