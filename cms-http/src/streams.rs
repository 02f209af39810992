//! Replies that last: bounded in number, and ended together when the service stops.

use std::sync::Arc;

use cms_core::{Code, Error, Result};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

/// Seconds after which a refused caller may find a place.
const RETRY_AFTER_S: u64 = 10;

/// The streams of one API.
pub(crate) struct Streams {
    most: usize,
    places: Arc<Semaphore>,
    ended: watch::Sender<bool>,
}

/// The place of one stream. Dropping it gives it back.
pub(crate) struct Place {
    ended: watch::Receiver<bool>,
    _permit: OwnedSemaphorePermit,
}

impl Streams {
    pub(crate) fn new(most: usize) -> Self {
        let places = Arc::new(Semaphore::new(most));
        Self { most, places, ended: watch::Sender::new(false) }
    }

    /// # Errors
    /// `rate_limited` when all places are taken.
    pub(crate) fn open(&self) -> Result<Place> {
        let permit = self.places.clone().try_acquire_owned().map_err(|_| {
            let why = format!(
                "All {} streams are taken: try again later, or raise http.max_streams.",
                self.most
            );
            Error::new(Code::RateLimited, why).retry_after(RETRY_AFTER_S)
        })?;
        Ok(Place { ended: self.ended.subscribe(), _permit: permit })
    }

    /// Ends all streams, also those that begin later.
    pub(crate) fn end(&self) {
        self.ended.send_replace(true);
    }

    /// Number of open streams.
    pub(crate) fn count(&self) -> usize {
        self.most - self.places.available_permits()
    }
}

impl Place {
    /// Waits until the service ends all streams.
    pub(crate) async fn ended(&mut self) {
        // An API that is gone ends them too.
        let _ = self.ended.wait_for(|ended| *ended).await;
    }
}
