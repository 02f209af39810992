//! Kept replies found by the bytes of the request, before anything of it is decoded.
//!
//! Most anonymous reads repeat what was asked a moment ago. What the gate makes of such a request is known: only the caller's bucket,
//! the age of the reply and the reader's `If-None-Match` are new. A shortcut leads to a reply in the store and is judged like it; it
//! keeps none alive.

use std::{
    hash::BuildHasher,
    sync::{Arc, Weak},
};

use arc_swap::ArcSwapOption;
use bytes::Bytes;
use cms_core::{
    Cms,
    traffic::{
        address,
        limiter::{Owner, bucket},
    },
};
use foldhash::quality::RandomState;
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, header, uri::PathAndQuery};

use crate::{
    gate::{self, API_KEY, AsOperator, FrontendLogin, Peer},
    kept::Kept,
    replies::Entry,
    reply::{self, Reply},
};

/// Requests that fall into the same slot take turns.
const SLOTS: usize = 2048;
/// Longer targets are not worth a place.
const MAX_TARGET: usize = 1024;

/// The shortcuts of one API.
pub(crate) struct Shortcuts {
    slots: Box<[ArcSwapOption<Shortcut>]>,
    hasher: RandomState,
}

struct Shortcut {
    host: HeaderValue,
    target: PathAndQuery,
    /// As the gate reads it.
    path: String,
    entry: Weak<Entry>,
    /// Of the whole reply, and of one that says that nothing has changed. What differs each time is replaced.
    headers: HeaderMap,
    unchanged: HeaderMap,
}

/// A request that a shortcut may answer, as it was asked.
pub(crate) struct Plain {
    host: HeaderValue,
    target: PathAndQuery,
}

impl Default for Shortcuts {
    fn default() -> Self {
        Self { slots: (0..SLOTS).map(|_| ArcSwapOption::empty()).collect(), hasher: RandomState::default() }
    }
}

impl Shortcuts {
    fn slot(&self, host: &HeaderValue, target: &str) -> &ArcSwapOption<Shortcut> {
        &self.slots[self.hasher.hash_one((host.as_bytes(), target)) as usize % SLOTS]
    }

    /// The reply, if a shortcut leads to one that is still good and the caller may have it.
    pub(crate) fn find<B>(&self, cms: &Cms, kept: &Kept, peer: Option<Peer>, request: &Request<B>) -> Option<Reply> {
        let (host, target) = plain(request)?;
        let slot = self.slot(host, target.as_str()).load();
        let found = slot.as_deref().filter(|found| found.target == *target && found.host == *host)?;
        let (entry, rules, now) = (found.entry.upgrade()?, cms.known_cache_rules()?, cms.clock().now());
        let body = entry.body().filter(|_| rules.may_keep(&found.path) && entry.is_good(cms, &found.path, &rules, now))?;
        let client = gate::client(cms, &kept.proxy_header, peer, request.headers());
        // Nothing may go the long way after this: it would pay twice. A refusal has paid nothing.
        let quota = cms.limiter().take_at_once(Owner::Network(address::network(client.address)), bucket::PUBLIC, &found.path)?;
        if quota.is_some_and(|quota| quota.retry_after_s.is_some()) {
            return None;
        }
        let known = found.headers.get(header::ETAG).is_some_and(|etag| gate::is_known(request.headers(), etag));
        let mut reply = match known {
            true => Reply { status: StatusCode::NOT_MODIFIED, headers: found.unchanged.clone(), body: Bytes::new() },
            false => Reply { status: StatusCode::OK, headers: found.headers.clone(), body: body.clone() },
        };
        reply.headers.insert(header::AGE, reply::number(entry.age_s(now)));
        if let Some(quota) = quota {
            gate::quota_headers(&quota, &mut reply.headers);
        }
        kept.replies.count_hit();
        Some(reply)
    }

    /// Remembers where the long way led: `headers` are those of the whole reply as it is sent.
    pub(crate) fn remember(&self, asked: &Plain, path: String, entry: &Arc<Entry>, headers: HeaderMap) {
        let slot = self.slot(&asked.host, asked.target.as_str());
        let is_there = |found: &Shortcut| {
            std::ptr::eq(found.entry.as_ptr(), Arc::as_ptr(entry)) && found.target == asked.target && found.host == asked.host
        };
        if slot.load().as_deref().is_some_and(is_there) {
            return;
        }
        let Some(Plain { host, target }) = asked.detached() else { return };
        let unchanged = gate::unchanged_headers(headers.clone());
        slot.store(Some(Arc::new(Shortcut { path, entry: Arc::downgrade(entry), headers, unchanged, host, target })));
    }
}

/// Whether the gate would look at nothing but host, target, address and `If-None-Match`.
fn plain<B>(request: &Request<B>) -> Option<(&HeaderValue, &PathAndQuery)> {
    let uri = request.uri();
    if request.method() != Method::GET || uri.authority().is_some() {
        return None;
    }
    let extensions = request.extensions();
    if !extensions.is_empty() && (extensions.get::<AsOperator>().is_some() || extensions.get::<FrontendLogin>().is_some()) {
        return None;
    }
    let mut host = None;
    for (name, value) in request.headers() {
        if *name == header::HOST {
            if host.replace(value).is_some() {
                return None;
            }
        } else if [header::AUTHORIZATION, header::ORIGIN, API_KEY].contains(name) || gate::is_session(name, value) {
            return None;
        }
    }
    Some((host?, uri.path_and_query().filter(|target| target.as_str().len() <= MAX_TARGET)?))
}

impl Plain {
    /// None: the request has to go the long way.
    pub(crate) fn of<B>(request: &Request<B>) -> Option<Self> {
        plain(request).map(|(host, target)| Self { host: host.clone(), target: target.clone() })
    }

    /// The same in memory of its own: what was read from a connection is a part of the whole head, which may be large.
    fn detached(&self) -> Option<Self> {
        let host = HeaderValue::from_bytes(self.host.as_bytes()).ok()?;
        Some(Self { host, target: PathAndQuery::try_from(self.target.as_str()).ok()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shortcut_does_not_keep_the_head_of_a_request() {
        let head = Bytes::from_static(b"/api/pages?view=a shop.example.org");
        let asked = Plain {
            host: HeaderValue::from_maybe_shared(head.slice(18..)).expect("a host"),
            target: PathAndQuery::from_maybe_shared(head.slice(..17)).expect("a target"),
        };
        let lies_in_head = |text: &[u8]| head.as_ptr_range().contains(&text.as_ptr());
        assert!(lies_in_head(asked.host.as_bytes()) && lies_in_head(asked.target.as_str().as_bytes()), "as hyper reads them");
        let kept = asked.detached().expect("the same");
        assert_eq!((&kept.host, &kept.target), (&asked.host, &asked.target));
        assert!(!lies_in_head(kept.host.as_bytes()) && !lies_in_head(kept.target.as_str().as_bytes()));
    }
}
