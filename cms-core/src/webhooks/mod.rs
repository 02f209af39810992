//! Webhooks: events are queued in the change that causes them, and delivered at least once.
//!
//! ```text
//! rules          retries, breaker, matching, headers, signatures (pure)
//! subscriptions  which events go to which address; the catalogue of events
//! deliver        claim (lane, lease) → ahead → request (sign) → send → settle (fenced)
//! history        the log of attempts, the queue, recorded events, what an event would send
//! consumers      events for code of this process
//! ```

mod consumers;
mod deliver;
mod history;
mod rules;
mod subscriptions;

use std::sync::Arc;

pub use self::{
    consumers::{Consumer, Events, Subscribe},
    deliver::{PING, Pinged, backlog::Backlog, worker::Worker},
    history::{
        deliveries::{Attempt, AttemptDetail, Depth, Job, JobFilter, MAX_REDELIVER, Redeliver},
        explain::{Considered, Explained},
        feed::Feed,
        messages::{Message, MessageDetail, MessageFilter},
    },
    rules::{
        retry::MAX_RETRIES,
        sign::{WebhookSecret, hex_signature, standard_signature},
        verify::{SignedHeaders, TOLERANCE_S, VerifyError, verify, verify_hex, verify_within},
    },
    subscriptions::{
        NewSubscription, Subscription, SubscriptionHealth, SubscriptionPatch,
        catalogue::{DescribedEvent, RegisteredEvent},
    },
};
pub(crate) use self::{
    consumers::{call_handlers, enter_handlers, step_handlers},
    deliver::sql::batch::BATCH,
    subscriptions::{CLAIMS, catalogue::Registered},
};
pub use crate::outbound::AddressRule;
use crate::{Result, base::Base, content::Registry, db::Statement, jobs, outbound::HttpClient};

/// The webhooks of a site: `cms.webhooks()`.
#[derive(Clone)]
pub struct Webhooks(Arc<State>);

struct State {
    base: Base,
    registry: Registry,
    http: HttpClient,
    counters: jobs::Counters,
    /// Since when the oldest job is due.
    oldest: jobs::Kept<Option<i64>>,
}

impl Webhooks {
    /// # Errors
    /// `internal_error` when TLS cannot be set up.
    pub(crate) fn new(base: &Base, registry: &Registry) -> Result<Self> {
        Ok(Self(Arc::new(State {
            base: base.clone(),
            registry: registry.clone(),
            http: HttpClient::new(&base.settings().webhooks)?,
            counters: jobs::Counters::default(),
            oldest: jobs::Kept::default(),
        })))
    }

    /// A worker that delivers queued jobs.
    #[must_use]
    pub fn worker(&self) -> Worker {
        Worker::new(self.0.clone())
    }

    /// Puts events in order that were restored from another server.
    async fn put_in_order(&self) -> Result<()> {
        let base = &self.0.base;
        if let Some(sql) = base.db().dialect().of(&history::feed::sql::RESTORED) {
            let mut change = base.change(crate::Actor::System).await?;
            change.run(sql, Vec::new()).await?;
            change.commit().await?;
        }
        Ok(())
    }

    /// Removes settled jobs, old deliveries, old events, and old secrets after their grace. Returns
    /// the number of rows.
    pub(crate) async fn expire(&self) -> Result<u64> {
        let (base, now) = (&self.0.base, self.0.base.clock().now());
        self.put_in_order().await?;
        let keep = &base.settings().retention;
        let deliveries = jobs::days_before(now, keep.deliveries_days);
        let due = [
            (
                deliver::sql::expire::DELIVERED,
                jobs::seconds_before(now, keep.queue_h.saturating_mul(3600)),
            ),
            (deliver::sql::expire::LEFT_OVER, now),
            (deliver::sql::expire::GIVEN_UP, deliveries),
            (deliver::sql::expire::TOO_LONG_HELD, deliveries),
            (deliver::sql::expire::OLD_SECRETS, now),
            (deliver::sql::expire::DELIVERIES, deliveries),
            (deliver::sql::expire::EVENTS, jobs::days_before(now, keep.events_days)),
        ];
        jobs::expire(base, &due).await
    }
}

/// The statements of this room.
pub(crate) fn statements() -> [&'static [Statement]; 8] {
    [
        subscriptions::sql::ALL,
        subscriptions::catalogue::sql::ALL,
        deliver::sql::queue::ALL,
        deliver::sql::expire::ALL,
        history::deliveries::sql::ALL,
        history::messages::sql::ALL,
        history::feed::sql::ALL,
        consumers::sql::ALL,
    ]
}
