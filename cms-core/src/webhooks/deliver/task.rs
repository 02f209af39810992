//! The words of delivery: a claimed job, when it was claimed, how its attempt ended.

use std::sync::Arc;

use zeroize::Zeroizing;

use super::sql::queue::Claimed;
use crate::{Millis, outbound::Attempt, webhooks::rules::sign::WebhookSecret};

/// Attempts under way at one subscription. Few, because all of them may fail at once: with one more
/// each second after that, the ten failures that switch a subscription off take six seconds at
/// least.
pub(in crate::webhooks) const ROOM: i64 = 4;

/// A subscription with its secrets opened.
pub(in crate::webhooks) struct Target {
    pub(in crate::webhooks) url: String,
    pub(in crate::webhooks) secret: WebhookSecret,
    pub(in crate::webhooks) old_secret: Option<(WebhookSecret, i64)>,
    pub(in crate::webhooks) custom_headers: Vec<(String, Zeroizing<String>)>,
}

/// An attempt to be made.
pub(in crate::webhooks) struct Task {
    /// Err: the secret or a header cannot be opened, so nothing can be signed.
    pub(in crate::webhooks) target: Result<Arc<Target>, Arc<str>>,
    pub(in crate::webhooks) subscription: i64,
    pub(in crate::webhooks) row: Claimed,
    pub(in crate::webhooks) claimed: Moment,
}

/// A job that has waited for longer is given back: it keeps a place from others, and an attempt may
/// need 25 of the 30 s of its lease.
const PATIENCE_MS: Millis = 1_000;

/// What decides whether a job that waits may begin.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::webhooks) struct Moment {
    pub(in crate::webhooks) now: Millis,
    /// How often subscriptions have changed: a job that was claimed before that may have another
    /// address by now, or none.
    pub(in crate::webhooks) epoch: i64,
}

impl Moment {
    pub(super) fn suits(self, task: &Task) -> bool {
        self.epoch == task.claimed.epoch
            && (0..=PATIENCE_MS).contains(&(self.now - task.claimed.now))
    }
}

/// An attempt that has ended.
pub(in crate::webhooks) struct Ended {
    pub(in crate::webhooks) subscription: i64,
    pub(in crate::webhooks) row: Claimed,
    pub(in crate::webhooks) attempt: Attempt,
    pub(in crate::webhooks) begun: Millis,
    /// The place of a quick attempt, which is free again when the attempt is written down: so few
    /// are sent twice when the worker dies.
    pub(in crate::webhooks) place: Option<Arc<()>>,
}

/// What became of the attempts of one transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settled {
    /// Delivered.
    pub delivered: u64,
    /// Failed and due again later, or held.
    pub retried: u64,
    /// Failed for good.
    pub failed: u64,
    /// The lease was lost: somebody else has the row, or it was deleted.
    pub lost: u64,
}
