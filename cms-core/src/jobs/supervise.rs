//! Background tasks that restart after a panic.

use std::time::Duration;

use tokio::sync::watch;

/// Pause before a restart, so that a repeated fault costs little.
const PAUSE: Duration = Duration::from_secs(1);

/// Turns true when the service stops.
pub(crate) type Stop = watch::Receiver<bool>;

/// Runs a task until it ends by itself, and starts it again after a panic.
pub(crate) async fn supervise<F>(
    name: &'static str,
    mut stop: Stop,
    mut task: impl FnMut(Stop) -> F,
) where
    F: Future<Output = ()> + Send + 'static,
{
    while let Err(error) = tokio::spawn(task(stop.clone())).await {
        tracing::error!(task = name, %error, "a background task panicked; it starts again");
        if tokio::time::timeout(PAUSE, stop.wait_for(|stop| *stop)).await.is_ok() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    };

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_task_that_panics_starts_again() {
        let (runs, (_sender, stop)) = (Arc::new(AtomicU32::new(0)), watch::channel(false));
        let counted = runs.clone();
        supervise("test", stop, move |_| {
            let run = counted.fetch_add(1, Ordering::Relaxed);
            async move { assert!(run == 2, "a fault of the test") }
        })
        .await;
        assert_eq!(runs.load(Ordering::Relaxed), 3);
    }
}
