//! Records an event and queues one job for each subscription that listens, both in the transaction
//! that causes the event.

use std::sync::Arc;

use serde_json::json;
use tokio::sync::{Notify, futures::Notified, watch};

use super::body;
use crate::{
    Millis,
    db::{Step, args},
};

pub(crate) mod sql {
    crate::db::statements! {
        /// The subject is whom the payload is about, if the payload is deleted with the subject.
        EVENT = "insert into cms_events (id, name, body, removed, created_at, subject, depth) \
                 values ($1, $2, $3, $4, $5, $6, $7)";
        /// `$4` is the event's family. Jobs are inserted in the order of subscriptions, so that
        /// each index grows at one place: PostgreSQL then needs a third less time for 10,000
        /// subscriptions. The select does not join subscriptions: a join costs PostgreSQL a quarter
        /// more time and saves SQLite a fifth.
        ENQUEUE = "insert into cms_webhook_queue \
                   (event_id, subscription_id, status, next_retry_at, created_at) \
                   select cast($1 as text), l.id, \
                   case when exists (select 1 from cms_webhook_subscriptions s \
                   where s.id = l.id and not s.active) then 'held' else 'pending' end, \
                   cast($2 as bigint), cast($2 as bigint) from \
                   (select distinct i.subscription_id as id from cms_webhook_interests i \
                   where i.event in ($3, $4, '*')) l order by l.id";
    }
}

/// The pattern other than `*` that an event matches: `item.*` for events of items, else its own
/// name.
#[must_use]
pub(crate) fn family(event: &str) -> &str {
    if event.starts_with("item.") { "item.*" } else { event }
}

/// The queue of events. Clones share the bell that wakes the workers of this process, and the
/// signal that something was committed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outbox(Arc<Wakes>);

#[derive(Debug, Default)]
struct Wakes {
    bell: Notify,
    news: watch::Sender<()>,
}

impl Outbox {
    /// The steps that write an event and then its jobs.
    pub(crate) fn add(
        id: &str,
        event: &str,
        now: Millis,
        data: serde_json::Value,
        subject: Option<String>,
        depth: i64,
    ) -> [Step; 2] {
        let (body, removed) = body(id, event, now, data);
        let removed = (!removed.is_empty()).then(|| json!(removed).to_string());
        [
            Step(sql::EVENT, args![id, event, body, removed, now, subject, depth]),
            Step(sql::ENQUEUE, args![id, now, event, family(event)]),
        ]
    }

    /// Wakes one worker: jobs may be due.
    pub(crate) fn ring(&self) {
        self.0.bell.notify_one();
    }

    /// Signals to all that follow events that some process has committed.
    pub(crate) fn tell(&self) {
        self.0.news.send_replace(());
    }

    /// Changes with each [`Outbox::tell`].
    pub(crate) fn news(&self) -> watch::Receiver<()> {
        self.0.news.subscribe()
    }

    /// Waits for [`Outbox::ring`].
    pub(crate) fn rung(&self) -> Notified<'_> {
        self.0.bell.notified()
    }
}
