//! Connections without headway are ended: a request that does not become complete, a reply that is
//! not taken, nothing asked for long.
//!
//! One task looks at all of them once in a while. A timer that is set for each request, as hyper
//! does it, costs a visible part of a reply from memory.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use futures_util::{StreamExt as _, stream};
use tokio::{task::AbortHandle, time::Instant};

use crate::body::Parts;

/// What a connection tells of itself.
#[derive(Debug, Default)]
pub(crate) struct Headway {
    written: AtomicU64,
    answering: AtomicBool,
}

impl Headway {
    /// Bytes went out. Bytes that come in do not count: they may be a head that never ends.
    pub(crate) fn wrote(&self) {
        self.written.fetch_add(1, Ordering::Relaxed);
    }

    /// A request is being answered, which has its own limits of time, or no longer.
    pub(crate) fn set_answering(&self, answering: bool) {
        self.answering.store(answering, Ordering::Relaxed);
    }
}

/// A reply that is made part by part. While a part is being made the connection is not stuck; while
/// its reader does not take what was made, it may be.
pub(crate) fn made_by(headway: Arc<Headway>, mut parts: Parts) -> Parts {
    let poll = move |context: &mut std::task::Context<'_>| {
        let polled = parts.as_mut().poll_next(context);
        headway.set_answering(polled.is_pending());
        polled
    };
    stream::poll_fn(poll).boxed()
}

struct Watched {
    headway: Arc<Headway>,
    connection: AbortHandle,
    written: u64,
    since: Instant,
}

/// The connections of one server.
#[derive(Clone, Default)]
pub(crate) struct Watch(Arc<Mutex<Vec<Watched>>>);

impl Watch {
    pub(crate) fn add(&self, headway: Arc<Headway>, connection: AbortHandle) {
        let watched = Watched { headway, connection, written: 0, since: Instant::now() };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(watched);
    }

    /// Ends what made no headway for `limit`, or a quarter longer, until it is aborted itself.
    pub(crate) async fn run(self, limit: Duration) {
        let mut ticks = tokio::time::interval(
            (limit / 4).clamp(Duration::from_millis(10), Duration::from_secs(1)),
        );
        loop {
            let now = ticks.tick().await;
            let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            all.retain_mut(|watched| !watched.connection.is_finished() && watched.look(now, limit));
        }
    }
}

impl Watched {
    /// False: it was ended.
    fn look(&mut self, now: Instant, limit: Duration) -> bool {
        let written = self.headway.written.load(Ordering::Relaxed);
        if written != self.written || self.headway.answering.load(Ordering::Relaxed) {
            (self.written, self.since) = (written, now);
        }
        let is_stuck = now.saturating_duration_since(self.since) >= limit;
        if is_stuck {
            tracing::debug!("a connection without headway is ended");
            self.connection.abort();
        }
        !is_stuck
    }
}

#[cfg(test)]
mod tests {
    use cms_core::Error;

    use super::*;

    #[tokio::test]
    async fn only_what_stands_still_is_ended() {
        let (headway, connection) =
            (Arc::new(Headway::default()), tokio::spawn(std::future::pending::<()>()));
        let start = Instant::now();
        let mut watched = Watched {
            headway: headway.clone(),
            connection: connection.abort_handle(),
            written: 0,
            since: start,
        };
        let mut stays =
            |second| watched.look(start + Duration::from_secs(second), Duration::from_secs(8));
        assert!(stays(7), "nothing yet, in time");
        headway.wrote();
        assert!(stays(14), "a reply since");
        headway.set_answering(true);
        assert!(stays(40), "it is being answered, which ends by itself");
        headway.set_answering(false);
        assert!(stays(47));
        assert!(!stays(48));
        assert!(connection.await.is_err_and(|error| error.is_cancelled()));
    }

    #[tokio::test]
    async fn only_a_part_that_is_being_made_excuses_a_stream() {
        let (headway, (sender, receiver)) =
            (Arc::new(Headway::default()), tokio::sync::oneshot::channel::<()>());
        let part = async { receiver.await.map(|()| bytes::Bytes::new()).map_err(Error::internal) };
        let mut parts = made_by(headway.clone(), stream::once(part).boxed());
        let is_answering = || headway.answering.load(Ordering::Relaxed);
        assert!(futures_util::poll!(parts.next()).is_pending() && is_answering());
        sender.send(()).expect("a receiver");
        assert!(parts.next().await.is_some_and(|part| part.is_ok()) && !is_answering());
        assert!(parts.next().await.is_none() && !is_answering());
    }
}
