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
        let counts = self.with(std::mem::take);
        if counts.is_empty() {
            return Ok(());
        }
        let outcome = write(base, &counts).await;
        if outcome.is_err() {
            self.with(|now| {
                for (key, count) in counts {
                    let kept = now.entry(key).or_default();
                    kept.requests += count.requests;
                    kept.denied += count.denied;
                    kept.last = kept.last.max(count.last);
                    kept.last_denied = kept.last_denied.take().or(count.last_denied);
                }
            });
        }
        outcome
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
