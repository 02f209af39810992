//! How attempts ended, counted; and figures of the database that are read once a second at most.

use std::{
    ops::AddAssign,
    sync::atomic::{AtomicU64, Ordering},
};

use tokio::sync::Mutex;

use super::Running;
use crate::{Millis, Result};

/// How attempts at deliveries, mails or tasks ended, by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Outcomes {
    /// Attempts that succeeded.
    pub done: u64,
    /// Attempts that failed; the work is due again later, or held.
    pub retried: u64,
    /// Attempts that failed, after which the work was given up.
    pub failed: u64,
    /// Attempts that this machine or a stop ended: they do not count, and the work is due again.
    pub put_back: u64,
    /// Attempts whose lease was lost: another process has the work, or it was deleted.
    pub lost: u64,
}

impl Outcomes {
    /// Attempts that ended the work or count as a try.
    pub(crate) fn counted(&self) -> u64 {
        self.done + self.retried + self.failed
    }
}

impl AddAssign for Outcomes {
    fn add_assign(&mut self, other: Self) {
        self.done += other.done;
        self.retried += other.retried;
        self.failed += other.failed;
        self.put_back += other.put_back;
        self.lost += other.lost;
    }
}

/// What one kind of work did in this process.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    done: AtomicU64,
    retried: AtomicU64,
    failed: AtomicU64,
    put_back: AtomicU64,
    lost: AtomicU64,
    /// The workers.
    pub(crate) workers: Running,
    /// The attempts of queues under way.
    pub(crate) under_way: Running,
}

impl Counters {
    pub(crate) fn note(&self, ended: &Outcomes) {
        let add = |counter: &AtomicU64, n| counter.fetch_add(n, Ordering::Relaxed);
        add(&self.done, ended.done);
        add(&self.retried, ended.retried);
        add(&self.failed, ended.failed);
        add(&self.put_back, ended.put_back);
        add(&self.lost, ended.lost);
    }

    /// Since the start of this process.
    pub(crate) fn outcomes(&self) -> Outcomes {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Outcomes {
            done: read(&self.done),
            retried: read(&self.retried),
            failed: read(&self.failed),
            put_back: read(&self.put_back),
            lost: read(&self.lost),
        }
    }
}

/// How long a figure is kept, in milliseconds.
const KEPT_MS: Millis = 1000;

/// A figure that is read once a second at most: anybody may call `/readyz` as often as they like.
#[derive(Debug, Default)]
pub(crate) struct Kept<T>(Mutex<Option<(Millis, T)>>);

impl<T: Copy> Kept<T> {
    /// # Errors
    /// Those of `read`.
    pub(crate) async fn get(
        &self,
        now: Millis,
        read: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        let mut kept = self.0.lock().await;
        match *kept {
            Some((at, figure)) if (now - at).abs() < KEPT_MS => Ok(figure),
            _ => Ok(kept.insert((now, read.await?)).1),
        }
    }
}
