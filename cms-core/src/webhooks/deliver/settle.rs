//! Settles finished attempts: job, breaker and log, in one transaction for many. Also how long a
//! lane rests after faults of this machine.

use std::collections::HashMap;

use super::{
    batch::{self, Arrived},
    claim::Ended,
    queue::{self, Claimed, End, LogRow},
};
use crate::{
    Change, Millis, Result,
    db::args,
    events::{DeliveryFailed, FailedDelivery, WEBHOOK_FAILED},
    jobs::{self, Outcomes},
    outbound::Attempt,
    webhooks::{
        rules::{self, LOCAL_BACKOFF},
        subscriptions::{CLAIMS, TABLE, sql as subscriptions},
    },
};

/// Pause of a lane after a failed attempt, in milliseconds.
const SPACING_MS: i64 = 1000;

pub(super) async fn settle(change: &mut Change, ended: &mut [Ended]) -> Result<Outcomes> {
    ended.sort_by_key(|ended| (ended.subscription, ended.job.id));
    let mut settled = Outcomes::default();
    settle_failing(change, ended, &mut settled).await?;
    let successes: Vec<_> = ended.iter().filter(|ended| ended.attempt.is_success()).collect();
    let arrived: Vec<_> = successes.iter().map(|ended| arrived(ended)).collect();
    let ours = batch::delivered(change, &arrived).await?;
    settled.done += ours.len() as u64;
    for Ended { subscription, job, attempt, .. } in
        successes.into_iter().filter(|ended| !ours.contains(&ended.job.lease()))
    {
        log_lost(change, *subscription, job, attempt, &mut settled).await?;
    }
    Ok(settled)
}

fn arrived(ended: &Ended) -> Arrived<'_> {
    let Ended { job, attempt, .. } = ended;
    let response = attempt.response.as_deref();
    Arrived(job.id, job.lease_token, attempt.status, response, attempt.duration_ms)
}

/// Settles lanes whose failure count changes, because an attempt failed or the first one succeeded
/// after failures.
async fn settle_failing(
    change: &mut Change,
    ended: &[Ended],
    settled: &mut Outcomes,
) -> Result<()> {
    let mut subscriptions: Vec<_> = ended.iter().map(|ended| ended.subscription).collect();
    subscriptions.dedup();
    let mut failing = batch::failing(change, &subscriptions).await?;
    failing.extend(
        ended.iter().filter(|ended| !ended.attempt.is_success()).map(|ended| ended.subscription),
    );
    if failing.is_empty() {
        return Ok(());
    }
    // Claims lock many subscriptions in no fixed order.
    change.lock(CLAIMS).await?;
    let lanes = ended.chunk_by(|a, b| a.subscription == b.subscription);
    for lane in lanes.filter(|lane| failing.contains(&lane[0].subscription)) {
        settle_lane(change, lane, settled).await?;
    }
    Ok(())
}

/// A failed attempt, and how its subscription treats it.
struct Failure {
    error: String,
    active: bool,
    max_retries: i64,
}

