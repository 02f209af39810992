//! A kept reply, and what it is made from.

use bytes::Bytes;
use cms_core::{Cms, Code, Error, FieldError, Millis, Result, traffic::cache::CacheRules};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};

use crate::reply::{self, Reply};

const X_CACHE: HeaderName = HeaderName::from_static("x-cache");

/// What is known when a reply is begun: it is as old as this.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Basis {
    pub(super) tables: &'static [&'static str],
    /// Of each table.
    pub(super) epochs: Vec<i64>,
    pub(super) last_clear: i64,
    pub(super) at: i64,
}

impl Basis {
    pub(super) fn now(cms: &Cms, tables: &'static [&'static str], rules: &CacheRules) -> Self {
        let epochs = tables.iter().map(|table| cms.db().epochs().of(table)).collect();
        Self { tables, epochs, last_clear: rules.last_clear(), at: cms.clock().now() }
    }

    /// Whether it is no older than another: who asked then may have the reply.
    pub(super) fn covers(&self, asked: &Self) -> bool {
        self.last_clear >= asked.last_clear
            && self.epochs.iter().zip(&asked.epochs).all(|(mine, asked)| mine >= asked)
    }
}

pub(crate) struct Entry {
    pub(super) basis: Basis,
    pub(super) answer: Answer,
}

/// The outcome that all share who asked the same at the same moment.
#[derive(Debug)]
pub(super) enum Answer {
    Reply(HeaderMap, Bytes),
    /// A reply for the one who asked: no 200, or too special to be shared.
    Once(StatusCode, HeaderMap, Bytes),
    Refusal(Code, String, Vec<FieldError>),
}

impl Entry {
    pub(crate) fn is_good(&self, cms: &Cms, path: &str, rules: &CacheRules, now: Millis) -> bool {
        let Basis { tables, epochs, last_clear, at } = &self.basis;
        matches!(self.answer, Answer::Reply(..))
            && now - at < rules.settings.ttl_s * 1000
            && tables.iter().zip(epochs).all(|(table, epoch)| cms.db().epochs().of(table) == *epoch)
            // From before a backup was restored, perhaps.
            && *last_clear <= rules.last_clear()
            && !rules.is_cleared(path, *last_clear)
    }

    pub(super) fn reply(&self, now: Millis, hit: bool) -> Result<Reply> {
        let (status, headers, body) = match &self.answer {
            Answer::Reply(headers, body) => (StatusCode::OK, headers, body),
            Answer::Once(status, headers, body) => (*status, headers, body),
            Answer::Refusal(code, detail, fields) => {
                return Err(Error::new(*code, detail.clone()).with_fields(fields.clone()));
            }
        };
        let mut reply = Reply { status, headers: reply::headers(), body: body.clone() };
        reply.headers.extend(headers.iter().map(|(name, value)| (name.clone(), value.clone())));
        if hit {
            reply.headers.insert(header::AGE, reply::number(self.age_s(now)));
        }
        reply.headers.insert(X_CACHE, HeaderValue::from_static(if hit { "HIT" } else { "MISS" }));
        Ok(reply)
    }

    pub(crate) fn age_s(&self, now: Millis) -> u64 {
        u64::try_from((now - self.basis.at) / 1000).unwrap_or(0)
    }

    /// None: it is not one to be given to others.
    pub(crate) fn body(&self) -> Option<&Bytes> {
        match &self.answer {
            Answer::Reply(_, body) => Some(body),
            Answer::Once(..) | Answer::Refusal(..) => None,
        }
    }

    /// Bytes in memory; headers and bookkeeping are about half a kilobyte.
    pub(super) fn weight(&self) -> usize {
        let content = match &self.answer {
            Answer::Reply(_, body) | Answer::Once(_, _, body) => body.len(),
            Answer::Refusal(_, detail, _) => detail.len(),
        };
        content + 512
    }
}

impl Answer {
    pub(super) fn of(outcome: Result<Reply>) -> Self {
        match outcome {
            Ok(Reply { status: StatusCode::OK, headers, body }) if is_public(&headers) => {
                Self::Reply(headers, body)
            }
            Ok(Reply { status, headers, body }) => Self::Once(status, headers, body),
            Err(error) => {
                if matches!(error.code(), Code::Internal | Code::Unavailable) {
                    tracing::error!(error = ?error, "a reply could not be made");
                }
                Self::Refusal(error.code(), error.detail().to_owned(), error.fields().to_vec())
            }
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
