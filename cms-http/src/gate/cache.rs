//! The cache's place in the gate: after it is known that nobody in particular asks.

use http::{HeaderMap, HeaderName, HeaderValue, Method, header};

use crate::{
    call::{API_KEY, Caller, SESSION_COOKIE},
    replies::Key,
    request::Canonical,
    routes::Route,
};

/// Longer queries are not worth a place.
const MAX_QUERY: usize = 2048;

/// The key of a request that may be answered from the cache: host, path and sorted query are all
/// that a reply depends on. `tables` of the route say what it is made from.
pub(super) fn key(
    request: &Canonical,
    route: &Route,
    caller: &Caller,
    logged_in: bool,
) -> Option<Key> {
    let is_read = request.method == Method::GET || request.method == Method::HEAD;
    if !is_read
        || route.tables.is_empty()
        || logged_in
        || !matches!(caller, Caller::Anonymous)
        || shows_somebody(&request.headers)
    {
        return None;
    }
    let host =
        request.headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let length =
        request.query.iter().map(|(name, value)| name.len() + value.len() + 8).sum::<usize>();
    let mut key = Vec::with_capacity(host.len() + request.path.len() + length + 8);
    let mut add = |part: &str| {
        // Lengths keep one part from looking like another.
        key.extend_from_slice(&(part.len() as u32).to_be_bytes());
        key.extend_from_slice(part.as_bytes());
    };
    add(host);
    add(&request.path);
    let mut query: Vec<&(String, String)> = request.query.iter().collect();
    query.sort();
    for (name, value) in query {
        add(name);
        add(value);
    }
    key[4..4 + host.len()].make_ascii_lowercase();
    (key.len() <= MAX_QUERY).then_some(key)
}

/// Whether the request carries a login of some kind, good or not.
fn shows_somebody(headers: &HeaderMap) -> bool {
    let session =
        || headers.get_all(header::COOKIE).iter().any(|line| is_session(&header::COOKIE, line));
    headers.contains_key(header::AUTHORIZATION) || headers.contains_key(API_KEY) || session()
}

/// Whether a header carries a session, good or not.
pub(crate) fn is_session(name: &HeaderName, value: &HeaderValue) -> bool {
    let named = |cookie: &str| {
        cookie.trim().split_once('=').is_some_and(|(name, _)| name == SESSION_COOKIE)
    };
    *name == header::COOKIE && value.to_str().map_or(true, |line| line.split(';').any(named))
}
