//! Counts the use of keys in memory. One batch writes the counts, at most once a minute and at
//! shutdown.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use super::{CHANGES, DeniedCall, sql};
use crate::{Actor, Result, base::Base};

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

    /// Writes the gathered counts. After a failure they stay for the next time.
    pub(crate) async fn flush(&self, base: &Base) -> Result<()> {
        let mut taken = Taken { usage: self, counts: self.with(std::mem::take) };
        if taken.counts.is_empty() {
            return Ok(());
        }
        write(base, &taken.counts).await?;
        taken.counts.clear();
        Ok(())
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

async fn write(base: &Base, counts: &HashMap<i64, Count>) -> Result<()> {
    let mut change = base.change(Actor::System).await?;
    // A key that changes another one holds its own: it waits for one of these rows then.
    change.lock(CHANGES).await?;
    let mut sorted: Vec<_> = counts.iter().collect();
    sorted.sort_by_key(|(key, _)| **key);
    for (key, count) in sorted {
        let counts = (count.requests, count.denied);
        sql::count_use(&mut change, *key, counts, count.last, count.last_denied.as_ref()).await?;
    }
    change.commit().await
}
