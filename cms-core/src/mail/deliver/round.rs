//! One mail through the providers of its route.

use std::sync::atomic::{AtomicBool, Ordering};

use super::plan::Route;
use crate::mail::{
    State,
    outgoing::{Attempt, Outgoing},
    rules::outcome::{Outcome, Verdict, verdict},
};

/// A finished round.
pub(in crate::mail) struct Round {
    pub(in crate::mail) mail: Outgoing,
    pub(in crate::mail) attempts: Vec<Attempt>,
    pub(in crate::mail) route: Route,
    pub(in crate::mail) verdict: Verdict,
}

impl Round {
    /// A round that the service itself broke off.
    pub(in crate::mail) fn broken(mail: Outgoing, route: Route) -> Self {
        let verdict = verdict(&[Outcome::Fault], true, mail.tries);
        Self { mail, attempts: Vec::new(), route, verdict }
    }
}

/// Tries the providers of the route until one sends the mail, the address is refused, or the
/// postman `ends`.
pub(in crate::mail) async fn round(
    site: &State,
    mail: Outgoing,
    route: Route,
    ends: &AtomicBool,
) -> Round {
    let mut attempts: Vec<Attempt> = Vec::new();
    let mut is_cut = false;
    if let Some(sender) = &site.sender {
        let may = |name: &str| mail.provider.as_deref().is_none_or(|only| only == name);
        let chain = route.places.iter().filter_map(|place| site.chain.get(*place));
        for provider in chain.filter(|provider| may(provider.name)) {
            // Another postman may have the mail soon.
            let may_be_lost = mail.lease_until - site.base.clock().now() < site.longest_ms();
            if may_be_lost || ends.load(Ordering::Relaxed) {
                is_cut = true;
                break;
            }
            let attempt = provider.send(sender, &mail).await;
            let goes_on = attempt.outcome.goes_on();
            attempts.push(attempt);
            if !goes_on {
                break;
            }
        }
    }
    blame(&mut attempts);
    let outcomes: Vec<_> = attempts.iter().map(|attempt| attempt.outcome).collect();
    let verdict = verdict(&outcomes, route.skips || is_cut, mail.tries);
    Round { mail, attempts, route, verdict }
}

/// A local fault is the provider's when another one was reached in the same round.
fn blame(attempts: &mut [Attempt]) {
    if attempts.iter().any(|attempt| attempt.outcome != Outcome::Local) {
        for attempt in attempts.iter_mut().filter(|attempt| attempt.is_suspect) {
            attempt.outcome = Outcome::Fault;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suspect_is_blamed_only_while_others_are_reached() {
        let attempt = |outcome, is_suspect| Attempt {
            provider: "smtp",
            outcome,
            reason: None,
            provider_id: None,
            duration_ms: 0,
            is_suspect,
        };
        for (other, expected) in [
            (Outcome::Sent, [Outcome::Fault, Outcome::Local]),
            (Outcome::Fault, [Outcome::Fault, Outcome::Local]),
            (Outcome::Local, [Outcome::Local, Outcome::Local]),
        ] {
            let mut attempts = [
                attempt(Outcome::Local, true),
                attempt(Outcome::Local, false),
                attempt(other, false),
            ];
            blame(&mut attempts);
            assert_eq!([attempts[0].outcome, attempts[1].outcome], expected, "{other:?}");
        }
    }
}
