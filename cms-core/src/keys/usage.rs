//! Counts the use of keys in memory, and writes the counts at most once a minute and at shutdown:
//! each key by itself, so that nobody who uses one waits for another.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use super::{DeniedCall, sql};
use crate::{Result, base::Base};

#[derive(Clone, Default)]
pub(super) struct Count {
    pub(super) requests: i64,
    pub(super) denied: i64,
    pub(super) last: i64,
    pub(super) last_denied: Option<DeniedCall>,
}

/// Counts that are not yet written. One entry a key, so the number of keys bounds its size.
#[derive(Default)]
pub(crate) struct Usage(Mutex<HashMap<i64, Count>>);

impl Usage {
    fn with<T>(&self, run: impl FnOnce(&mut HashMap<i64, Count>) -> T) -> T {
        run(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn note(&self, key: i64, denied: bool, now: i64) {
        self.with(|counts| {
            let count = counts.entry(key).or_default();
            count.requests += 1;
            count.denied += i64::from(denied);
            count.last = count.last.max(now);
        });
    }

    pub(super) fn note_denied(&self, key: i64, call: DeniedCall) {
        self.with(|counts| counts.entry(key).or_default().last_denied = Some(call));
    }

    pub(super) fn of(&self, key: i64) -> Count {
        self.with(|counts| counts.get(&key).cloned().unwrap_or_default())
    }

    /// Writes the gathered counts. After a failure those that are left stay for the next time.
    pub(crate) async fn flush(&self, base: &Base) -> Result<()> {
        let mut taken = Taken { usage: self, counts: self.with(std::mem::take) };
        let mut first = Ok(());
        for key in taken.counts.keys().copied().collect::<Vec<_>>() {
            // A key that is being changed keeps no other from being counted.
            let Count { requests, denied, last, last_denied } = &taken.counts[&key];
            let counts = (*requests, *denied);
            match sql::count_use(base, key, counts, *last, last_denied.as_ref()).await {
                Ok(()) => drop(taken.counts.remove(&key)),
                Err(error) => first = first.and(Err(error)),
            }
        }
        first
    }
}

/// Counts that are being written. Unless that is done they come back, also when the stop breaks the
/// write off. A commit that is broken off may count them twice; none is lost.
struct Taken<'a> {
    usage: &'a Usage,
    counts: HashMap<i64, Count>,
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        self.usage.with(|now| {
            for (key, count) in self.counts.drain() {
                let kept = now.entry(key).or_default();
                kept.requests += count.requests;
                kept.denied += count.denied;
                kept.last = kept.last.max(count.last);
                kept.last_denied = kept.last_denied.take().or(count.last_denied);
            }
        });
    }
}
