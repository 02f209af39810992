//! Background work that starts again after a panic, and how often each part did.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::sync::watch;

use crate::db::watched;

/// Pause before a restart, so that a repeated fault costs little.
const PAUSE: Duration = Duration::from_secs(1);

/// Turns true when the service stops.
pub(crate) type Stop = watch::Receiver<bool>;

/// Starts background work again after a panic, and counts that. Clones share the counts.
#[derive(Clone, Default)]
pub(crate) struct Restarts(Arc<Mutex<BTreeMap<&'static str, u64>>>);

impl Restarts {
    /// How often each part that panicked was started again.
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
            // The runtime is going: nothing starts any more.
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

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
