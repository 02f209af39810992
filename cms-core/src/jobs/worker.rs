//! Workers and what they do: how many run in this process, when a stop ends them, why they ended.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use super::Stop;

/// Why a worker ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Until {
    /// Nothing is due and nothing is under way.
    Drained,
    /// The caller asked it to stop.
    Stopped,
}

/// How many of a kind run in this process.
#[derive(Debug, Default)]
pub(crate) struct Running(Arc<AtomicU64>);

/// Counts as one that runs until it is dropped.
#[must_use]
pub(crate) struct Counted(Arc<AtomicU64>);

impl Running {
    pub(crate) fn begin(&self) -> Counted {
        self.0.fetch_add(1, Ordering::Relaxed);
        Counted(self.0.clone())
    }

    pub(crate) fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// What `/readyz` says: `running`, or `none` when other processes do this work.
    pub(crate) fn state(&self) -> &'static str {
        if self.count() > 0 { "running" } else { "none" }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Ends this long after the stop. A dropped sender never stops anything.
pub(crate) async fn stopped(mut stop: Stop, after: Duration) {
    if stop.wait_for(|stop| *stop).await.is_err() {
        std::future::pending().await
    }
    if !after.is_zero() {
        tokio::time::sleep(after).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_runs_is_counted_until_it_is_dropped() {
        let running = Running::default();
        let (first, second) = (running.begin(), running.begin());
        assert_eq!((running.count(), running.state()), (2, "running"));
        drop((first, second));
        assert_eq!((running.count(), running.state()), (0, "none"));
    }
}
