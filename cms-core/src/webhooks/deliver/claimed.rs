//! The types of delivery: a claimed job, the moment of its claim, the end of its attempt.

use std::sync::Arc;

use zeroize::Zeroizing;

use super::sql::queue::Claimed;
use crate::{Millis, outbound::Attempt, webhooks::rules::sign::WebhookSecret};

/// Attempts at one subscription at a time. Four, because all of them may fail at once; after that a
/// lane makes one attempt a second, so the ten failures that switch a subscription off take six
/// seconds at least.
pub(in crate::webhooks) const LANE_ATTEMPTS: i64 = 4;

/// A subscription with its secrets decrypted.
pub(in crate::webhooks) struct Target {
    pub(in crate::webhooks) url: String,
    pub(in crate::webhooks) secret: WebhookSecret,
    pub(in crate::webhooks) old_secret: Option<(WebhookSecret, i64)>,
    pub(in crate::webhooks) custom_headers: Vec<(String, Zeroizing<String>)>,
}

/// A claimed job to attempt.
#[derive(Clone)]
pub(in crate::webhooks) struct ClaimedJob {
    /// `Err` when the secret or a header cannot be decrypted, so nothing can be signed.
    pub(in crate::webhooks) target: Result<Arc<Target>, Arc<str>>,
    pub(in crate::webhooks) subscription: i64,
    pub(in crate::webhooks) job: Claimed,
    pub(in crate::webhooks) moment: Moment,
}

/// A job that waits longer returns to the queue: it takes a slot, and an attempt may need 25 of the
/// 30 s of its lease.
const PREFETCH_TIMEOUT_MS: Millis = 1_000;

/// The moment of a claim. A waiting job may begin only while this is recent and no subscription has
/// changed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::webhooks) struct Moment {
    pub(in crate::webhooks) now: Millis,
    /// The epoch of the subscriptions. After a change the job's address may differ, or its
    /// subscription may be gone.
    pub(in crate::webhooks) epoch: i64,
}

impl Moment {
    pub(super) fn suits(self, claimed: &ClaimedJob) -> bool {
        self.epoch == claimed.moment.epoch
            && (0..=PREFETCH_TIMEOUT_MS).contains(&(self.now - claimed.moment.now))
    }
}

/// A finished attempt that is not settled yet.
pub(in crate::webhooks) struct Ended {
    pub(in crate::webhooks) subscription: i64,
    pub(in crate::webhooks) job: Claimed,
    pub(in crate::webhooks) attempt: Attempt,
    pub(in crate::webhooks) begun: Millis,
    /// The slot of a quick attempt. Settling frees the slot, so that a worker that dies leaves few
    /// deliveries to be sent twice.
    pub(in crate::webhooks) slot: Option<Arc<()>>,
    /// After an attempt that failed on this machine: for how many milliseconds its lane rests.
    pub(in crate::webhooks) rest: Option<i64>,
}
