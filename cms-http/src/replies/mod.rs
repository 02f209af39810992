//! Replies kept for anonymous visitors: in this process, bounded by bytes, and for all processes in
//! Redis when it is set.
//!
//! An entry is judged where it is used: by the epochs of its tables, the requests to forget and its
//! age. So nobody has to be told to throw one away, and Redis may hold old ones until they expire.

mod entry;
mod shared;
#[cfg(test)]
mod tests;

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use cms_core::{Cms, Millis, Result, settings::Settings, traffic::cache::CacheRules};

use futures_util::future::BoxFuture;

use crate::reply::Reply;
pub(crate) use entry::Entry;
use entry::{Answer, Basis};

/// What a reply depends on, in one text.
pub(crate) type Key = Vec<u8>;

/// The store of one API.
pub(crate) struct Replies {
    kept: moka::future::Cache<Key, Arc<Entry>>,
    hits: AtomicU64,
    misses: AtomicU64,
}

/// What is asked for.
pub(crate) struct Asked<'a> {
    pub(crate) key: Key,
    pub(crate) path: &'a str,
    /// The tables it is made from.
    pub(crate) tables: &'static [&'static str],
    pub(crate) rules: &'a CacheRules,
}

impl Asked<'_> {
    fn is_met_by(&self, entry: &Entry, cms: &Cms, now: Millis) -> bool {
        entry.is_good(cms, self.path, self.rules, now)
    }
}

impl Replies {
    pub(crate) fn new(settings: &Settings) -> Self {
        let weigh = |key: &Key, entry: &Arc<Entry>| {
            u32::try_from(key.len() + entry.weight()).unwrap_or(u32::MAX)
        };
        let kept = moka::future::Cache::builder()
            .weigher(weigh)
            .max_capacity(settings.cache.max_bytes)
            .build();
        Self { kept, hits: AtomicU64::new(0), misses: AtomicU64::new(0) }
    }

    /// The kept reply with its entry, or the one that `fill` makes: once for all who ask the same
    /// at the same moment.
    pub(crate) async fn get<'f>(
        &self,
        cms: &Cms,
        asked: Asked<'_>,
        fill: impl Fn() -> BoxFuture<'f, Result<Reply>> + Sync,
    ) -> Result<(Reply, Option<Arc<Entry>>)> {
        let now = cms.clock().now();
        if let Some(entry) =
            self.kept.get(&asked.key).await.filter(|entry| asked.is_met_by(entry, cms, now))
        {
            return Ok((self.answer(&entry, now, true)?, Some(entry)));
        }
        // In a box, so that hits do not carry the room of a fill.
        Ok((Box::pin(self.fill(cms, asked, fill)).await?, None))
    }

    /// Counts a reply that was found without [`Replies::get`].
    pub(crate) fn count_hit(&self) {
        self.hits.fetch_add(1, Ordering::Relaxed);
    }

    async fn fill<'f>(
        &self,
        cms: &Cms,
        asked: Asked<'_>,
        fill: impl Fn() -> BoxFuture<'f, Result<Reply>> + Sync,
    ) -> Result<Reply> {
        let begun = Basis::now(cms, asked.tables, asked.rules);
        let is_good = |entry: &Entry| asked.is_met_by(entry, cms, cms.clock().now());
        loop {
            let elsewhere = AtomicBool::new(false);
            let init = async {
                // Read before the handler runs: a write meanwhile makes the entry old, not wrong.
                let basis = Basis::now(cms, asked.tables, asked.rules);
                if let Some(found) =
                    shared::find(cms, &asked.key, asked.tables).await.filter(|found| is_good(found))
                {
                    elsewhere.store(true, Ordering::Relaxed);
                    return Arc::new(found);
                }
                let entry = Entry { basis, answer: Answer::of(fill().await) };
                shared::share(cms, &asked.key, &entry, asked.rules.settings.ttl_s).await;
                Arc::new(entry)
            };
            let outcome = self
                .kept
                .entry(asked.key.clone())
                .or_insert_with_if(init, |entry| !is_good(entry))
                .await;
            let (mine, entry) = (outcome.is_fresh(), outcome.into_value());
            let now = cms.clock().now();
            if mine {
                if !matches!(entry.answer, Answer::Reply(..)) {
                    self.kept.invalidate(&asked.key).await;
                }
                return self.answer(&entry, now, elsewhere.into_inner());
            }
            // Somebody else's fill. One that began before a write that we may know of is not for
            // us: ask again, that fill is over.
            if is_good(&entry) || entry.basis.covers(&begun) {
                return match entry.answer {
                    Answer::Once(..) => self.answer(
                        &Entry { basis: begun, answer: Answer::of(fill().await) },
                        now,
                        false,
                    ),
                    _ => self.answer(&entry, now, true),
                };
            }
        }
    }

    fn answer(&self, entry: &Entry, now: Millis, hit: bool) -> Result<Reply> {
        let counter = if hit { &self.hits } else { &self.misses };
        counter.fetch_add(1, Ordering::Relaxed);
        entry.reply(now, hit)
    }

    /// Number of replies in this process, their bytes, hits and misses.
    pub(crate) async fn figures(&self) -> (u64, u64, u64, u64) {
        self.kept.run_pending_tasks().await;
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        (self.kept.entry_count(), self.kept.weighted_size(), count(&self.hits), count(&self.misses))
    }
}
