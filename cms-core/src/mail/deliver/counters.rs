//! Counters of this process's rounds, and the state of the outbox, for `/metrics` and `/readyz`.

use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Mutex;

use crate::{
    Result,
    jobs::Running,
    mail::{Mails, sql::outbox},
};

/// How long the state of the outbox is kept, in milliseconds: anybody may call `/readyz` as often
/// as they like.
const KEPT_MS: i64 = 1000;

/// When the outbox was read; how many mails wait, and since when the first is due.
type Seen = (i64, (i64, Option<i64>));

/// Counters of this process.
#[derive(Debug, Default)]
pub(in crate::mail) struct Counters {
    sent: AtomicU64,
    retried: AtomicU64,
    failed: AtomicU64,
    put_back: AtomicU64,
    lost: AtomicU64,
    pub(in crate::mail) postmen: Running,
    seen: Mutex<Option<Seen>>,
}

/// What became of mails in this process since its start: rounds through the chain, by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MailOutcomes {
    /// A provider took the mail over.
    pub sent: u64,
    /// The mail waits for another round.
    pub retried: u64,
    /// The mail was given up.
    pub failed: u64,
    /// This machine failed; the round does not count.
    pub put_back: u64,
    /// The lease was lost before the end.
    pub lost: u64,
}

impl Counters {
    pub(in crate::mail) fn note(&self, counted: &MailOutcomes) {
        let add = |counter: &AtomicU64, n| counter.fetch_add(n, Ordering::Relaxed);
        add(&self.sent, counted.sent);
        add(&self.retried, counted.retried);
        add(&self.failed, counted.failed);
        add(&self.put_back, counted.put_back);
        add(&self.lost, counted.lost);
    }
}

impl Mails {
    /// Rounds of this process since its start, by outcome.
    #[must_use]
    pub fn outcomes(&self) -> MailOutcomes {
        let counters = &self.0.counters;
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        MailOutcomes {
            sent: read(&counters.sent),
            retried: read(&counters.retried),
            failed: read(&counters.failed),
            put_back: read(&counters.put_back),
            lost: read(&counters.lost),
        }
    }

    /// `running` when this process sends mails, `none` when other processes do.
    #[must_use]
    pub fn postman_state(&self) -> &'static str {
        self.0.counters.postmen.state()
    }

    /// How many mails wait, and the milliseconds by which the first is late. The figures may be one
    /// second old.
    ///
    /// # Errors
    /// `unavailable` when the database cannot be reached.
    pub async fn waiting(&self) -> Result<(i64, i64)> {
        let now = self.0.base.clock().now();
        let mut seen = self.0.counters.seen.lock().await;
        let (count, since) = match *seen {
            Some((at, state)) if (now - at).abs() < KEPT_MS => state,
            _ => seen.insert((now, outbox::waiting(self.0.base.db()).await?)).1,
        };
        Ok((count, since.map_or(0, |since| (now - since).max(0))))
    }
}
