//! Replies kept in memory, bounded by bytes: those for anonymous visitors, which all processes
//! share in Redis when it is set, and those for callers whose rights were judged.
//!
//! An entry is judged where it is used: by the epochs of its tables, the requests to forget and its
//! age. So nobody has to be told to throw one away, and Redis may hold old ones until they expire.

mod asked;
mod entry;
mod shared;
#[cfg(test)]
mod tests;

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use cms_core::{Cms, Result, settings::Settings};
use foldhash::quality::RandomState;
use futures_util::future::BoxFuture;
use http::{HeaderName, HeaderValue, header};

use crate::reply::{self, Reply};
pub(crate) use asked::{Asked, Key};
use entry::{Answer, Entry};

const X_CACHE: HeaderName = HeaderName::from_static("x-cache");

/// The store of one API.
pub(crate) struct Replies {
    kept: moka::future::Cache<Key, Arc<Entry>, RandomState>,
    hits: AtomicU64,
    misses: AtomicU64,
}

impl Replies {
    pub(crate) fn new(settings: &Settings) -> Self {
        let weigh = |key: &Key, entry: &Arc<Entry>| {
            u32::try_from(key.len() + entry.weight()).unwrap_or(u32::MAX)
        };
        let kept = moka::future::Cache::builder()
            .weigher(weigh)
            .max_capacity(settings.cache.max_bytes)
            .build_with_hasher(RandomState::default());
        Self { kept, hits: AtomicU64::new(0), misses: AtomicU64::new(0) }
    }

    /// The kept reply.
    pub(crate) async fn find(&self, asked: &Asked<'_>) -> Option<Reply> {
        let entry = self.kept.get(&asked.key).await.filter(|entry| entry.is_good(asked))?;
        self.answer(asked, &entry, true).ok()
    }

    /// The kept reply, or the one that `fill` makes: once for all who ask the same at the same
    /// moment.
    pub(crate) async fn get<'f>(
        &self,
        cms: &Cms,
        asked: &Asked<'_>,
        fill: impl Fn() -> BoxFuture<'f, Result<Reply>> + Sync,
    ) -> Result<Reply> {
        match self.find(asked).await {
            Some(reply) => Ok(reply),
            // In a box, so that hits do not carry the room of a fill.
            None => Box::pin(self.fill(cms, asked, fill)).await,
        }
    }

    async fn fill<'f>(
        &self,
        cms: &Cms,
        asked: &Asked<'_>,
        fill: impl Fn() -> BoxFuture<'f, Result<Reply>> + Sync,
    ) -> Result<Reply> {
        loop {
            let elsewhere = AtomicBool::new(false);
            let init = async {
                if let Some(tables) = asked.shared_tables() {
                    let found = shared::find(cms, &asked.key, tables).await;
                    if let Some(found) = found.filter(|found| found.is_good(asked)) {
                        elsewhere.store(true, Ordering::Relaxed);
                        return Arc::new(found);
                    }
                }
                // What was known before the handler runs counts: a write meanwhile makes the entry
                // old, not wrong.
                let answer = Answer::of(fill().await);
                let entry = Entry { basis: asked.basis.clone(), answer };
                if let Some(tables) = asked.shared_tables() {
                    let ttl_s = asked.rules.settings.ttl_s;
                    shared::share(cms, &asked.key, tables, &entry, ttl_s).await;
                }
                Arc::new(entry)
            };
            let outcome = self
                .kept
                .entry_by_ref(&asked.key)
                .or_insert_with_if(init, |entry| !entry.is_good(asked))
                .await;
            let (mine, entry) = (outcome.is_fresh(), outcome.into_value());
            if mine {
                if !matches!(entry.answer, Answer::Reply(..)) {
                    self.kept.invalidate(&asked.key).await;
                }
                return self.answer(asked, &entry, elsewhere.into_inner());
            }
            // Somebody else's fill. One that began before a write that we may know of is not for
            // us: ask again, that fill is over.
            if entry.is_for(asked) {
                return match entry.answer {
                    Answer::Once(..) => {
                        let answer = Answer::of(fill().await);
                        let own = Entry { basis: asked.basis.clone(), answer };
                        self.answer(asked, &own, false)
                    }
                    _ => self.answer(asked, &entry, true),
                };
            }
        }
    }

    /// The entry as a reply. Only visitors are told, and counted, whether it was kept.
    fn answer(&self, asked: &Asked<'_>, entry: &Entry, hit: bool) -> Result<Reply> {
        if asked.shared_tables().is_none() {
            return entry.reply();
        }
        let counter = if hit { &self.hits } else { &self.misses };
        counter.fetch_add(1, Ordering::Relaxed);
        let mut reply = entry.reply()?;
        if hit {
            reply.headers.insert(header::AGE, reply::number(entry.age_s(asked.basis.at)));
        }
        reply.headers.insert(X_CACHE, HeaderValue::from_static(if hit { "HIT" } else { "MISS" }));
        Ok(reply)
    }

    /// Number of replies in this process, their bytes, hits and misses.
    pub(crate) async fn figures(&self) -> (u64, u64, u64, u64) {
        self.kept.run_pending_tasks().await;
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        (self.kept.entry_count(), self.kept.weighted_size(), count(&self.hits), count(&self.misses))
    }
}
