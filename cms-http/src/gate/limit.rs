//! The limiter's place in the gate: whose bucket, and what the reply says of it.

use cms_core::{
    Cms, Code, Error, Result,
    traffic::{
        address,
        limiter::bucket::{self, Owner, Quota},
    },
};
use http::{HeaderMap, HeaderName, header};

use super::{identity::Credential, visit::Visit};
use crate::{caller::Caller, reply::number};

const LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");

/// Takes from the buckets of a key or session that is good, or else of the address: guesses count
/// against the address. None: there is nothing to count, or the limiter is off.
pub(super) async fn take(cms: &Cms, visit: &Visit, credential: &Credential) -> Option<Quota> {
    if !visit.counts() {
        return None;
    }
    let chosen = visit.limit_key.as_deref().map(Owner::chosen);
    let network = Owner::Network(address::network(visit.client.address));
    let (owner, identity) = match credential {
        Credential::Good(Caller::Key(key), _) => (Owner::Key(key.id), bucket::KEY),
        Credential::Good(Caller::User { user, .. }, _) => (Owner::User(user.id), bucket::BACKEND),
        Credential::Good(Caller::Application { user, .. }, _) => {
            (Owner::app_user(user.name()), bucket::BACKEND)
        }
        _ => (network, bucket::PUBLIC),
    };
    // The bucket of a route is the address's, however many users log in from there. Where no
    // address is known, all users would share it.
    let is_key = matches!(credential, Credential::Good(Caller::Key(_), _));
    let of_route = if is_key || !visit.client.is_known { owner } else { network };
    let (owner, of_route) = match (credential, chosen) {
        (Credential::Good(..), Some(chosen)) => (chosen, chosen),
        _ => (owner, of_route),
    };
    cms.limiter().take(owner, identity, Some((of_route, visit.request.path.as_str()))).await
}

/// Refuses when a bucket is empty.
pub(super) fn admit(quota: Option<&Quota>) -> Result<()> {
    match quota.and_then(|quota| quota.retry_after_s) {
        None => Ok(()),
        Some(seconds) => Err(Error::new(
            Code::RateLimited,
            format!("Too many requests: wait {seconds} s, then try again."),
        )),
    }
}

/// What every reply under `/api` says.
pub(super) fn headers(quota: &Quota, headers: &mut HeaderMap) {
    headers.insert(LIMIT, number(quota.limit));
    headers.insert(REMAINING, number(quota.remaining));
    if let Some(seconds) = quota.retry_after_s {
        headers.insert(header::RETRY_AFTER, number(seconds));
    }
}
