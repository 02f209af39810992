//! Workers: restarts after a panic, counts of running workers, stops, and the outcomes of
//! attempts. Also figures of the database that are read at most once a second.

use std::{
    collections::BTreeMap,
    ops::AddAssign,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::sync::{self, watch};

use crate::{Error, Millis, Result, db::watched};

/// Pause before a restart, so that a repeated fault costs little.
const PAUSE: Duration = Duration::from_secs(1);
/// How long a figure is kept, in milliseconds.
const KEPT_MS: Millis = 1000;

/// Why a worker ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Until {
    /// Nothing is due and nothing is under way.
    Drained,
    /// The caller asked it to stop.
    Stopped,
}

/// How many workers or attempts of one kind run in this process.
#[derive(Debug, Default)]
pub(crate) struct Running(Arc<AtomicU64>);

/// Counts one worker or attempt as running until dropped.
#[must_use]
pub(crate) struct RunningGuard(Arc<AtomicU64>);

impl Running {
    pub(crate) fn begin(&self) -> RunningGuard {
        self.0.fetch_add(1, Ordering::Relaxed);
        RunningGuard(self.0.clone())
    }

    pub(crate) fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// What `/readyz` says: `running`, or `none` when other processes do this work.
    pub(crate) fn state(&self) -> &'static str {
        if self.count() > 0 { "running" } else { "none" }
    }
}

impl Drop for RunningGuard {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Completes when `after` has passed since the stop. Never completes if the sender was dropped
/// without a stop.
pub(crate) async fn stopped(mut stop: Stop, after: Duration) {
    if stop.wait_for(|stop| *stop).await.is_err() {
        std::future::pending().await
    }
    if !after.is_zero() {
        tokio::time::sleep(after).await;
    }
}

/// Turns true when the service stops.
pub(crate) type Stop = watch::Receiver<bool>;

/// Restarts background work after a panic and counts the restarts. Clones share the counts.
#[derive(Clone, Default)]
pub(crate) struct Restarts(Arc<Mutex<BTreeMap<&'static str, u64>>>);

impl Restarts {
    /// The number of restarts of each part that panicked.
    pub(crate) fn counts(&self) -> BTreeMap<&'static str, u64> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn note(&self, name: &'static str) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(name).or_default() += 1;
    }

    /// Runs work until it ends by itself, and starts it again after a panic.
    pub(crate) async fn supervise<F>(
        self,
        name: &'static str,
        mut stop: Stop,
        mut task: impl FnMut(Stop) -> F,
    ) where
        F: Future<Output = ()> + Send + 'static,
    {
        while let Err(error) = tokio::spawn(watched(task(stop.clone()))).await {
            // The runtime shuts down: nothing starts any more.
            if error.is_cancelled() {
                return;
            }
            self.note(name);
            tracing::error!(task = name, %error, "a background task panicked; it starts again");
            if tokio::time::timeout(PAUSE, stop.wait_for(|stop| *stop)).await.is_ok() {
                return;
            }
        }
    }
}

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
    /// Attempts that ended because of this machine or a stop: they do not count, and the work
    /// is due again.
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

    /// The outcomes since the start of this process.
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

/// A figure that is read at most once a second, because anybody may call `/readyz` at any rate.
#[derive(Debug, Default)]
pub(crate) struct CachedFigure<T>(Arc<sync::Mutex<Option<(Millis, T)>>>);

impl<T: Clone + Send + 'static> CachedFigure<T> {
    /// A read goes on when its caller has gone, and later callers wait for its end. Otherwise each
    /// abandoned read would hold a connection for as long as the database does not answer.
    ///
    /// # Errors
    /// Those of `read`.
    pub(crate) async fn get(
        &self,
        now: Millis,
        read: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Result<T> {
        let mut kept = self.0.clone().lock_owned().await;
        if let Some((at, figure)) = &*kept
            && (now - at).abs() < KEPT_MS
        {
            return Ok(figure.clone());
        }
        let reading = async move {
            let figure = read.await?;
            *kept = Some((now, figure.clone()));
            Ok::<T, Error>(figure)
        };
        tokio::spawn(reading).await.map_err(Error::internal)?
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU32;

    use super::*;

    #[test]
    fn what_runs_is_counted_until_it_is_dropped() {
        let running = Running::default();
        let (first, second) = (running.begin(), running.begin());
        assert_eq!((running.count(), running.state()), (2, "running"));
        drop((first, second));
        assert_eq!((running.count(), running.state()), (0, "none"));
    }

    #[tokio::test(start_paused = true)]
    async fn a_read_without_its_caller_goes_on_alone() {
        let (figure, reads) = (CachedFigure::default(), Arc::new(AtomicU32::new(0)));
        let get = || {
            let reads = reads.clone();
            figure.get(0, async move {
                let read = reads.fetch_add(1, Ordering::Relaxed);
                tokio::time::sleep(Duration::from_secs(10)).await;
                Ok(read)
            })
        };
        for _ in 0..3 {
            tokio::time::timeout(Duration::from_secs(1), get()).await.expect_err("it takes longer");
        }
        assert_eq!(get().await.expect("read"), 0, "what the first caller has asked for");
        assert_eq!(reads.load(Ordering::Relaxed), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_task_that_panics_starts_again_and_is_counted() {
        let (runs, (_sender, stop)) = (Arc::new(AtomicU32::new(0)), watch::channel(false));
        let (counted, restarts) = (runs.clone(), Restarts::default());
        let supervised = restarts.clone().supervise("test", stop, move |_| {
            let run = counted.fetch_add(1, Ordering::Relaxed);
            async move { assert!(run == 2, "a fault of the test") }
        });
        supervised.await;
        assert_eq!(runs.load(Ordering::Relaxed), 3);
        assert_eq!(restarts.counts(), BTreeMap::from([("test", 2)]));
    }
}
