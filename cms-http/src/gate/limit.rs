//! The limiter's place in the gate: whose bucket, and what the reply says of it.

use std::net::{IpAddr, Ipv4Addr};

use cms_core::{
    Cms, Code, Error, Result,
    traffic::{
        address,
        limiter::{Owner, Quota, bucket},
    },
};
use http::{HeaderMap, HeaderName, HeaderValue, header};

use crate::{
    call::{Caller, Client, Peer},
    reply::number,
};

pub(crate) const LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
pub(crate) const REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");

pub(super) fn client(
    cms: &Cms,
    proxy_header: &HeaderName,
    peer: Option<Peer>,
    headers: &HeaderMap,
) -> Client {
    let is_trusted = |Peer(socket): Peer| {
        cms.settings().trusted_proxies.iter().any(|network| network.contains(socket.ip()))
    };
    let names = [proxy_header, &header::FORWARDED, &X_FORWARDED_FOR];
    let passed_on = match peer {
        Some(peer) => !is_trusted(peer) && names.iter().any(|name| headers.contains_key(*name)),
        // Nobody is near.
        None => true,
    };
    Client { address: address(cms, peer, headers.get_all(proxy_header)), passed_on }
}

/// The address that counts. An embedding server that does not say who is there speaks for
/// everybody: all are one.
pub(crate) fn address<'h>(
    cms: &Cms,
    peer: Option<Peer>,
    lines: impl IntoIterator<Item = &'h HeaderValue, IntoIter: DoubleEndedIterator>,
) -> IpAddr {
    let Some(Peer(socket)) = peer else { return Ipv4Addr::LOCALHOST.into() };
    address::client(
        socket.ip(),
        &cms.settings().trusted_proxies,
        lines.into_iter().map(HeaderValue::as_bytes),
    )
}

/// Takes from the buckets of a key or session that is good, or else of the address: guesses count
/// against the address.
pub(super) async fn take(
    cms: &Cms,
    caller: &Result<Caller>,
    address: IpAddr,
    path: &str,
) -> Option<Quota> {
    let (owner, identity) = match caller {
        Ok(Caller::Key(key)) => (Owner::Key(key.id), bucket::KEY),
        Ok(Caller::User { user, .. }) => (Owner::User(user.id), bucket::BACKEND),
        _ => (Owner::Network(address::network(address)), bucket::PUBLIC),
    };
    cms.limiter().take(owner, identity, path).await
}

/// The refusal of an empty bucket.
pub(super) fn refusal(quota: &Quota) -> Option<Error> {
    let seconds = quota.retry_after_s?;
    Some(Error::new(
        Code::RateLimited,
        format!("Too many requests: wait {seconds} s, then try again."),
    ))
}

/// What every reply under `/api` says.
pub(crate) fn headers(quota: &Quota, headers: &mut HeaderMap) {
    headers.insert(LIMIT, number(quota.limit));
    headers.insert(REMAINING, number(quota.remaining));
    if let Some(seconds) = quota.retry_after_s {
        headers.insert(header::RETRY_AFTER, number(seconds));
    }
}
