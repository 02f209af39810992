//! The limiter's place in the gate: whose bucket, and what the reply says of it.

use std::net::IpAddr;

use cms_core::{
    Cms, Code, Error, Result,
    traffic::{
        address,
        limiter::{Owner, Quota, bucket},
    },
};
use http::{HeaderMap, HeaderName};

use super::{Caller, Peer};
use crate::reply::number;

const LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");

/// Who is at the other end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Client {
    /// The address that counts, also behind trusted proxies.
    pub(crate) address: IpAddr,
    /// The request says that somebody we do not trust has passed it on: then the address is not the client's.
    pub(crate) passed_on: bool,
}

pub(super) fn client(cms: &Cms, proxy_header: &HeaderName, peer: Option<Peer>, headers: &HeaderMap) -> Client {
    let socket = peer.map_or(IpAddr::from([127, 0, 0, 1]), |peer| peer.0.ip()).to_canonical();
    let settings = cms.settings();
    let trusted = settings.trusted_proxies.iter().any(|network| network.contains(socket));
    if !trusted {
        return Client { address: socket, passed_on: headers.contains_key(proxy_header) };
    }
    let lines = headers.get_all(proxy_header).iter().filter_map(|line| line.to_str().ok());
    Client { address: address::client(socket, &settings.trusted_proxies, lines), passed_on: false }
}

/// Takes from the buckets of a key or session that is good, or else of the address: guesses count against the address.
pub(super) async fn take(cms: &Cms, caller: &Result<Caller>, address: IpAddr, path: &str) -> Option<Quota> {
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
    Some(Error::new(Code::RateLimited, format!("Too many requests: wait {seconds} s, then try again.")))
}

/// What every reply under `/api` says.
pub(crate) fn headers(quota: &Quota, headers: &mut HeaderMap) {
    headers.insert(LIMIT, number(quota.limit));
    headers.insert(REMAINING, number(quota.remaining));
    if let Some(seconds) = quota.retry_after_s {
        headers.insert(http::header::RETRY_AFTER, number(seconds));
    }
}
