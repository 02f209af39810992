//! Event streams: limited in number, and ended together when the service stops.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use cms_core::{Code, Error, Result};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

/// Seconds after which a refused caller is told to try again.
const RETRY_AFTER_S: u64 = 10;

/// The most streams of one caller.
const MAX_PER_CALLER: usize = 10;

/// Open streams by caller.
type Counts = Arc<Mutex<HashMap<String, usize>>>;

/// The streams of one API.
pub(crate) struct Streams {
    most: usize,
    places: Arc<Semaphore>,
    by_caller: Counts,
    ended: watch::Sender<bool>,
}

/// The place of one stream. Dropping it gives it back.
pub(crate) struct StreamPermit {
    ended: watch::Receiver<bool>,
    _own: CallerStream,
    _permit: OwnedSemaphorePermit,
}

/// One stream in the count of its caller.
struct CallerStream {
    caller: String,
    by_caller: Counts,
}

impl Streams {
    pub(crate) fn new(most: usize) -> Self {
        let places = Arc::new(Semaphore::new(most));
        Self { most, places, by_caller: Counts::default(), ended: watch::Sender::new(false) }
    }

    pub(crate) fn open(&self, caller: String) -> Result<StreamPermit> {
        let own = CallerStream::take(caller, &self.by_caller).ok_or_else(|| {
            let why = format!("You have {MAX_PER_CALLER} streams open already: end one first.");
            Error::new(Code::RateLimited, why).retry_after(RETRY_AFTER_S)
        })?;
        let permit = self.places.clone().try_acquire_owned().map_err(|_| {
            let why = format!(
                "All {} streams are taken: try again later, or raise http.max_streams.",
                self.most
            );
            Error::new(Code::RateLimited, why).retry_after(RETRY_AFTER_S)
        })?;
        Ok(StreamPermit { ended: self.ended.subscribe(), _own: own, _permit: permit })
    }

    /// Ends all streams, and those that begin later.
    pub(crate) fn end(&self) {
        self.ended.send_replace(true);
    }

    /// Number of open streams.
    pub(crate) fn count(&self) -> usize {
        self.most - self.places.available_permits()
    }
}

impl CallerStream {
    /// None: the caller has as many streams as one caller may have.
    fn take(caller: String, by_caller: &Counts) -> Option<Self> {
        let mut counts = by_caller.lock().unwrap_or_else(PoisonError::into_inner);
        let open = counts.entry(caller.clone()).or_default();
        if *open == MAX_PER_CALLER {
            return None;
        }
        *open += 1;
        Some(Self { caller, by_caller: by_caller.clone() })
    }
}

impl Drop for CallerStream {
    fn drop(&mut self) {
        let mut counts = self.by_caller.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(open) = counts.get_mut(&self.caller) {
            *open -= 1;
            if *open == 0 {
                counts.remove(&self.caller);
            }
        }
    }
}

impl StreamPermit {
    /// Waits until the service ends all streams.
    pub(crate) async fn ended(&mut self) {
        // Dropping the API ends them too.
        let _ = self.ended.wait_for(|ended| *ended).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_takes_no_place_from_others() {
        let streams = Streams::new(MAX_PER_CALLER + 1);
        let open = |caller: &str| streams.open(caller.to_owned());
        let mut own: Vec<_> = (0..MAX_PER_CALLER).map(|_| open("key:1").expect("one")).collect();
        assert!(open("key:1").is_err());
        let other = open("user:1").expect("one of another");
        assert!(open("key:2").is_err(), "all are taken");
        drop((own.pop(), other));
        assert!(open("key:1").is_ok_and(|_| streams.count() == MAX_PER_CALLER));
        drop(own);
        assert_eq!((streams.count(), streams.by_caller.lock().expect("counts").len()), (0, 0));
    }
}
