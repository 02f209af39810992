//! A kept reply, and what it is made from.

use bytes::Bytes;
use cms_core::{Code, Error, FieldError, Millis, Result};
use http::{HeaderMap, HeaderValue, StatusCode, header};

use super::lookup::{Basis, Lookup};
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
    Refusal(Code, String, Vec<FieldError>),
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
            Answer::Refusal(code, detail, fields) => {
                return Err(Error::new(*code, detail.clone()).with_fields(fields.clone()));
            }
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
            Answer::Refusal(_, detail, _) => detail.len(),
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
                    tracing::error!("a route whose replies are kept streams one");
                    Self::Refusal(Code::Internal, String::new(), Vec::new())
                }
            },
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
