//! The limiter's place in the gate: whose bucket, and what the reply says of it.

use std::net::IpAddr;

use cms_core::{
    Cms, Code, Error, Result,
    traffic::{
        address,
        limiter::{Owner, Quota, bucket},
    },
};
use http::{HeaderMap, HeaderName, HeaderValue};

use super::{Caller, Peer};

const LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");

/// The client's address, also behind trusted proxies.
pub(super) fn address(cms: &Cms, peer: Option<Peer>, headers: &HeaderMap) -> IpAddr {
    let socket = peer.map_or(IpAddr::from([127, 0, 0, 1]), |peer| peer.0.ip());
    let settings = cms.settings();
    if settings.trusted_proxies.is_empty() {
        return socket.to_canonical();
    }
    let lines: Vec<&str> = headers.get_all(settings.proxy_header.as_str()).iter().filter_map(|line| line.to_str().ok()).collect();
    address::client(socket, &settings.trusted_proxies, lines)
}

/// Takes from the buckets of a key that is good, or else of the address: a guess at keys counts against the address.
pub(super) async fn take(cms: &Cms, caller: &Result<Caller>, address: IpAddr, path: &str) -> Option<Quota> {
    let (owner, identity) = match caller {
        Ok(Caller::Key(key)) => (Owner::Key(key.id), bucket::KEY),
        _ => (Owner::Network(address::network(address)), bucket::PUBLIC),
    };
    cms.limiter().take(owner, identity, path).await
}

/// The refusal of an empty bucket.
pub(super) fn refusal(quota: &Quota) -> Option<Error> {
    let seconds = quota.retry_after_s?;
    Some(Error::new(Code::RateLimited, format!("Too many requests: wait {seconds} s, then try again.")))
}

/// What every reply under `/api` says.
pub(crate) fn headers(quota: &Quota, headers: &mut HeaderMap) {
    headers.insert(LIMIT, HeaderValue::from(quota.limit));
    headers.insert(REMAINING, HeaderValue::from(quota.remaining));
    if let Some(seconds) = quota.retry_after_s {
        headers.insert(http::header::RETRY_AFTER, HeaderValue::from(seconds));
    }
}
