//! 5: a worker stands still while another takes over what it had, and then goes on as if nothing
//! had happened.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use crate::{
    lab::{EVENT, LEASE, Lab, Run},
    process::Worker,
    record::LANE,
    report::Finding,
    support::Answer,
};

const LANES: usize = 20;
/// Lanes whose receiver refuses everything: their failures must not be counted twice.
const REFUSING: usize = 5;
const ROWS: usize = 2 * LANES;

pub async fn run(run: Arc<Run>) -> Vec<Finding> {
    // Slow enough that the worker can be stopped before it hears an answer.
    let lab = Lab::new(&run, |_, delivery| {
        let lane: usize = delivery.headers[LANE].parse().unwrap();
        Answer::After(Duration::from_millis(700), if lane <= REFUSING { 500 } else { 200 })
    })
    .await;
    lab.subscribe(LANES, &[EVENT]).await;
    lab.emit(EVENT, ROWS / LANES).await;
    let stopped = Worker::start(&lab, 600, &[]);
    lab.arrived(ROWS, 30).await;
    stopped.signal("-STOP");
    let rows = lab.jobs("'sending'").await;
    let second = lab.serve(&[], &[]);
    // Twice the lease, and until what failed then for the second time is due in two minutes only.
    tokio::time::sleep(2 * LEASE + Duration::from_secs(8)).await;
    second.terminate();
    let before = state(&lab).await;
    stopped.signal("-CONT");
    let lost = "select count(*) from cms_webhook_deliveries where outcome = 'lease_lost'";
    let began = Instant::now();
    while lab.count(lost).await < i64::try_from(rows).unwrap()
        && began.elapsed() < Duration::from_secs(20)
    {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let after = state(&lab).await;
    drop(stopped);
    let arrivals = lab.record.per_job();
    let delivered = "select cast(id as text) from cms_webhook_queue where status = 'delivered'";
    let delivered = lab.texts(delivered).await;
    let most = delivered.iter().map(|id| arrivals[&id.parse().unwrap()]).max().unwrap_or(0);
    let changed: Vec<_> =
        before.iter().zip(&after).filter(|(before, after)| before != after).collect();
    if let Some((before, after)) = changed.first() {
        eprintln!("   changed, for instance: {before} -> {after}");
    }
    vec![
        Finding::equal("attempts under way when it was stopped", rows, ROWS),
        Finding::equal(
            "attempts that it noted as lease_lost afterwards",
            lab.count(lost).await,
            i64::try_from(rows).unwrap(),
        ),
        Finding::equal(
            "rows of the queue and failure counters that this changed",
            changed.len(),
            0,
        ),
        Finding::equal("rows delivered by the second worker", delivered.len(), ROWS - 2 * REFUSING),
        Finding::at_most("duplicates of a stopped row", most - 1, 1),
        lab.record.integrity(),
    ]
}

/// Every row and every counter, as text.
async fn state(lab: &Lab) -> Vec<String> {
    let jobs = "select 'job ' || id || ' ' || status || ' ' || retry_count || ' ' || lease_token \
                || ' ' || next_retry_at || ' ' || coalesce(settled_at, 0) \
                from cms_webhook_queue order by id";
    let lanes = "select 'subscription ' || id || ' failures ' || failure_count \
                 || ' not before ' || not_before from cms_webhook_subscriptions order by id";
    [lab.texts(jobs).await, lab.texts(lanes).await].concat()
}
