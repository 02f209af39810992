//! 10: a hundred receivers, of which one is dead and one slow, with ten thousand jobs for the dead
//! one.

use std::{
    collections::BTreeSet,
    sync::Arc,
    time::{Duration, Instant},
};

use crate::{
    lab::{EVENT, Lab, Run},
    record::LANE,
    report::Finding,
    support::Answer,
};

const HEALTHY: usize = 98;
const DEAD: usize = HEALTHY + 1;
const SLOW: usize = HEALTHY + 2;
/// Between two events, each of which goes to all receivers.
const PACE: Duration = Duration::from_millis(400);
/// What all receivers listen to.
const REGISTERED: &str = "user.registered";
/// Below this, twice as much means nothing.
const FLOOR_MS: i64 = 50;

pub async fn run(run: Arc<Run>) -> Vec<Finding> {
    let without = measured(&run, false).await;
    let with = measured(&run, true).await;
    let backlog = run.scaled(9900, 900);
    let limit = (2 * without.p99).max(FLOOR_MS);
    vec![
        Finding::new(
            format!("all of {} for the {HEALTHY} others arrive, in both runs", without.expected),
            format!("{} and {}", without.arrived, with.arrived),
            without.arrived == without.expected && with.arrived == with.expected,
        ),
        Finding::new(
            format!("jobs that wait for the dead one meanwhile > {backlog}"),
            with.waiting,
            with.waiting > backlog,
        ),
        Finding::new(
            format!(
                "delay of the others, p99 ≤ 1 s and ≤ twice the run without faults \
                 (≤ {limit} ms)"
            ),
            format!(
                "{} ms, without faults {} ms (p50 {} and {})",
                with.p99, without.p99, with.p50, without.p50
            ),
            with.p99 <= limit && with.p99 <= 1000,
        ),
    ]
}

struct Measured {
    expected: usize,
    arrived: usize,
    waiting: usize,
    p50: i64,
    p99: i64,
}

async fn measured(run: &Run, faults: bool) -> Measured {
    let events = run.scaled(50, 15);
    let lab = Lab::new(run, move |_, delivery| match delivery.headers[LANE].parse().unwrap_or(0) {
        DEAD if faults => Answer::Silence,
        SLOW if faults => Answer::After(Duration::from_secs(9), 200),
        _ => Answer::Status(200),
    })
    .await;
    lab.subscribe(HEALTHY, &[REGISTERED]).await;
    lab.subscribe(1, &[REGISTERED, EVENT]).await;
    lab.subscribe(1, &[REGISTERED]).await;
    if faults {
        for _ in 0..10 {
            lab.emit(EVENT, run.scaled(1000, 100)).await;
        }
    }
    let served = lab.serve(&[], &[]);
    // Connections are open and statements prepared, in both runs.
    for _ in 0..5 {
        lab.emit(REGISTERED, 1).await;
        tokio::time::sleep(PACE).await;
    }
    let warm: BTreeSet<i64> = lab.record.per_job().into_keys().collect();
    let mut next = tokio::time::interval(PACE);
    for _ in 0..events {
        next.tick().await;
        lab.emit(REGISTERED, 1).await;
    }
    let healthy = || lab.record.arrivals().into_iter().filter(|arrival| arrival.lane <= HEALTHY);
    let (expected, began) = ((events + 5) * HEALTHY, Instant::now());
    while healthy().count() < expected && began.elapsed() < Duration::from_secs(30) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let waiting = format!(
        "cms_webhook_queue where status in ('pending', 'retry', 'held') \
         and subscription_id = {DEAD}"
    );
    let waiting = lab.database.rows(&waiting).await;
    drop(served);
    let mut delays: Vec<_> = healthy()
        .filter(|arrival| !warm.contains(&arrival.job))
        .map(|arrival| arrival.delay_ms)
        .collect();
    delays.sort_unstable();
    let at = |share: usize| delays.get(delays.len() * share / 100).copied().unwrap_or(i64::MAX / 2);
    Measured {
        expected,
        arrived: healthy().count(),
        waiting: usize::try_from(waiting).unwrap(),
        p50: at(50),
        p99: at(99),
    }
}
