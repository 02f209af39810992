//! How many attempts this process has made, by what became of them.

use std::sync::atomic::{AtomicU64, Ordering};

use super::{Settled, Webhooks};

/// Counters of this process.
#[derive(Debug, Default)]
pub(crate) struct Delivered {
    delivered: AtomicU64,
    retried: AtomicU64,
    failed: AtomicU64,
    lost: AtomicU64,
}

/// Attempts since the start of this process.
pub type Outcomes = Settled;

impl Delivered {
    pub(super) fn note(&self, settled: &Settled) {
        let add = |counter: &AtomicU64, n| counter.fetch_add(n, Ordering::Relaxed);
        add(&self.delivered, settled.delivered);
        add(&self.retried, settled.retried);
        add(&self.failed, settled.failed);
        add(&self.lost, settled.lost);
    }
}

impl Webhooks<'_> {
    /// Attempts of this process, by what became of them.
    #[must_use]
    pub fn outcomes(&self) -> Outcomes {
        let counted = self.0.delivered();
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Settled {
            delivered: read(&counted.delivered),
            retried: read(&counted.retried),
            failed: read(&counted.failed),
            lost: read(&counted.lost),
        }
    }
}
