//! Raises events in a way, and looks at what that cost and when the deliveries came.

use std::{collections::HashMap, rc::Rc, time::Duration};

use tokio::{
    task::JoinSet,
    time::{Instant, interval},
};

use crate::{
    receiver::{Arrival, Receivers},
    site::Site,
};

/// Deliveries that have not come by then do not come.
const MOST: Duration = Duration::from_secs(60);
/// Rows of one call when there is no pace.
const BATCH: usize = 100;

/// How events are raised.
#[derive(Clone, Copy)]
pub enum Pace {
    /// In batches, one after the other.
    Full,
    /// So many calls a second, of one row each, whether the ones before have returned or not.
    PerSecond(usize),
}

/// What a run showed.
pub struct Outcome {
    pub deliveries: usize,
    /// From the first call to the last arrival.
    pub elapsed: Duration,
    /// From the begin of the call to the arrival, shortest first.
    pub delays: Vec<Duration>,
    /// CPU time of the service and of PostgreSQL.
    pub cpu: [Duration; 2],
    pub kib: [u64; 2],
    pub arrivals: Vec<Arrival>,
}

/// Raises `events` and waits for `expected` deliveries, of those that count.
pub async fn run(
    site: &Rc<Site>,
    receivers: &Receivers,
    pace: Pace,
    events: usize,
    expected: usize,
    counts: impl Fn(&Arrival) -> bool,
) -> Outcome {
    receivers.forget();
    let before = site.usage();
    let began = Instant::now();
    let sent = raise(site, pace, events).await;
    let arrivals = receivers.wait(expected, MOST, counts).await;
    let elapsed = arrivals.last().map_or(began.elapsed(), |arrival| arrival.at - began);
    // What was delivered is written down a moment later; that is part of the cost.
    tokio::time::sleep(Duration::from_millis(200)).await;
    let after = site.usage();
    let mut delays: Vec<_> = arrivals
        .iter()
        .filter_map(|arrival| sent.get(&arrival.n).map(|sent| arrival.at.duration_since(*sent)))
        .collect();
    delays.sort_unstable();
    Outcome {
        deliveries: arrivals.len(),
        elapsed,
        delays,
        cpu: [0, 1].map(|i| after[i].cpu.saturating_sub(before[i].cpu)),
        kib: after.map(|usage| usage.kib),
        arrivals,
    }
}

/// When the call of each number began.
async fn raise(site: &Rc<Site>, pace: Pace, events: usize) -> HashMap<u64, Instant> {
    let mut sent = HashMap::new();
    match pace {
        Pace::Full => {
            for first in (0..events).step_by(BATCH) {
                let numbers = site.numbers(BATCH.min(events - first));
                let (began, _) = site.post("things", numbers.clone()).await;
                sent.extend(numbers.map(|n| (n, began)));
            }
        }
        Pace::PerSecond(rate) => {
            let mut calls = JoinSet::new();
            let mut ticks =
                interval(Duration::from_secs(1) / u32::try_from(rate).expect("a small rate"));
            for _ in 0..events {
                ticks.tick().await;
                let (site, numbers) = (site.clone(), site.numbers(1));
                calls.spawn_local(
                    async move { (numbers.start, site.post("things", numbers).await.0) },
                );
            }
            sent.extend(calls.join_all().await);
        }
    }
    sent
}

/// The duration below which this share lies.
pub fn at(sorted: &[Duration], share: f64) -> Duration {
    sorted.get((sorted.len() as f64 * share) as usize).copied().unwrap_or_default()
}

pub fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}