/// Counts the attempts at one subscription and settles the failed ones. Lock order, as everywhere:
/// the subscription, then its jobs.
async fn settle_lane(change: &mut Change, lane: &[Ended], settled: &mut Outcomes) -> Result<()> {
    let mut failures = Vec::with_capacity(lane.len());
    let mut opened = false;
    for Ended { subscription, job, attempt, .. } in lane {
        if attempt.is_local() {
            failures.push(None);
            continue;
        }
        if attempt.is_success() {
            queue::succeeded(change, *subscription, job).await?;
            failures.push(None);
            continue;
        }
        let (error, counts) = (attempt.message(), !attempt.is_own());
        let next = change.now() + SPACING_MS;
        let counted = queue::count_failure(change, *subscription, job, next, counts).await?;
        if let Some((in_a_row, true, _)) = counted
            && counts
            && rules::opens(in_a_row)
        {
            disable(
                change,
                *subscription,
                &format!("{in_a_row} failed attempts in a row, the last: {error}"),
            )
            .await?;
            opened = true;
        }
        failures.push(counted.map(|(_, active, max_retries)| Failure {
            error,
            active,
            max_retries,
        }));
    }
    for (ended @ Ended { subscription, job, attempt, .. }, failure) in
        lane.iter().zip(failures).filter(|(ended, _)| !ended.attempt.is_success())
    {
        if attempt.is_local() {
            let ours = put_back(change, ended).await?;
            count(ours, &mut settled.put_back, &mut settled.lost);
            continue;
        }
        // The lease was lost, or the subscription was deleted with its jobs.
        let Some(Failure { error, active, max_retries }) = failure else {
            log_lost(change, *subscription, job, attempt, settled).await?;
            continue;
        };
        let (end, what) = match rules::wait_ms(job.retry_count, max_retries) {
            Some(wait) => (End::Again(change.now() + wait), &mut settled.retried),
            None => (End::Failed, &mut settled.failed),
        };
        let is_over = matches!(end, End::Failed);
        let ours = queue::settle(change, job, end, active, Some(&error)).await?;
        count(ours, what, &mut settled.lost);
        if ours && is_over {
            change.raise_inside(WEBHOOK_FAILED, &[given_up(*subscription, job, error)]).await?;
        }
        log(change, *subscription, job, attempt, ours).await?;
    }
    if opened && let Some(Ended { subscription, .. }) = lane.first() {
        subscriptions::hold(change, *subscription).await?;
    }
    Ok(())
}

fn given_up(subscription: i64, job: &Claimed, error: String) -> DeliveryFailed {
    let delivery = FailedDelivery {
        job: job.id,
        subscription,
        event: job.event.name.clone(),
        event_id: job.event.id.clone(),
        attempts: job.retry_count + 1,
        error,
    };
    DeliveryFailed { delivery }
}

/// Settles an attempt that failed on this machine. The lane rests and the job waits as before.
/// Nothing is logged, because a lasting fault would fill the log.
async fn put_back(change: &mut Change, ended: &Ended) -> Result<bool> {
    let Ended { subscription, job, attempt, rest, .. } = ended;
    let at = change.now() + rest.unwrap_or_default();
    match change.optional::<(bool,)>(queue::REST, args![*subscription, at]).await? {
        Some((active,)) => {
            let error = attempt.message();
            queue::settle(change, job, End::PutBack(at), active, Some(&error)).await
        }
        None => Ok(false),
    }
}

/// Opens the breaker: the subscription is off until somebody activates it.
async fn disable(change: &mut Change, subscription: i64, reason: &str) -> Result<()> {
    subscriptions::switch_off(change, subscription, reason).await?;
    change.audit_announced("disable", TABLE, subscription, &["active"]).await?;
    tracing::warn!(subscription, reason, "a webhook was disabled");
    Ok(())
}

fn count(ours: bool, what: &mut u64, lost: &mut u64) {
    *(if ours { what } else { lost }) += 1;
}

/// Counts and logs an attempt whose job this worker no longer holds. If the job was deleted with
/// its subscription, no other worker holds it either, so the outcome stands.
async fn log_lost(
    change: &mut Change,
    subscription: i64,
    job: &Claimed,
    attempt: &Attempt,
    settled: &mut Outcomes,
) -> Result<()> {
    let (stands,): (bool,) = change.one(queue::DELETED, args![subscription]).await?;
    let what = if attempt.is_success() { &mut settled.done } else { &mut settled.failed };
    count(stands, what, &mut settled.lost);
    log(change, subscription, job, attempt, stands).await
}

async fn log(
    change: &mut Change,
    subscription: i64,
    job: &Claimed,
    attempt: &Attempt,
    ours: bool,
) -> Result<()> {
    let message = attempt.message();
    let entry = LogRow {
        outcome: if ours { attempt.code() } else { "lease_lost" },
        error: (!attempt.is_success()).then_some(message.as_str()),
        status: attempt.status,
        response: attempt.response.as_deref(),
        duration_ms: attempt.duration_ms,
    };
    queue::log(change, subscription, job, &entry).await
}

