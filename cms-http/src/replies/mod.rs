//! Replies kept for anonymous visitors: in this process, bounded by bytes, and for all processes in Redis when it is set.
//!
//! An entry is judged where it is used: by the epochs of its tables, the requests to forget and its age. So nobody has to be told to
//! throw one away, and Redis may hold old ones until they expire.

mod entry;
mod shared;
#[cfg(test)]
mod tests;

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use cms_core::{Cms, Result, settings::Settings, traffic::cache::CacheRules};

use crate::reply::Reply;
use entry::{Answer, Basis, Entry};

/// The store of one API.
pub(crate) struct Replies {
    kept: moka::future::Cache<String, Arc<Entry>>,
    hits: AtomicU64,
    misses: AtomicU64,
}

/// What is asked for.
pub(crate) struct Asked<'a> {
    /// All that a reply depends on, in one text.
    pub(crate) key: String,
    pub(crate) path: &'a str,
    /// The tables it is made from.
    pub(crate) tables: &'static [&'static str],
    pub(crate) rules: &'a CacheRules,
}

impl Replies {
    pub(crate) fn new(settings: &Settings) -> Self {
        let weigh = |key: &String, entry: &Arc<Entry>| u32::try_from(key.len() + entry.weight()).unwrap_or(u32::MAX);
        let kept = moka::future::Cache::builder().weigher(weigh).max_capacity(settings.cache.max_bytes).build();
        Self { kept, hits: AtomicU64::new(0), misses: AtomicU64::new(0) }
    }

    /// The kept reply, or the one that `fill` makes: once for all who ask the same at the same moment.
    pub(crate) async fn get<F>(&self, cms: &Cms, asked: Asked<'_>, fill: impl Fn() -> F + Sync) -> Result<Reply>
    where
        F: Future<Output = Result<Reply>> + Send,
    {
        let Asked { key, path, tables, rules } = asked;
        let good = |entry: &Entry| entry.is_good(cms, path, rules);
        if let Some(entry) = self.kept.get(&key).await.filter(|entry| good(entry)) {
            return self.answer(cms, &entry, true);
        }
        let asked = Basis::now(cms, tables, rules);
        loop {
            let elsewhere = AtomicBool::new(false);
            let init = async {
                // Read before the handler runs: a write meanwhile makes the entry old, not wrong.
                let basis = Basis::now(cms, tables, rules);
                if let Some(found) = shared::find(cms, &key, tables).await.filter(|found| good(found)) {
                    elsewhere.store(true, Ordering::Relaxed);
                    return Arc::new(found);
                }
                let entry = Entry { basis, answer: Answer::of(fill().await) };
                shared::share(cms, &key, &entry, rules.settings.ttl_s).await;
                Arc::new(entry)
            };
            let outcome = self.kept.entry(key.clone()).or_insert_with_if(init, |entry| !good(entry)).await;
            let (mine, entry) = (outcome.is_fresh(), outcome.into_value());
            if mine {
                if !matches!(entry.answer, Answer::Reply(..)) {
                    self.kept.invalidate(&key).await;
                }
                return self.answer(cms, &entry, elsewhere.into_inner());
            }
            // Somebody else's fill. One that began before a write that we may know of is not for us: ask again, that fill is over.
            if good(&entry) || entry.basis.covers(&asked) {
                return match entry.answer {
                    Answer::Once(..) => self.answer(cms, &Entry { basis: asked, answer: Answer::of(fill().await) }, false),
                    _ => self.answer(cms, &entry, true),
                };
            }
        }
    }

    fn answer(&self, cms: &Cms, entry: &Entry, hit: bool) -> Result<Reply> {
        let counter = if hit { &self.hits } else { &self.misses };
        counter.fetch_add(1, Ordering::Relaxed);
        entry.reply(cms, hit)
    }

    /// Number of replies in this process, their bytes, hits and misses.
    pub(crate) async fn figures(&self) -> (u64, u64, u64, u64) {
        self.kept.run_pending_tasks().await;
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        (self.kept.entry_count(), self.kept.weighted_size(), count(&self.hits), count(&self.misses))
    }
}
