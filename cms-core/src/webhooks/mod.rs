//! Webhooks: events are queued in the change that causes them, and delivered at least once.
//!
//! ```text
//! rules          retries, breaker, matching, headers (pure)
//! sign           signatures and their verification (pure)
//! subscriptions  which events go to which address; the catalogue of events
//! deliver        the worker: claim (lane, lease) → request (sign) → send → settle (fenced)
//! history        the log of attempts, the queue, recorded events, what an event would send
//! consumers      events for code of this process
//! ```

mod consumers;
mod deliver;
mod history;
mod rules;
mod sign;
mod subscriptions;

use std::sync::Arc;

pub use self::{
    consumers::{Consumer, Events, Subscribe},
    deliver::{PING, Pinged, Worker, queue::Backlog},
    history::{
        Attempt, AttemptDetail, Depth, Job, JobFilter, MAX_REDELIVER, Redeliver,
        feed::Feed,
        messages::{Considered, Explained, Message, MessageDetail, MessageFilter},
    },
    rules::MAX_RETRIES,
    sign::{
        SignedHeaders, TOLERANCE_S, VerifyError, WebhookSecret, hex_signature, standard_signature,
        verify, verify_hex, verify_within,
    },
    subscriptions::{
        NewSubscription, Subscription, SubscriptionHealth, SubscriptionPatch,
        catalogue::{DescribedEvent, RegisteredEvent},
    },
};
pub(crate) use self::{
    consumers::{call_handlers, enter_handlers, step_handlers},
    deliver::batch::BATCH,
    history::sql::REDELIVERING,
    subscriptions::{
        CLAIMS,
        catalogue::{Registered, sql::LIST as EVENTS},
        sql::LIST as SUBSCRIPTIONS,
    },
};
pub use crate::outbound::AddressRule;
use crate::{Result, base::Base, content::Registry, db::Statement, jobs, outbound::HttpClient};

/// The webhooks of a site: `cms.webhooks()`.
#[derive(Clone)]
pub struct Webhooks(Arc<Inner>);

struct Inner {
    base: Base,
    registry: Registry,
    http: HttpClient,
    counters: jobs::Counters,
    /// When the oldest waiting job is due.
    oldest: jobs::CachedFigure<Option<i64>>,
    backlog: jobs::CachedFigure<deliver::queue::Figures>,
    leases: consumers::Leases,
}

impl Webhooks {
    /// # Errors
    /// `internal_error` when TLS cannot be set up.
    pub(crate) fn new(base: &Base, registry: &Registry) -> Result<Self> {
        Ok(Self(Arc::new(Inner {
            base: base.clone(),
            registry: registry.clone(),
            http: HttpClient::new(&base.settings().webhooks)?,
            counters: jobs::Counters::default(),
            oldest: jobs::CachedFigure::default(),
            backlog: jobs::CachedFigure::default(),
            leases: consumers::Leases::default(),
        })))
    }

    /// A worker that delivers queued jobs.
    #[must_use]
    pub fn worker(&self) -> Worker {
        Worker::new(self.0.clone())
    }

    /// Orders events that were restored from another server.
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
            (sql::DELIVERED, jobs::seconds_before(now, keep.queue_h.saturating_mul(3600))),
            (sql::LEFT_OVER, now),
            (sql::GIVEN_UP, deliveries),
            (sql::TOO_LONG_HELD, deliveries),
            (sql::OLD_SECRETS, now),
            (sql::DELIVERIES, deliveries),
            (sql::EVENTS, jobs::days_before(now, keep.events_days)),
        ];
        jobs::expire(base, &due).await
    }
}

/// The statements of this room.
pub(crate) fn statements() -> [&'static [Statement]; 8] {
    [
        subscriptions::sql::ALL,
        subscriptions::catalogue::sql::ALL,
        deliver::queue::ALL,
        sql::ALL,
        history::sql::ALL,
        history::messages::sql::ALL,
        history::feed::sql::ALL,
        consumers::consumer::ALL,
    ]
}

/// Removal of old rows. Each statement removes at most 1,000.
mod sql {
    crate::db::statements! {
        DELIVERED = "delete from cms_webhook_queue where id in (select id from cms_webhook_queue \
                     where settled_at <= $1 and status = 'delivered' limit 1000)";
        /// Failed, cancelled and held jobs are kept as long as the log.
        GIVEN_UP = "delete from cms_webhook_queue where id in (select id from cms_webhook_queue \
                    where settled_at <= $1 and status in ('failed', 'cancelled') limit 1000)";
        TOO_LONG_HELD = "delete from cms_webhook_queue where id in \
                         (select id from cms_webhook_queue \
                         where status = 'held' and created_at <= $1 limit 1000) and status = \
                         'held'";
        /// Jobs that were queued or returned while their subscription was being deleted. Only
        /// waiting jobs are searched; the other statements remove the rest by age.
        LEFT_OVER = "delete from cms_webhook_queue where id in (select q.id from \
                     cms_webhook_queue q where q.status in ('pending', 'retry') and q.created_at \
                     <= $1 and not exists (select 1 from cms_webhook_subscriptions s where s.id = \
                     q.subscription_id) limit 1000)";
        /// Forgets old secrets whose grace is over.
        OLD_SECRETS = "update cms_webhook_subscriptions \
                       set old_secret = null, old_secret_until = null where old_secret_until <= $1";
        DELIVERIES = "delete from cms_webhook_deliveries where id in \
                      (select id from cms_webhook_deliveries \
                      where created_at <= $1 order by created_at limit 1000)";
        /// Keeps events that still have jobs.
        EVENTS = "delete from cms_events where id in (select e.id from cms_events e \
                  where e.created_at <= $1 and not exists \
                  (select 1 from cms_webhook_queue q where q.event_id = e.id) \
                  order by e.created_at limit 1000)";
    }
}
