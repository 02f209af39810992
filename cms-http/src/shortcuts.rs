//! Kept replies found by the bytes of the request, before anything of it is decoded.
//!
//! Most anonymous reads repeat what was asked a moment ago. What the gate makes of such a request
//! is known: only the caller's bucket, the age of the reply and the reader's `If-None-Match` are
//! new. A shortcut leads to a reply in the store and is judged like it; it keeps none alive.

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
        limiter::{Owner, Quota, bucket},
    },
};
use foldhash::quality::RandomState;
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, header, uri::PathAndQuery,
};

use crate::{
    api::REQUEST_ID,
    call::{API_KEY, AsOperator, FrontendLogin, Peer},
    gate,
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
    etag: Option<HeaderValue>,
    /// Of the whole reply, and of one that says that nothing has changed.
    whole: Template,
    unchanged: Template,
}

/// The headers of a kept reply. Those that differ each time come first, so that they are replaced
/// without being looked for.
struct Template {
    headers: HeaderMap,
    is_limited: bool,
}

const DIFFER: [HeaderName; 4] = [REQUEST_ID, header::AGE, gate::LIMIT, gate::REMAINING];

impl Template {
    fn new(mut headers: HeaderMap) -> Self {
        let mut sorted = reply::headers();
        sorted.extend(
            DIFFER.into_iter().filter_map(|name| headers.remove(&name).map(|value| (name, value))),
        );
        sorted.extend(headers);
        Self { is_limited: sorted.contains_key(gate::LIMIT), headers: sorted }
    }

    fn filled(&self, id: HeaderValue, age_s: u64, quota: Option<Quota>) -> HeaderMap {
        let mut headers = self.headers.clone();
        let mut places = headers.values_mut();
        let mut put = |value| {
            if let Some(place) = places.next() {
                *place = value;
            }
        };
        put(id);
        put(reply::number(age_s));
        if let Some(quota) = quota.filter(|_| self.is_limited) {
            put(reply::number(quota.limit));
            put(reply::number(quota.remaining));
        }
        headers
    }
}

/// A request that a shortcut may answer: nothing else of it counts.
struct Asked<'r> {
    host: &'r HeaderValue,
    target: &'r PathAndQuery,
    known: Option<&'r HeaderValue>,
    /// What a proxy says of the client.
    passed_on: Option<&'r HeaderValue>,
}

/// What a shortcut is found by.
pub(crate) struct Plain {
    host: HeaderValue,
    target: PathAndQuery,
}

impl Default for Shortcuts {
    fn default() -> Self {
        Self {
            slots: (0..SLOTS).map(|_| ArcSwapOption::empty()).collect(),
            hasher: RandomState::default(),
        }
    }
}

impl Shortcuts {
    fn slot(&self, host: &HeaderValue, target: &str) -> &ArcSwapOption<Shortcut> {
        &self.slots[self.hasher.hash_one((host.as_bytes(), target)) as usize % SLOTS]
    }

    /// The reply, if a shortcut leads to one that is still good and the caller may have it. `id` is
    /// that of the request.
    pub(crate) fn find<B>(
        &self,
        cms: &Cms,
        kept: &Kept,
        peer: Option<Peer>,
        request: &Request<B>,
        id: impl FnOnce() -> HeaderValue,
    ) -> Option<Reply> {
        let asked = Asked::of(request, &kept.proxy_header)?;
        let slot = self.slot(asked.host, asked.target.as_str()).load();
        let found = slot
            .as_deref()
            .filter(|found| found.target == *asked.target && found.host == *asked.host)?;
        let (entry, rules, now) =
            (found.entry.upgrade()?, cms.known_cache_rules()?, cms.clock().now());
        let body = entry.body().filter(|_| {
            rules.may_keep(&found.path) && entry.is_good(cms, &found.path, &rules, now)
        })?;
        let client = gate::address(cms, peer, asked.passed_on.iter().copied());
        // Nothing may go the long way after this: it would pay twice. A refusal has paid nothing.
        let quota = cms.limiter().take_at_once(
            Owner::Network(address::network(client)),
            bucket::PUBLIC,
            &found.path,
            now,
        )?;
        if quota.is_some_and(|quota| quota.retry_after_s.is_some()) {
            return None;
        }
        let known = asked
            .known
            .zip(found.etag.as_ref())
            .is_some_and(|(line, etag)| gate::names(line, etag));
        let (status, template, body) = match known {
            true => (StatusCode::NOT_MODIFIED, &found.unchanged, Bytes::new()),
            false => (StatusCode::OK, &found.whole, body.clone()),
        };
        kept.replies.count_hit();
        Some(Reply { status, headers: template.filled(id(), entry.age_s(now), quota), body })
    }

