//! A kept reply: its content, the tables it is made from, and whether it is still valid.

use std::sync::Arc;

use bytes::Bytes;
use cms_core::{Cms, Error, Millis, Result, plugins::TODAY, traffic::cache::CacheRules};
use http::{HeaderMap, HeaderValue, StatusCode, header};

use crate::reply::{self, Reply};

pub(crate) struct Entry {
    pub(super) freshness: Freshness,
    /// Tables that only the handler knew, with their epochs from before it read them.
    pub(super) handler_epochs: Vec<(String, i64)>,
    pub(super) answer: Answer,
}

/// The outcome of a fill, shared by all who asked for the same at the same time.
#[derive(Debug)]
pub(super) enum Answer {
    Reply(HeaderMap, Bytes),
    /// A reply for one request only: not a 200, or marked as not to be shared.
    Once(StatusCode, HeaderMap, Bytes),
    /// A refusal with its cause: each request logs the cause under its own id.
    Refusal(Error),
}

impl Entry {
    /// The answer to a lookup.
    pub(super) fn new(
        lookup: &Lookup<'_>,
        handler_epochs: Vec<(String, i64)>,
        answer: Answer,
    ) -> Self {
        Self { freshness: lookup.freshness.clone(), handler_epochs, answer }
    }

    /// Whether a kept reply is still what a handler would answer.
    pub(super) fn is_fresh(&self, lookup: &Lookup<'_>) -> bool {
        let Freshness { epochs, last_clear, at, .. } = &self.freshness;
        matches!(self.answer, Answer::Reply(..))
            && lookup.freshness.at - at < lookup.rules.settings.ttl_s * 1000
            && *epochs == lookup.freshness.epochs
            && lookup.has_epochs(&self.handler_epochs)
            // The entry may be from before a backup was restored.
            && *last_clear <= lookup.rules.last_clear()
            && !lookup.rules.is_cleared(lookup.path, *last_clear)
    }

    /// Whether a clear of the cache covers the entry.
    pub(super) fn is_cleared(&self, key: &[u8], rules: &CacheRules) -> bool {
        path_of(key).is_some_and(|path| rules.is_cleared(path, self.freshness.last_clear))
    }

    /// Whether the outcome of a fill may go to a request that waited for the fill.
    pub(super) fn is_usable_for(&self, lookup: &Lookup<'_>) -> bool {
        self.is_fresh(lookup)
            || (self.freshness.covers(&lookup.freshness) && lookup.has_epochs(&self.handler_epochs))
    }

    /// Whether other processes can check the entry.
    pub(super) fn is_shared(&self) -> bool {
        self.freshness.is_shared() && self.handler_epochs.iter().all(|(_, epoch)| *epoch >= 0)
    }

    pub(super) fn reply(&self) -> Result<Reply> {
        let (status, headers, body) = match &self.answer {
            Answer::Reply(headers, body) => (StatusCode::OK, headers, body),
            Answer::Once(status, headers, body) => (*status, headers, body),
            Answer::Refusal(error) => return Err(error.clone()),
        };
        let mut reply = Reply {
            status,
            headers: reply::headers(),
            body: body.clone().into(),
            reads: Vec::new(),
        };
        reply.headers.extend(headers.iter().map(|(name, value)| (name.clone(), value.clone())));
        Ok(reply)
    }

    pub(super) fn age_s(&self, now: Millis) -> u64 {
        u64::try_from((now - self.freshness.at) / 1000).unwrap_or(0)
    }

    /// Bytes in memory; headers and bookkeeping count as half a kilobyte.
    pub(super) fn weight(&self) -> usize {
        let content = match &self.answer {
            Answer::Reply(_, body) | Answer::Once(_, _, body) => body.len(),
            Answer::Refusal(error) => error.detail().len(),
        };
        content + 512
    }
}

impl Answer {
    pub(super) fn of(outcome: Result<Reply>) -> Self {
        match outcome {
            Ok(Reply { status, headers, body, .. }) => match body.whole().cloned() {
                Some(body) if status == StatusCode::OK && is_public(&headers) => {
                    Self::Reply(headers, body)
                }
                Some(body) => Self::Once(status, headers, body),
                None => {
                    let why = "a route with cached replies returned a stream";
                    Self::Refusal(Error::internal(why))
                }
            },
            Err(error) => Self::Refusal(error),
        }
    }
}

