//! A round takes one mail through the providers of its route. The route follows from the health of
//! the providers; many rounds are settled in one change.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicBool, Ordering},
};

use super::{
    Inner,
    outbox::{self, Attempt, Outgoing, Settled},
    rules::{Admission, Health, Outcome, Verdict, verdict},
};
use crate::{
    Change, Millis, Result,
    events::{MAIL_FAILED, MailFailed},
    jobs::Outcomes,
};

/// A finished round.
pub(super) struct Round {
    pub(super) mail: Outgoing,
    pub(super) attempts: Vec<Attempt>,
    pub(super) route: Route,
    pub(super) verdict: Verdict,
}

impl Round {
    /// The result of a round that panicked.
    pub(super) fn broken(mail: Outgoing, route: Route) -> Self {
        let verdict = verdict(&[Outcome::Fault], true, mail.tries);
        Self { mail, attempts: Vec::new(), route, verdict }
    }
}

/// Tries the providers of the route until one sends the mail, the address is refused, or the
/// postman `ends`.
pub(super) async fn round(site: &Inner, mail: Outgoing, route: Route, ends: &AtomicBool) -> Round {
    let mut attempts: Vec<Attempt> = Vec::new();
    let mut is_cut = false;
    if let Some(sender) = &site.sender {
        let may = |name: &str| mail.provider.as_deref().is_none_or(|only| only == name);
        let chain = route.places.iter().filter_map(|place| site.chain.get(*place));
        for provider in chain.filter(|provider| may(provider.name)) {
            // The lease may end during the attempt, and another postman may then claim the mail.
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

/// A suspect local fault counts as the provider's when the same round reached another provider.
fn blame(attempts: &mut [Attempt]) {
    if attempts.iter().any(|attempt| attempt.outcome != Outcome::Local) {
        for attempt in attempts.iter_mut().filter(|attempt| attempt.is_suspect) {
            attempt.outcome = Outcome::Fault;
        }
    }
}

/// The providers that a mail tries, as places in the chain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Route {
    pub(super) places: Vec<usize>,
    /// The providers among them that this mail probes: no other mail tries them meanwhile.
    pub(super) probes: Vec<usize>,
    /// Whether a provider of the chain rests.
    pub(super) skips: bool,
}

/// The routes of the mails of one claim.
pub(super) struct Plan {
    admissions: Vec<Admission>,
}

impl Plan {
    pub(super) fn new(
        chain: impl IntoIterator<Item = &'static str>,
        health: &BTreeMap<String, Health>,
        now: Millis,
    ) -> Self {
        let admission = |name: &'static str| {
            health.get(name).map_or(Admission::Ready, |health| health.admission(now))
        };
        Self { admissions: chain.into_iter().map(admission).collect() }
    }

    /// How many mails can be tried now, at most `free`.
    pub(super) fn places(&self, free: usize) -> usize {
        if self.admissions.contains(&Admission::Ready) {
            free
        } else {
            usize::from(self.admissions.contains(&Admission::Probe)).min(free)
        }
    }

    /// The route of the next mail. The first mail probes every provider that needs a probe.
    pub(super) fn next(&mut self) -> Route {
        let mut route = Route::default();
        for (place, admission) in self.admissions.iter_mut().enumerate() {
            match *admission {
                Admission::Ready => route.places.push(place),
                Admission::Probe => {
                    *admission = Admission::Rests;
                    route.places.push(place);
                    route.probes.push(place);
                }
                Admission::Rests => route.skips = true,
            }
        }
        route
    }
}

pub(super) async fn settle(
    site: &Inner,
    change: &mut Change,
    rounds: &[Round],
) -> Result<Outcomes> {
    let (mut counted, mut failed) = (Outcomes::default(), Vec::new());
    for round in rounds {
        let is_ours = outbox::settle(change, &round.mail, settlement(round, change.now())).await?;
        for attempt in &round.attempts {
            outbox::log(change, round.mail.id, attempt).await?;
        }
        match (is_ours, round.verdict) {
            (false, _) => counted.lost += 1,
            (true, Verdict::Sent) => counted.done += 1,
            (true, Verdict::Failed) => {
                counted.failed += 1;
                failed.push(MailFailed::of(round.mail.id, round.mail.purpose.clone()));
            }
            (true, Verdict::Again(_)) => counted.retried += 1,
            (true, Verdict::Later(_)) => counted.put_back += 1,
        }
    }
    change.raise_inside(MAIL_FAILED, &failed).await?;
    note_health(site, change, rounds).await?;
    Ok(counted)
}

fn settlement(round: &Round, now: i64) -> Settled {
    let reason = round.attempts.iter().rev().find_map(|attempt| {
        attempt.reason.as_ref().map(|reason| format!("{}: {reason}", attempt.provider))
    });
    let nobody = || "no provider was tried: see the mail settings".to_owned();
    let reason = Some(reason.unwrap_or_else(nobody));
    let tries = round.mail.tries;
    let (status, tries, next_attempt_at, reason) = match round.verdict {
        Verdict::Sent => ("sent", tries, now, None),
        Verdict::Failed => ("failed", tries, now, reason),
        Verdict::Again(wait) => ("queued", tries + 1, now + wait, reason),
        Verdict::Later(wait) => ("queued", tries, now + wait, reason),
    };
    Settled { status, tries, next_attempt_at, reason }
}

/// Writes the health of providers after these rounds. Writes nothing while all are well. The
/// caller holds the lock on claims, because two processes may settle at the same time.
async fn note_health(site: &Inner, change: &mut Change, rounds: &[Round]) -> Result<()> {
    let known = outbox::health(&mut *change).await?;
    let after = health_after(site, &known, rounds, change.now());
    for (name, health) in after {
        if known.get(&name) != Some(&health) {
            let reason = last_reason(rounds, &name);
            outbox::save_health(change, &name, &health, reason).await?;
        }
    }
    Ok(())
}

/// The health of all providers after these rounds.
fn health_after(
    site: &Inner,
    known: &BTreeMap<String, Health>,
    rounds: &[Round],
    now: i64,
) -> BTreeMap<String, Health> {
    let mut all = known.clone();
    let name = |place: &usize| site.chain.get(*place).map(|provider| provider.name);
    for round in rounds {
        let probes: Vec<_> = round.route.probes.iter().filter_map(name).collect();
        let tried = |probe: &&str| round.attempts.iter().any(|a| a.provider == *probe);
        // The round ended before this provider was tried: the next mail probes it.
        for probe in probes.iter().filter(|probe| !tried(probe)) {
            if let Some(health) = all.get_mut(*probe) {
                *health = health.clone().probed(now);
            }
        }
        for attempt in &round.attempts {
            let probe = probes.contains(&attempt.provider);
            let health = all.remove(attempt.provider).unwrap_or_default();
            let health = health.after(attempt.outcome, probe, now);
            if health != Health::default() || known.contains_key(attempt.provider) {
                all.insert(attempt.provider.to_owned(), health);
            }
        }
    }
    all
}

fn last_reason(rounds: &[Round], provider: &str) -> Option<String> {
    let attempts = rounds.iter().rev().flat_map(|round| round.attempts.iter().rev());
    attempts.filter(|attempt| attempt.provider == provider).find_map(|a| a.reason.clone())
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

    #[test]
    fn one_mail_probes_and_nobody_waits_for_a_rested_provider() {
        let health = |faults, rests_until| Health { faults, rests_until };
        let known = BTreeMap::from([
            ("probed".to_owned(), health(5, 0)),
            ("rests".to_owned(), health(5, 20_000)),
            ("shaky".to_owned(), health(4, 0)),
        ]);
        let plan = |chain: &[&'static str]| Plan::new(chain.iter().copied(), &known, 10_000);
        for (chain, places) in [
            (&["well"][..], 8),
            (&["shaky"], 8),
            (&["rests", "well"], 8),
            (&["probed"], 1),
            (&["rests"], 0),
            (&["rests", "probed"], 1),
            (&[], 0),
        ] {
            assert_eq!(plan(chain).places(8), places, "{chain:?}");
        }
        let mut plan = plan(&["rests", "probed", "well"]);
        let first = Route { places: vec![1, 2], probes: vec![1], skips: true };
        let second = Route { places: vec![2], probes: vec![], skips: true };
        assert_eq!([plan.next(), plan.next(), plan.next()], [first, second.clone(), second]);
    }
}