    /// Remembers where the long way led: `headers` are those of the whole reply as it is sent.
    pub(crate) fn remember(
        &self,
        asked: &Plain,
        path: String,
        entry: &Arc<Entry>,
        headers: HeaderMap,
    ) {
        let slot = self.slot(&asked.host, asked.target.as_str());
        let is_there = |found: &Shortcut| {
            std::ptr::eq(found.entry.as_ptr(), Arc::as_ptr(entry))
                && found.target == asked.target
                && found.host == asked.host
        };
        if slot.load().as_deref().is_some_and(is_there) {
            return;
        }
        let Some(Plain { host, target }) = asked.detached() else { return };
        let (etag, entry) = (headers.get(header::ETAG).cloned(), Arc::downgrade(entry));
        let unchanged = Template::new(gate::unchanged_headers(headers.clone()));
        slot.store(Some(Arc::new(Shortcut {
            host,
            target,
            path,
            entry,
            etag,
            whole: Template::new(headers),
            unchanged,
        })));
    }
}

impl<'r> Asked<'r> {
    /// None: the gate would look at more, so the request has to go the long way.
    fn of<B>(request: &'r Request<B>, proxy_header: &HeaderName) -> Option<Self> {
        let uri = request.uri();
        if request.method() != Method::GET || uri.authority().is_some() {
            return None;
        }
        let extensions = request.extensions();
        if !extensions.is_empty()
            && (extensions.get::<AsOperator>().is_some()
                || extensions.get::<FrontendLogin>().is_some())
        {
            return None;
        }
        let (mut host, mut known, mut passed_on) = (None, None, None);
        for (name, value) in request.headers() {
            let place = match name {
                name if *name == header::HOST => &mut host,
                name if *name == header::IF_NONE_MATCH => &mut known,
                name if name == proxy_header => &mut passed_on,
                name if is_judged(name, value) => return None,
                _ => continue,
            };
            if place.replace(value).is_some() {
                return None;
            }
        }
        let target = uri.path_and_query().filter(|target| target.as_str().len() <= MAX_TARGET)?;
        Some(Self { host: host?, target, known, passed_on })
    }
}

/// Whether what the gate makes of a request depends on this header.
fn is_judged(name: &HeaderName, value: &HeaderValue) -> bool {
    [header::AUTHORIZATION, header::ORIGIN, API_KEY].contains(name) || gate::is_session(name, value)
}

impl Plain {
    /// None: no shortcut leads there.
    pub(crate) fn of<B>(request: &Request<B>, proxy_header: &HeaderName) -> Option<Self> {
        Asked::of(request, proxy_header)
            .map(|Asked { host, target, .. }| Self { host: host.clone(), target: target.clone() })
    }

    /// The same in memory of its own: what was read from a connection is a part of the whole head,
    /// which may be large.
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
        assert!(
            lies_in_head(asked.host.as_bytes()) && lies_in_head(asked.target.as_str().as_bytes()),
            "as hyper reads them"
        );
        let kept = asked.detached().expect("the same");
        assert_eq!((&kept.host, &kept.target), (&asked.host, &asked.target));
        assert!(
            !lies_in_head(kept.host.as_bytes()) && !lies_in_head(kept.target.as_str().as_bytes())
        );
    }
}
