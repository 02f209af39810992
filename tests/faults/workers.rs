//! 4: four workers on one queue, and runs that overlap as cron's do.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use crate::{
    lab::{EVENT, Lab, Run},
    process::Worker,
    report::Finding,
    support::Answer,
};

const LANES: usize = 200;

pub async fn run(run: Arc<Run>) -> Vec<Finding> {
    let lab = Lab::new(&run, |_, _| Answer::Status(200)).await;
    lab.subscribe(LANES, &[EVENT]).await;
    let jobs = run.scaled(20_000, 4000);
    for _ in 0..10 {
        lab.emit(EVENT, jobs / LANES / 10).await;
    }
    let began = Instant::now();
    let mut workers: Vec<_> = (0..4).map(|_| Worker::start(&lab, 25, &[])).collect();
    let (mut started, mut failed) = (4, 0);
    // Another run begins each second, whether those before it have ended or not.
    while lab.jobs("'pending', 'retry', 'sending'").await > 0
        && began.elapsed() < Duration::from_secs(180)
    {
        tokio::time::sleep(Duration::from_secs(1)).await;
        workers.push(Worker::start(&lab, 25, &[]));
        started += 1;
        workers.retain_mut(|worker| {
            let ended = worker.ended();
            failed += usize::from(ended == Some(false));
            ended.is_none()
        });
    }
    let took = began.elapsed();
    while !workers.is_empty() && began.elapsed() < Duration::from_secs(210) {
        tokio::time::sleep(Duration::from_millis(100)).await;
        workers.retain_mut(|worker| worker.ended().is_none());
    }
    let (arrived, duplicates) = lab.record.jobs_and_duplicates();
    vec![
        Finding::new(
            format!("all of {jobs} arrive"),
            format!("{arrived} in {:.1} s, by {started} runs", took.as_secs_f64()),
            arrived == jobs,
        ),
        Finding::equal("duplicates", duplicates, 0),
        Finding::equal(
            "rows that are delivered, and nothing else",
            lab.jobs("'delivered'").await,
            jobs,
        ),
        Finding::equal("runs that ended with an error", failed, 0),
        lab.record.integrity(),
    ]
}
