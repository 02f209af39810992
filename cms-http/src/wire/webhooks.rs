//! `/api/backend/webhooks` and what hangs below it

use cms_core::webhooks::{
    Attempt, AttemptDetail, Depth, Job, NewSubscription, Pinged, Subscription, SubscriptionPatch,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Body, Data, Done, NoBody, Noted, OneOrPage,
    keys::Grace,
    operations,
    parameters::{ById, Limit, Moment, NoQuery, OneOrList, paged},
};

operations! {
    /// One subscription, or a page of them.
    Read: OneOrList, NoBody => OneOrPage<Subscription>, of "webhooks";
    /// Makes a subscription and shows its secret, once.
    Create: NoQuery, NewSubscription => Noted<ShownSubscription>;
    /// Changes a subscription.
    Update: ById, SubscriptionPatch => Noted<Subscription>;
    /// Removes a subscription with its jobs.
    Delete: ById, NoBody => Done;
    /// Gives a subscription a new secret and shows it, once.
    Rotate: ById, Grace => Data<ShownSubscription>;
    /// Switches a subscription on again.
    Activate: ById, Activation => Data<Activated>;
    /// Sends a test delivery at once.
    Ping: ById, NoBody => Data<Pinged>;
    /// One job of the queue, or a page of them.
    Queue: WhichJobs, NoBody => OneOrPage<Job>;
    /// Removes settled jobs, 1,000 at most.
    Purge: OfStatus, NoBody => Data<Removed>;
    /// How full the queue is.
    Stats: NoQuery, NoBody => Data<Depth>;
    /// Makes a job due now.
    Retry: ById, NoBody => Data<Job>;
    /// Gives a job up.
    Cancel: ById, NoBody => Data<Job>;
    /// One attempt with what was sent, or a page of them.
    Deliveries: WhichDeliveries, NoBody => OneOrPage<Attempt, AttemptDetail>;
    /// Sends deliveries once more.
    Redeliver: NoQuery, Redelivery => Data<Queued>;
}

impl Body for NewSubscription {}
impl Body for SubscriptionPatch {}
impl Body for Redelivery {}
impl Body for Activation {
    const OPTIONAL: bool = true;
}

/// A subscription with its secret, which is shown once.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct ShownSubscription {
    /// The subscription.
    #[serde(flatten)]
    pub record: Subscription,
    /// Its secret.
    pub secret: String,
}

/// What becomes of the jobs that were held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Held {
    /// They are sent.
    #[default]
    Replay,
    /// They are cancelled.
    Drop,
}

/// How to switch a subscription on.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(extend("examples" = [{"held": "replay"}]))]
pub struct Activation {
    /// What becomes of the jobs that were held.
    pub held: Held,
}

/// A subscription that was switched on.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Activated {
    /// The subscription.
    #[serde(flatten)]
    pub record: Subscription,
    /// Jobs that were held.
    pub held: u64,
}

/// Text without control characters.
const PLAIN: &str = r"^[^\x00-\x1F\x7F-\x9F]*$";
/// The states of a job.
const JOB_STATES: &str = "^(pending|sending|retry|delivered|failed|held|cancelled)$";
/// The outcomes of an attempt, and `failed` for all but `delivered`.
const OUTCOMES: &str = "^(delivered|failed|timeout|dns|refused_address|connect|tls|status|redirect\
                        |protocol|secret|event|internal|lease_lost)$";

paged! {
    /// Which jobs of the queue.
    pub struct WhichJobs {
        /// The one to show.
        pub id: Option<i64>,
        /// Only those of this status.
        #[schemars(regex(pattern = JOB_STATES))]
        pub status: Option<String>,
        /// Only those of this subscription.
        pub subscription: Option<i64>,
        /// Only those of this event, by its id: the `webhook-id` that receivers see.
        #[schemars(regex(pattern = PLAIN))]
        pub event_id: Option<String>,
    }
}

/// Which settled jobs.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OfStatus {
    /// `delivered`, `failed` or `cancelled`.
    #[schemars(regex(pattern = "^(delivered|failed|cancelled)$"))]
    #[schemars(example = &"delivered")]
    pub status: String,
}

/// How many were removed.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Removed {
    /// Jobs.
    pub removed: u64,
}

paged! {
    /// Which attempts.
    pub struct WhichDeliveries {
        /// The one to show.
        pub id: Option<i64>,
        /// Only those of this job: `queue_id`.
        pub job: Option<i64>,
        /// Only those of this event, by its id: the `webhook-id` that receivers see.
        #[schemars(regex(pattern = PLAIN))]
        pub event_id: Option<String>,
        /// Only of the events of this visit of a funnel, by the id of its submission.
        pub submission: Option<i64>,
        /// Only those of this subscription.
        pub subscription: Option<i64>,
        /// Only those of this event.
        #[schemars(regex(pattern = PLAIN))]
        pub event: Option<String>,
        /// Only those of this status.
        #[schemars(regex(pattern = OUTCOMES))]
        pub status: Option<String>,
        /// Not before.
        pub since: Option<Moment>,
        /// Before.
        pub until: Option<Moment>,
    }
}

/// What to send once more: either `ids`, or `filter` and `expected`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("examples" = [{"ids": [1]}], "oneOf" = [
    {"required": ["ids"], "properties": {
        "ids": {"type": "array"}, "filter": {"type": "null"}, "expected": {"type": "null"},
    }},
    {"required": ["filter", "expected"], "properties": {
        "ids": {"type": "null"}, "filter": {"type": "object"}, "expected": {"type": "integer"},
    }},
]))]
pub struct Redelivery {
    /// Deliveries.
    #[serde(default)]
    pub ids: Option<Vec<i64>>,
    /// The last delivery of each event at each subscription, where that one matches, as long as
    /// the webhook and the event are there.
    #[serde(default)]
    pub filter: Option<RedeliveryFilter>,
    /// How many the caller expects to match.
    #[serde(default)]
    pub expected: Option<u64>,
}

/// Which deliveries to send once more.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RedeliveryFilter {
    /// Only those of this event, by its id: the `webhook-id` that receivers see.
    #[serde(default)]
    #[schemars(regex(pattern = PLAIN))]
    pub event_id: Option<String>,
    /// Only of the events of this visit of a funnel, by the id of its submission.
    #[serde(default)]
    pub submission: Option<i64>,
    /// Only those of this subscription.
    #[serde(default)]
    pub subscription: Option<i64>,
    /// Only those of this event.
    #[serde(default)]
    #[schemars(regex(pattern = PLAIN))]
    pub event: Option<String>,
    /// Only those of this status.
    #[serde(default)]
    #[schemars(regex(pattern = OUTCOMES))]
    pub status: Option<String>,
    /// Not before: RFC 3339.
    #[serde(default)]
    #[schemars(extend("format" = "date-time"))]
    pub since: Option<String>,
    /// Before: RFC 3339.
    #[serde(default)]
    #[schemars(extend("format" = "date-time"))]
    pub until: Option<String>,
}

/// How many will be sent.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Queued {
    /// Jobs.
    pub queued: u64,
}