/// Suspected faults in a row (about half a minute) after which the receiver counts as the cause,
/// if others were reached since the first of them.
const SUSPECTED: i64 = 5;

/// Interval between warnings in the log.
const TELL_EVERY_MS: i64 = 600_000;
/// Lanes that last rested longer ago are forgotten, because their subscriptions may be gone.
const KEPT_MS: i64 = 3_600_000;

/// The lanes that rest now or rested recently.
#[derive(Default)]
pub(super) struct LocalFaults {
    lanes: HashMap<i64, Lane>,
    /// When a receiver was last reached.
    reached: Option<Millis>,
    told: Option<Millis>,
}

#[derive(Clone, Copy)]
struct Lane {
    since: Millis,
    rest: jobs::Rest,
}

impl LocalFaults {
    /// Notes the end of an attempt. Returns the milliseconds for which the lane rests after a
    /// local fault. Concurrent attempts count as one fault. A fault that the receiver causes
    /// counts against the receiver: its name never resolves, or no route leads to it, while other
    /// receivers are reached.
    pub(super) fn rest(&mut self, lane: i64, attempt: &mut Attempt, now: Millis) -> Option<Millis> {
        if attempt.is_own() {
            return None;
        }
        if !attempt.is_local() {
            self.lanes.remove(&lane);
            self.reached = Some(now);
            return None;
        }
        if self.told.is_none_or(|told| !(told..told + TELL_EVERY_MS).contains(&now)) {
            self.told = Some(now);
            self.lanes.retain(|_, lane| now - lane.rest.until < KEPT_MS);
            let why = attempt.message();
            tracing::warn!(why, "this machine cannot deliver webhooks; their jobs come again");
        }
        let Lane { since, rest } =
            self.lanes.entry(lane).or_insert(Lane { since: now, rest: jobs::Rest::default() });
        let others_are_reached = self.reached.is_some_and(|at| at >= *since);
        if rest.in_a_row >= SUSPECTED && others_are_reached && attempt.blame_receiver() {
            return None;
        }
        rest.fault(LOCAL_BACKOFF, now);
        Some(rest.until - now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_beside_each_other_count_as_one() {
        let local = Attempt::failed("local", "no descriptor".to_owned());
        let other = Attempt::failed("status", "answered 500".to_owned());
        let mut faults = LocalFaults::default();
        for (attempt, now, expected) in [
            (&local, 0, Some(1000)),
            (&local, 400, Some(600)),
            (&local, 1001, Some(1000)),
            (&local, 1500, Some(501)),
            (&local, 3000, Some(2000)),
            (&other, 3100, None),
            (&local, 3200, Some(1000)),
            // The clock was set back.
            (&local, -90_000, Some(1000)),
        ] {
            assert_eq!(faults.rest(7, &mut attempt.clone(), now), expected, "at {now}");
        }
    }

    #[test]
    fn a_receiver_is_blamed_only_while_others_are_reached() {
        let other = Attempt::failed("status", "answered 500".to_owned());
        for (reached, suspect, blamed) in
            [(true, true, true), (false, true, false), (true, false, false)]
        {
            let mut faults = LocalFaults::default();
            let mut now = 0;
            let mut attempts = (0..8).map(|_| {
                let why = "no answer from DNS".to_owned();
                let mut attempt = match suspect {
                    true => Attempt::suspected("dns", why),
                    false => Attempt::failed("local", why),
                };
                if reached {
                    faults.rest(8, &mut other.clone(), now);
                }
                now += faults.rest(7, &mut attempt, now).unwrap_or_default() + 1;
                attempt.code()
            });
            let codes: Vec<_> = attempts.by_ref().collect();
            assert_eq!(codes[..5], ["local"; 5]);
            assert_eq!(
                codes[5..],
                [if blamed { "dns" } else { "local" }; 3],
                "{reached} {suspect}"
            );
        }
    }
}
