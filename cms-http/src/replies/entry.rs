//! A kept reply: what it is made from, where it lies, and how old it may be.

use std::sync::Arc;

use bytes::Bytes;
use cms_core::{Cms, Error, Millis, Result, plugins::TODAY, traffic::cache::CacheRules};
use http::{HeaderMap, HeaderValue, StatusCode, header};

use crate::reply::{self, Reply};

pub(crate) struct Entry {
    pub(super) basis: Basis,
    /// Tables that only the handler knew, with their epochs before it read them.
    pub(super) beside: Vec<(String, i64)>,
    pub(super) answer: Answer,
}

/// The outcome that all share who asked the same at the same moment.
#[derive(Debug)]
pub(super) enum Answer {
    Reply(HeaderMap, Bytes),
    /// A reply for the one who asked: no 200, or too special to be shared.
    Once(StatusCode, HeaderMap, Bytes),
    /// With its cause: each of them logs it under the id of its own request.
    Refusal(Error),
}

impl Entry {
    /// The answer to a lookup.
    pub(super) fn new(lookup: &Lookup<'_>, beside: Vec<(String, i64)>, answer: Answer) -> Self {
        Self { basis: lookup.basis.clone(), beside, answer }
    }

    /// Whether a kept reply is still what a handler would answer.
    pub(super) fn is_good(&self, lookup: &Lookup<'_>) -> bool {
        let Basis { epochs, last_clear, at, .. } = &self.basis;
        matches!(self.answer, Answer::Reply(..))
            && lookup.basis.at - at < lookup.rules.settings.ttl_s * 1000
            && *epochs == lookup.basis.epochs
            && lookup.finds(&self.beside)
            // From before a backup was restored, perhaps.
            && *last_clear <= lookup.rules.last_clear()
            && !lookup.rules.is_cleared(lookup.path, *last_clear)
    }

    /// Whether a clear covers it.
    pub(super) fn is_cleared(&self, key: &[u8], rules: &CacheRules) -> bool {
        path_of(key).is_some_and(|path| rules.is_cleared(path, self.basis.last_clear))
    }

    /// Whether the outcome of a fill is for somebody who waited for it.
    pub(super) fn is_for(&self, lookup: &Lookup<'_>) -> bool {
        self.is_good(lookup) || (self.basis.covers(&lookup.basis) && lookup.finds(&self.beside))
    }

    /// Whether other processes can tell whether it is good.
    pub(super) fn is_shared(&self) -> bool {
        self.basis.is_shared() && self.beside.iter().all(|(_, epoch)| *epoch >= 0)
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
        u64::try_from((now - self.basis.at) / 1000).unwrap_or(0)
    }

    /// Bytes in memory; headers and bookkeeping are about half a kilobyte.
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
                    let why = "a route whose replies are kept streams one";
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

/// What a reply depends on, in one text: host, path, sorted query.
pub(crate) type Key = Vec<u8>;

/// Adds a part to a key. Its length before it keeps one part from looking like another.
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

/// The first part, and what follows it.
fn split_part(key: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = key.split_first_chunk()?;
    rest.split_at_checked(u32::from_be_bytes(*length) as usize)
}

/// What is known when a reply is looked for: one that is made then is as old as this.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Basis {
    /// Of each table that it is made from. They are compared for equality only.
    pub(super) epochs: Vec<i64>,
    /// Rises with what is known of changes.
    pub(super) known: i64,
    pub(super) last_clear: i64,
    pub(super) at: Millis,
}

impl Basis {
    /// Whether it is no older than another: who asked then may have the reply.
    fn covers(&self, other: &Self) -> bool {
        self.last_clear >= other.last_clear && self.known >= other.known
    }

    /// Whether the numbers mean the same in every process.
    pub(super) fn is_shared(&self) -> bool {
        self.epochs.iter().all(|epoch| *epoch >= 0)
    }
}

/// A reply that is looked for.
pub(crate) struct Lookup<'a> {
    cms: &'a Cms,
    pub(super) key: Key,
    pub(super) path: &'a str,
    pub(super) rules: Arc<CacheRules>,
    pub(super) basis: Basis,
    tables: Option<&'static [&'static str]>,
}

impl<'a> Lookup<'a> {
    /// By a visitor. Changes that other processes make count within a second.
    pub(crate) fn by_visitor(
        cms: &'a Cms,
        key: Key,
        path: &'a str,
        tables: &'static [&'static str],
        rules: Arc<CacheRules>,
    ) -> Self {
        let basis = basis(cms, cms.db().epochs().at_present(tables), &rules);
        Self { cms, key, path, rules, basis, tables: Some(tables) }
    }

    /// By somebody whose rights were judged. `changes` counts the changes of all that the reply is
    /// made from, up to a moment since the request came: nothing older is given.
    pub(crate) fn by_caller(
        cms: &'a Cms,
        key: Key,
        path: &'a str,
        changes: i64,
        rules: Arc<CacheRules>,
    ) -> Self {
        let basis = basis(cms, (vec![changes], changes), &rules);
        Self { cms, key, path, rules, basis, tables: None }
    }

    /// Whether it may be given before rights are judged.
    pub(crate) fn is_by_visitor(&self) -> bool {
        self.tables.is_some()
    }

    /// Whether tables beside those of the route are as they were.
    fn finds(&self, beside: &[(String, i64)]) -> bool {
        let of = |table: &str| self.cms.db().epochs().of(table);
        beside.iter().all(|(table, epoch)| self.epoch(table, of) == *epoch)
    }

    /// The epoch of a table; of what changes at midnight it is the day of this request.
    pub(super) fn epoch(&self, table: &str, of: impl Fn(&str) -> i64) -> i64 {
        if table == TODAY { self.cms.day(self.basis.at) } else { of(table) }
    }

    /// The tables of a reply that all processes and visitors share.
    pub(super) fn shared_tables(&self) -> Option<&'static [&'static str]> {
        self.tables
    }
}

fn basis(cms: &Cms, (epochs, known): (Vec<i64>, i64), rules: &CacheRules) -> Basis {
    Basis { epochs, known, last_clear: rules.last_clear(), at: cms.clock().now() }
}
