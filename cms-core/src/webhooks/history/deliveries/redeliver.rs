//! Sends deliveries again, with a few statements for all of them. Each statement takes their ids
//! as one JSON array.

use std::collections::{BTreeSet, HashSet};

use serde_json::json;

use crate::{
    Change, Code, Error, Result,
    db::{PerEngine, Statement, args, record},
};

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
pub(super) async fn queue(change: &mut Change, ids: &[i64]) -> Result<u64> {
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