fn is_public(headers: &HeaderMap) -> bool {
    let no_store = |value: &HeaderValue| {
        let text = value.to_str().map(str::to_ascii_lowercase);
        text.map_or(true, |text| text.contains("no-store") || text.contains("private"))
    };
    !headers.contains_key(header::SET_COOKIE)
        && !headers.get_all(header::CACHE_CONTROL).iter().any(no_store)
}

/// Everything that a reply depends on, in one text: host, path, sorted query.
pub(crate) type Key = Vec<u8>;

/// Adds a part to a key. Its length stands in front, so that no two lists of parts
/// make the same key.
pub(crate) fn add_part(key: &mut Key, part: &str) {
    key.extend_from_slice(&(part.len() as u32).to_be_bytes());
    key.extend_from_slice(part.as_bytes());
}

/// The path in a key.
fn path_of(key: &[u8]) -> Option<&str> {
    let (_host, rest) = split_part(key)?;
    let (path, _query) = split_part(rest)?;
    std::str::from_utf8(path).ok()
}

/// The first part of a key, and the rest.
fn split_part(key: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = key.split_first_chunk()?;
    rest.split_at_checked(u32::from_be_bytes(*length) as usize)
}

/// What is known at the time of a lookup. A reply made after it is at least as new as this.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Freshness {
    /// The epoch of each table that the reply is made from; compared for equality only.
    pub(super) epochs: Vec<i64>,
    /// Rises with each change that this process learns of.
    pub(super) known: i64,
    pub(super) last_clear: i64,
    pub(super) at: Millis,
}

impl Freshness {
    /// Whether a reply with this freshness is new enough for a request that has the other one.
    fn covers(&self, other: &Self) -> bool {
        self.last_clear >= other.last_clear && self.known >= other.known
    }

    /// Whether the numbers mean the same in every process.
    pub(super) fn is_shared(&self) -> bool {
        self.epochs.iter().all(|epoch| *epoch >= 0)
    }
}

/// A lookup of a kept reply.
pub(crate) struct Lookup<'a> {
    cms: &'a Cms,
    pub(super) key: Key,
    pub(super) path: &'a str,
    pub(super) rules: Arc<CacheRules>,
    pub(super) freshness: Freshness,
    tables: Option<&'static [&'static str]>,
}

impl<'a> Lookup<'a> {
    /// For a visitor. Changes made by other processes count within a second.
    pub(crate) fn by_visitor(
        cms: &'a Cms,
        key: Key,
        path: &'a str,
        tables: &'static [&'static str],
        rules: Arc<CacheRules>,
    ) -> Self {
        let freshness = freshness(cms, cms.db().epochs().at_present(tables), &rules);
        Self { cms, key, path, rules, freshness, tables: Some(tables) }
    }

    /// For a caller whose rights were judged. `changes` counts the changes of everything that the
    /// reply is made from. It was read after the request came, so no older reply is given.
    pub(crate) fn by_caller(
        cms: &'a Cms,
        key: Key,
        path: &'a str,
        changes: i64,
        rules: Arc<CacheRules>,
    ) -> Self {
        let freshness = freshness(cms, (vec![changes], changes), &rules);
        Self { cms, key, path, rules, freshness, tables: None }
    }

    /// Whether the reply may be given before rights are judged.
    pub(crate) fn is_by_visitor(&self) -> bool {
        self.tables.is_some()
    }

    /// Whether these tables still have these epochs.
    fn has_epochs(&self, handler_epochs: &[(String, i64)]) -> bool {
        let of = |table: &str| self.cms.db().epochs().of(table);
        handler_epochs.iter().all(|(table, epoch)| self.epoch(table, of) == *epoch)
    }

    /// The epoch of a table. For [`TODAY`], which changes at midnight, it is the day
    /// of this request.
    pub(super) fn epoch(&self, table: &str, of: impl Fn(&str) -> i64) -> i64 {
        if table == TODAY { self.cms.day(self.freshness.at) } else { of(table) }
    }

    /// The tables of a reply that all visitors and processes share.
    pub(super) fn shared_tables(&self) -> Option<&'static [&'static str]> {
        self.tables
    }
}

fn freshness(cms: &Cms, (epochs, known): (Vec<i64>, i64), rules: &CacheRules) -> Freshness {
    Freshness { epochs, known, last_clear: rules.last_clear(), at: cms.clock().now() }
}
