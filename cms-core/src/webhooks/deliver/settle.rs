//! Settles finished attempts: job, breaker and log, in one transaction for many.

use super::{
    batch::{self, Arrived},
    claimed::Ended,
    queue::{self, Claimed, End, LogRow},
};
use crate::{
    Change, Result,
    events::{DeliveryFailed, FailedDelivery, WEBHOOK_FAILED},
    jobs::Outcomes,
    outbound::Attempt,
    webhooks::{
        rules::retry,
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
            && retry::opens(in_a_row)
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
        let (end, what) = match retry::wait_ms(job.retry_count, max_retries) {
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
    match queue::rest(change, *subscription, at).await? {
        Some(active) => {
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
    let stands = queue::is_deleted(change, subscription).await?;
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
