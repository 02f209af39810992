//! Counting the use of keys: gathered in memory, written in one batch at most once a minute and at
//! shutdown.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use super::sql;
use crate::{Actor, Result, base::Base};

#[derive(Clone, Copy, Default)]
pub(super) struct Count {
    pub(super) requests: i64,
    pub(super) denied: i64,
    pub(super) last: i64,
}

/// Use of keys that is not yet written. At most one entry a key, so its size is bounded by the
/// number of keys.
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

    pub(super) fn of(&self, key: i64) -> Count {
        self.with(|counts| counts.get(&key).copied().unwrap_or_default())
    }

    /// Writes what was gathered; on failure it is kept for the next time.
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
                }
            });
        }
        outcome
    }
}

async fn write(base: &Base, counts: &HashMap<i64, Count>) -> Result<()> {
    let mut change = base.change(Actor::System).await?;
    let mut sorted: Vec<_> = counts.iter().collect();
    sorted.sort_by_key(|(key, _)| **key);
    for (key, count) in sorted {
        sql::count_use(&mut change, *key, count.requests, count.denied, count.last).await?;
    }
    change.commit().await
}
