//! Webhooks: events are queued in the change that makes them, and delivered at least once.
//!
//! ```text
//! catalogue      events that can be subscribed to, and what their data looks like (example)
//! emit           events raised by hand
//! messages       events that were recorded
//! subscriptions  who is told of what, and where
//! sql/enqueue    one row for each who listens, in the transaction of the event
//! worker         claim (lane, lease) → ahead (waits) → request (sign) → send (guarded) → settle (fenced, breaker, log)
//! deliveries     what was sent and what waits, for people
//! metrics        what is watched
//! explain        who would be told of an event, and what
//! retry, breaker, matching, headers, address, sign, verify   rules (pure)
//! ```

mod address;
mod ahead;
mod breaker;
mod catalogue;
mod claim;
mod deliveries;
mod emit;
mod example;
mod explain;
mod headers;
mod look_up;
mod matching;
mod messages;
mod metrics;
mod ping;
mod request;
mod retry;
mod send;
mod settle;
mod sign;
pub(crate) mod sql;
mod subscriptions;
mod verify;
mod worker;

pub use address::AddressRule;
pub(crate) use catalogue::register;
pub use catalogue::{DescribedEvent, RegisteredEvent};
pub use deliveries::{Delivery, DeliveryDetail, Depth, Job, JobFilter, MAX_REDELIVER, Redeliver};
pub use explain::{Considered, Explained};
pub use messages::{Message, MessageDetail, MessageFilter};
pub(crate) use metrics::Delivered;
pub use metrics::{Backlog, Outcomes};
pub use ping::{PING, Pinged};
pub use retry::MAX_RETRIES;
pub(crate) use send::Sender;
pub use settle::Settled;
pub use sign::{WebhookSecret, hex_signature, standard_signature};
pub(crate) use sql::enqueue::enqueue;
pub use subscriptions::{NewSubscription, Subscription, SubscriptionPatch};
pub use verify::{Received, TOLERANCE_S, VerifyError, verify, verify_hex, verify_within};
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
