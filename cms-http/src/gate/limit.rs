//! The limiter in the gate: chooses the buckets, and reports them in the reply.

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

/// Takes tokens from the buckets of a valid key or session, else from those of the address, so that
/// guesses count against the address. None: the request is not counted, or the limiter is off.
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
    // A route's own bucket belongs to the address, however many users log in from there. Without
    // a known address all users would share one bucket, so then it belongs to the caller.
    let is_key = matches!(credential, Credential::Good(Caller::Key(_), _));
    let of_route = if is_key || !visit.client.is_known { owner } else { network };
    let (owner, of_route) = match (credential, chosen) {
        (Credential::Good(..), Some(chosen)) => (chosen, chosen),
        _ => (owner, of_route),
    };
    cms.limiter().take(owner, identity, Some((of_route, visit.request.path.as_str()))).await
}

/// Refuses the request when a bucket is empty.
pub(super) fn admit(quota: Option<&Quota>) -> Result<()> {
    match quota.and_then(|quota| quota.retry_after_s) {
        None => Ok(()),
        Some(seconds) => Err(Error::new(
            Code::RateLimited,
            format!("Too many requests: wait {seconds} s, then try again."),
        )),
    }
}

/// The limiter's headers, which every counted reply has.
pub(super) fn headers(quota: &Quota, headers: &mut HeaderMap) {
    headers.insert(LIMIT, number(quota.limit));
    headers.insert(REMAINING, number(quota.remaining));
    if let Some(seconds) = quota.retry_after_s {
        headers.insert(header::RETRY_AFTER, number(seconds));
    }
}
