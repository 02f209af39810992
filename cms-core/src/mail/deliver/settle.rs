//! Settles finished rounds: mail, log and the health of providers, in one change for many.

use std::collections::BTreeMap;

use super::Round;
use crate::{
    Change, Result,
    events::{MAIL_FAILED, MailFailed},
    jobs::Outcomes,
    mail::{
        State,
        rules::{breaker::Health, outcome::Verdict},
        sql::outbox::{self, Settled},
    },
};

pub(in crate::mail) async fn settle(
    site: &State,
    change: &mut Change,
    rounds: &[Round],
) -> Result<Outcomes> {
    let (mut counted, mut failed) = (Outcomes::default(), Vec::new());
    for round in rounds {
        let is_ours = outbox::settle(change, &round.mail, settled(round, change.now())).await?;
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

fn settled(round: &Round, now: i64) -> Settled {
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

/// Notes what the attempts tell of their providers. Nothing is written while all are well. The
/// caller holds the lock on claims: two processes may settle at the same time.
async fn note_health(site: &State, change: &mut Change, rounds: &[Round]) -> Result<()> {
    let known = outbox::health_in(change).await?;
    let after = after(site, &known, rounds, change.now());
    for (name, health) in after {
        if known.get(&name) != Some(&health) {
            let reason = last_reason(rounds, &name);
            outbox::note(change, &name, &health, reason).await?;
        }
    }
    Ok(())
}

/// The health of all providers after these rounds.
fn after(
    site: &State,
    known: &BTreeMap<String, Health>,
    rounds: &[Round],
    now: i64,
) -> BTreeMap<String, Health> {
    let mut all = known.clone();
    let name = |place: &usize| site.chain.get(*place).map(|provider| provider.name);
    for round in rounds {
        let probes: Vec<_> = round.route.probes.iter().filter_map(name).collect();
        let tried = |probe: &&str| round.attempts.iter().any(|a| a.provider == *probe);
        // An earlier provider has sent the mail: the next one probes.
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
