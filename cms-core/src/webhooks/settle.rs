//! Writing down what became of attempts: the row, the breaker, the log, in one transaction for many.

use super::{
    breaker, retry,
    send::Attempt,
    sql::{
        groups::{self, Arrived},
        queue::{self, Claimed, LogRow},
        subscriptions,
    },
};
use crate::{Actor, AuditEntry, Change, Cms, Result};

/// After a failure the next attempt of a lane begins no earlier than this after the last one ended.
const SPACING_MS: i64 = 1000;

/// An attempt that has ended.
pub(super) struct Ended {
    pub(super) subscription: i64,
    pub(super) row: Claimed,
    pub(super) attempt: Attempt,
}

/// What became of the attempts of one transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settled {
    /// Delivered.
    pub delivered: u64,
    /// Failed and due again later, or held.
    pub retried: u64,
    /// Failed for good.
    pub failed: u64,
    /// The lease was lost: somebody else has the row, or it was deleted.
    pub lost: u64,
}

pub(super) async fn settle(cms: &Cms, ended: &mut [Ended]) -> Result<Settled> {
    ended.sort_by_key(|ended| (ended.subscription, ended.row.id));
    let mut settled = Settled::default();
    let mut change = cms.change(Actor::System).await?;
    count_up(&mut change, ended, &mut settled).await?;
    let successes: Vec<_> = ended.iter().filter(|ended| ended.attempt.is_success()).collect();
    let arrived: Vec<_> = successes.iter().map(|ended| arrived(ended)).collect();
    let ours = groups::delivered(&mut change, &arrived).await?;
    settled.delivered += ours.len() as u64;
    for Ended { subscription, row, attempt } in successes.into_iter().filter(|ended| !ours.contains(&ended.row.id)) {
        settled.lost += 1;
        log(&mut change, *subscription, row, attempt, false).await?;
    }
    change.commit().await?;
    Ok(settled)
}

/// What touches counters of subscriptions, one by one: failures, and the successes that end them.
async fn count_up(change: &mut Change, ended: &[Ended], settled: &mut Settled) -> Result<()> {
    let mut subscriptions: Vec<_> = ended.iter().map(|ended| ended.subscription).collect();
    subscriptions.dedup();
    let mut failing = groups::failing(change, &subscriptions).await?;
    failing.extend(ended.iter().filter(|ended| !ended.attempt.is_success()).map(|ended| ended.subscription));
    if failing.is_empty() {
        return Ok(());
    }
    // Claims lock many subscriptions in no order.
    change.lock_claims().await?;
    for Ended { subscription, row, attempt } in ended.iter().filter(|ended| failing.contains(&ended.subscription)) {
        if attempt.is_success() {
            queue::succeeded(change, *subscription, row).await?;
        } else {
            failure(change, *subscription, row, attempt, settled).await?;
        }
    }
    Ok(())
}

fn arrived(ended: &Ended) -> Arrived<'_> {
    let Ended { row, attempt, .. } = ended;
    Arrived { row, status: attempt.status, response: attempt.response.as_deref(), duration_ms: attempt.duration_ms }
}

async fn failure(change: &mut Change, subscription: i64, row: &Claimed, attempt: &Attempt, settled: &mut Settled) -> Result<()> {
    let counted = queue::count_failure(change, subscription, row, change.now() + SPACING_MS).await?;
    let Some((failures, active, max_retries)) = counted else {
        settled.lost += 1;
        return log(change, subscription, row, attempt, false).await;
    };
    let error = attempt.message();
    let ours = match retry::wait_ms(row.retry_count, max_retries) {
        Some(wait) => {
            let ours = queue::again(change, row, &error, change.now() + wait, !active).await?;
            count(ours, &mut settled.retried, &mut settled.lost);
            ours
        }
        None => {
            let ours = queue::failed(change, row, &error).await?;
            count(ours, &mut settled.failed, &mut settled.lost);
            ours
        }
    };
    if active && breaker::opens(failures) {
        let reason = format!("{failures} failed attempts in a row, the last: {error}");
        subscriptions::deactivate(change, subscription, &reason).await?;
        change.touch("webhook_subscriptions");
        let id = subscription.to_string();
        change.audit(AuditEntry { action: "disable", table: "webhook_subscriptions", id: &id, columns: &["active"] }).await?;
        tracing::warn!(subscription, reason, "a webhook was disabled");
    }
    log(change, subscription, row, attempt, ours).await
}

fn count(ours: bool, what: &mut u64, lost: &mut u64) {
    *(if ours { what } else { lost }) += 1;
}

async fn log(change: &mut Change, subscription: i64, row: &Claimed, attempt: &Attempt, ours: bool) -> Result<()> {
    let message = attempt.message();
    let entry = LogRow {
        outcome: if ours { attempt.code() } else { "lease_lost" },
        error: (!attempt.is_success()).then_some(message.as_str()),
        status: attempt.status,
        response: attempt.response.as_deref(),
        duration_ms: attempt.duration_ms,
    };
    queue::log(change, subscription, row, &entry).await
}
