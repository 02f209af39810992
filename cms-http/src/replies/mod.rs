//! Replies kept in memory, within a limit of bytes: those for anonymous visitors, which all
//! processes share through Redis if it is set, and those for callers whose rights were judged.
//!
//! An entry is checked when it is used: by the epochs of its tables, the clears of the cache and
//! its age. So no process has to be told to drop an entry, and Redis may hold stale ones until
//! they expire. A clear frees memory at once only in the process that makes it.

mod entry;
mod shared;
#[cfg(test)]
mod tests;

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use cms_core::{Cms, Error, Result, settings::Settings, traffic::cache::CacheRules};
use foldhash::quality::RandomState;
use futures_util::future::BoxFuture;
use http::{HeaderName, HeaderValue, header};
use quick_cache::{
    OptionsBuilder, Weighter,
    sync::{Cache, DefaultLifecycle},
};

pub(crate) use entry::{Key, Lookup, add_part};

use self::{
    entry::{Answer, Entry},
    shared::Shared,
};
use crate::reply::{self, Reply};

const X_CACHE: HeaderName = HeaderName::from_static("x-cache");

/// Shares of the memory, each with a lock of its own; a reply larger than one share is not kept.
const SHARES: usize = 8;

/// The store of one API.
pub(crate) struct Replies {
    kept: Cache<Key, Arc<Entry>, Weight, RandomState>,
    shared: Shared,
    hits: AtomicU64,
    misses: AtomicU64,
}

/// Bytes in memory.
#[derive(Clone)]
struct Weight;

impl Weighter<Key, Arc<Entry>> for Weight {
    fn weight(&self, key: &Key, entry: &Arc<Entry>) -> u64 {
        (key.len() + entry.weight()) as u64
    }
}

impl Replies {
    pub(crate) fn new(settings: &Settings) -> Result<Self> {
        let options = OptionsBuilder::new()
            .weight_capacity(settings.cache.max_bytes)
            .estimated_items_capacity(SHARES * 32)
            .shards(SHARES)
            .build()
            .map_err(Error::internal)?;
        let kept = Cache::with_options(
            options,
            Weight,
            RandomState::default(),
            DefaultLifecycle::default(),
        );
        let (hits, misses) = (AtomicU64::new(0), AtomicU64::new(0));
        Ok(Self { kept, shared: Shared::new(settings), hits, misses })
    }

    /// The kept reply.
    pub(crate) fn find(&self, lookup: &Lookup<'_>) -> Option<Reply> {
        let entry = self.kept.get(&lookup.key).filter(|entry| entry.is_fresh(lookup))?;
        self.answer(lookup, &entry, true).ok()
    }

    /// The kept reply, or the one that `fill` makes. Requests for the same reply at the same time
    /// share one fill.
    pub(crate) async fn get<'f>(
        &self,
        cms: &Cms,
        lookup: &Lookup<'_>,
        fill: impl Fn() -> BoxFuture<'f, Result<Reply>> + Sync,
    ) -> Result<Reply> {
        match self.find(lookup) {
            Some(reply) => Ok(reply),
            // Boxed, so that hits do not carry the size of a fill.
            None => Box::pin(self.fill(cms, lookup, fill)).await,
        }
    }

    async fn fill<'f>(
        &self,
        cms: &Cms,
        lookup: &Lookup<'_>,
        fill: impl Fn() -> BoxFuture<'f, Result<Reply>> + Sync,
    ) -> Result<Reply> {
        loop {
            // A fresh entry found after this was made after the request came.
            self.kept.remove_if(&lookup.key, |entry| !entry.is_fresh(lookup));
            let guard = match self.kept.get_value_or_guard_async(&lookup.key).await {
                Err(guard) => guard,
                // The fill of another request. If it began before a write that this request may
                // know of, its reply is too old: ask again, now that it is over.
                Ok(entry) if !entry.is_usable_for(lookup) => continue,
                Ok(entry) if matches!(entry.answer, Answer::Once(..)) => {
                    let answer = Answer::of(fill().await);
                    return self.answer(lookup, &Entry::new(lookup, Vec::new(), answer), false);
                }
                Ok(entry) => return self.answer(lookup, &entry, true),
            };
            if let Some(found) = self.shared.find(cms, lookup).await {
                let found = Arc::new(found);
                let _ = guard.insert(found.clone());
                return self.answer(lookup, &found, true);
            }
            // The epochs from before the handler runs count: a write meanwhile makes the entry
            // stale, never wrong.
            let read = cms.db().read_epochs(None).await;
            // This process's own epochs are enough; then other processes do not get the reply.
            read.unwrap_or_else(|error| tracing::debug!(%error, "epochs were not read"));
            let known = cms.db().epochs().all();
            let filled = fill().await;
            let reads = filled.as_ref().map_or(&[][..], |reply| reply.reads.as_slice());
            let unchanged = cms.db().epochs().of("");
            let of = |table: &str| known.get(table).copied().unwrap_or(unchanged);
            let epoch = |table: &String| (table.clone(), lookup.epoch(table, of));
            let handler_epochs = reads.iter().map(epoch).collect();
            let entry = Arc::new(Entry::new(lookup, handler_epochs, Answer::of(filled)));
            self.shared.share(cms, lookup, &entry).await;
            let _ = guard.insert(entry.clone());
            if !matches!(entry.answer, Answer::Reply(..)) {
                // Requests that wait for this fill have the entry already.
                self.kept.remove_if(&lookup.key, |kept| Arc::ptr_eq(kept, &entry));
            }
            return self.answer(lookup, &entry, false);
        }
    }

    /// The entry as a reply. Only visitors' replies report, and count, whether it was kept.
    fn answer(&self, lookup: &Lookup<'_>, entry: &Entry, hit: bool) -> Result<Reply> {
        if lookup.shared_tables().is_none() {
            return entry.reply();
        }
        let counter = if hit { &self.hits } else { &self.misses };
        counter.fetch_add(1, Ordering::Relaxed);
        let mut reply = entry.reply()?;
        if hit {
            reply.headers.insert(header::AGE, reply::number(entry.age_s(lookup.freshness.at)));
        }
        reply.headers.insert(X_CACHE, HeaderValue::from_static(if hit { "HIT" } else { "MISS" }));
        Ok(reply)
    }

    /// Drops what clears cover.
    pub(crate) fn drop_cleared(&self, rules: &CacheRules) {
        self.kept.retain(|key, entry| !entry.is_cleared(key, rules));
    }

    /// Number of replies in this process, their bytes, hits and misses.
    pub(crate) fn figures(&self) -> (u64, u64, u64, u64) {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        (self.kept.len() as u64, self.kept.weight(), count(&self.hits), count(&self.misses))
    }
}
