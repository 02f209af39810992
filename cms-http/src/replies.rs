//! Replies kept for anonymous visitors, bounded by bytes.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use bytes::Bytes;
use cms_core::{
    Cms, Code, Error, FieldError, Millis, Result,
    settings::{CacheStore, Settings},
    traffic::cache::CacheRules,
};
use futures_util::future::BoxFuture;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};

use crate::reply::{self, Reply};

const X_CACHE: HeaderName = HeaderName::from_static("x-cache");

/// What a reply depends on, in one text.
pub(crate) type Key = Vec<u8>;

/// The store of one API.
pub(crate) struct Replies {
    kept: moka::future::Cache<Key, Arc<Kept>>,
    hits: AtomicU64,
    misses: AtomicU64,
}

/// What is known when a reply is begun: it is as old as this.
#[derive(Clone)]
pub(crate) struct Basis {
    pub(crate) epochs: Vec<(&'static str, i64)>,
    pub(crate) last_clear: i64,
    pub(crate) at: i64,
}

impl Basis {
    pub(crate) fn now(cms: &Cms, tables: &'static [&'static str], rules: &CacheRules) -> Self {
        let epochs = tables.iter().map(|table| (*table, cms.db().epochs().of(table))).collect();
        Self { epochs, last_clear: rules.last_clear(), at: cms.clock().now() }
    }
}

struct Kept {
    basis: Basis,
    answer: Answer,
}

/// The outcome that all share who asked the same at the same moment.
enum Answer {
    Reply(HeaderMap, Bytes),
    /// A reply that is not to be kept: too special, or no 200.
    Once(StatusCode, HeaderMap, Bytes),
    Refusal(Code, String, Vec<FieldError>),
}

impl Kept {
    fn is_good(&self, cms: &Cms, path: &str, rules: &CacheRules, now: Millis) -> bool {
        matches!(self.answer, Answer::Reply(..))
            && now - self.basis.at < rules.settings.ttl_s * 1000
            && self.basis.epochs.iter().all(|(table, epoch)| cms.db().epochs().of(table) == *epoch)
            && !rules.is_cleared(path, self.basis.last_clear)
    }

    fn reply(&self, now: Millis, hit: bool) -> Result<Reply> {
        let (status, headers, body) = match &self.answer {
            Answer::Reply(headers, body) => (StatusCode::OK, headers, body),
            Answer::Once(status, headers, body) => (*status, headers, body),
            Answer::Refusal(code, detail, fields) => return Err(Error::new(*code, detail.clone()).with_fields(fields.clone())),
        };
        let mut reply = Reply { status, headers: reply::headers(), body: body.clone() };
        reply.headers.extend(headers.iter().map(|(name, value)| (name.clone(), value.clone())));
        if hit {
            let age = u64::try_from((now - self.basis.at) / 1000).unwrap_or(0);
            reply.headers.insert(header::AGE, reply::number(age));
        }
        reply.headers.insert(X_CACHE, HeaderValue::from_static(if hit { "HIT" } else { "MISS" }));
        Ok(reply)
    }
}

impl Replies {
    pub(crate) fn new(settings: &Settings) -> Result<Self> {
        if settings.cache.store == CacheStore::Redis {
            let message = "replies are kept in memory only in this version: set cache.store = \"memory\"";
            return Err(Error::invalid_field("cache.store", "unknown", message));
        }
        let weigh = |key: &Key, kept: &Arc<Kept>| {
            let content = match &kept.answer {
                Answer::Reply(_, body) | Answer::Once(_, _, body) => body.len(),
                Answer::Refusal(_, detail, _) => detail.len(),
            };
            // Headers and bookkeeping are about half a kilobyte.
            u32::try_from(key.len() + content + 512).unwrap_or(u32::MAX)
        };
        let kept = moka::future::Cache::builder().weigher(weigh).max_capacity(settings.cache.max_bytes).build();
        Ok(Self { kept, hits: AtomicU64::new(0), misses: AtomicU64::new(0) })
    }

    /// The kept reply, or the one that `fill` makes: once for all who ask the same at the same moment.
    pub(crate) async fn get<'f>(
        &self,
        cms: &Cms,
        key: Key,
        path: &str,
        rules: &CacheRules,
        basis: impl FnOnce() -> Basis,
        fill: impl FnOnce() -> BoxFuture<'f, Result<Reply>>,
    ) -> Result<Reply> {
        let now = cms.clock().now();
        if let Some(kept) = self.kept.get(&key).await.filter(|kept| kept.is_good(cms, path, rules, now)) {
            self.hits.fetch_add(1, Ordering::Relaxed);
            return kept.reply(now, true);
        }
        let init = async {
            let basis = basis();
            Arc::new(Kept { basis, answer: answer(fill().await) })
        };
        let is_bad = |kept: &Arc<Kept>| !kept.is_good(cms, path, rules, cms.clock().now());
        // In a box, so that hits do not carry the room of a fill.
        let entry = Box::pin(self.kept.entry(key.clone()).or_insert_with_if(init, is_bad)).await;
        let (mine, kept) = (entry.is_fresh(), entry.into_value());
        if mine && !matches!(kept.answer, Answer::Reply(..)) {
            self.kept.invalidate(&key).await;
        }
        let counter = if mine { &self.misses } else { &self.hits };
        counter.fetch_add(1, Ordering::Relaxed);
        kept.reply(cms.clock().now(), !mine)
    }

    /// Number of replies, their bytes, hits and misses.
    pub(crate) async fn figures(&self) -> (u64, u64, u64, u64) {
        self.kept.run_pending_tasks().await;
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        (self.kept.entry_count(), self.kept.weighted_size(), count(&self.hits), count(&self.misses))
    }
}

fn answer(outcome: Result<Reply>) -> Answer {
    match outcome {
        Ok(Reply { status: StatusCode::OK, headers, body }) if is_public(&headers) => Answer::Reply(headers, body),
        Ok(Reply { status, headers, body }) => Answer::Once(status, headers, body),
        Err(error) => {
            if matches!(error.code(), Code::Internal | Code::Unavailable) {
                tracing::error!(error = ?error, "a reply could not be made");
            }
            Answer::Refusal(error.code(), error.detail().to_owned(), error.fields().to_vec())
        }
    }
}

fn is_public(headers: &HeaderMap) -> bool {
    let no_store = |value: &HeaderValue| value.to_str().is_ok_and(|text| text.contains("no-store") || text.contains("private"));
    !headers.contains_key(header::SET_COOKIE) && !headers.get_all(header::CACHE_CONTROL).iter().any(no_store)
}
