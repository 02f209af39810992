//! Webhooks: events are queued in the change that makes them, and delivered at least once.
//!
//! ```text
//! catalogue      events that can be subscribed to
//! subscriptions  who is told of what, and where
//! sql/enqueue    one row for each who listens, in the transaction of the event
//! worker         claim (lane, lease) → request (sign) → send (guarded) → settle (fenced, breaker, log)
//! deliveries     what was sent and what waits, for people
//! retry, breaker, matching, headers, address, sign, verify   rules (pure)
//! ```

mod catalogue;
mod claim;
mod deliveries;
mod metrics;
mod ping;
mod request;
mod settle;
pub(crate) mod sql;
mod subscriptions;
mod worker;

pub use catalogue::RegisteredEvent;
pub(crate) use catalogue::register;
pub use deliveries::{Delivery, DeliveryDetail, Depth, Job, JobFilter, MAX_REDELIVER, Redeliver};
pub(crate) use metrics::Delivered;
pub use metrics::Outcomes;
pub use ping::{PING, Pinged};
pub use settle::Settled;
pub(crate) use sql::enqueue::enqueue;
pub use subscriptions::{NewSubscription, Subscription, SubscriptionPatch};
pub use worker::{Until, Worker};

use crate::Cms;

/// The webhooks of a site: `cms.webhooks()`.
pub struct Webhooks<'a>(pub(crate) &'a Cms);

impl Webhooks<'_> {
    /// A worker that delivers what is queued.
    #[must_use]
    pub fn worker(&self) -> Worker {
        Worker::new(self.0)
    }
}
