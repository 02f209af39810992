//! 21: SIGTERM while much is under way.

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

pub async fn run(run: Arc<Run>) -> Vec<Finding> {
    // One in fifty takes as long as an attempt may.
    let lab = Lab::new(&run, |n, _| {
        Answer::After(Duration::from_millis(if n % 50 == 0 { 9000 } else { 100 }), 200)
    })
    .await;
    lab.subscribe(100, &[EVENT]).await;
    lab.emit(EVENT, 20).await;
    let mut findings = Vec::new();
    let served = lab.serve(&[], &[]);
    under_way(&lab).await;
    let began = Instant::now();
    let (code, _) = tokio::task::spawn_blocking(|| served.terminate()).await.unwrap();
    findings.extend(ended("cms serve", code == Some(0), began.elapsed(), &lab).await);
    let mut worker = Worker::start(&lab, 25, &[]);
    under_way(&lab).await;
    let began = Instant::now();
    worker.signal("-TERM");
    let mut end = None;
    while end.is_none() && began.elapsed() < Duration::from_secs(30) {
        tokio::time::sleep(Duration::from_millis(20)).await;
        end = worker.ended();
    }
    findings.extend(ended("cms process-webhooks", end == Some(true), began.elapsed(), &lab).await);
    let _served = lab.serve(&[], &[]);
    let delivered = lab.delivered_within(Duration::from_secs(60)).await;
    let (arrived, duplicates) = lab.record.jobs_and_duplicates();
    findings.push(Finding::new(
        "the next run delivers the rest",
        format!("{arrived} of 2000"),
        delivered.is_some() && arrived == 2000,
    ));
    findings.push(Finding::equal("duplicates", duplicates, 0));
    findings.push(lab.record.integrity());
    findings
}

async fn under_way(lab: &Lab) {
    lab.arrived(lab.record.count() + 200, 20).await;
}

async fn ended(name: &str, well: bool, took: Duration, lab: &Lab) -> Vec<Finding> {
    let left = lab.jobs("'sending'").await;
    vec![
        Finding::new(
            format!("{name} ends with 0 in ≤ 11 s"),
            format!("{} after {:.1} s", if well { "0" } else { "not 0" }, took.as_secs_f64()),
            well && took <= Duration::from_secs(11),
        ),
        Finding::equal(format!("{name}: rows left leased"), left, 0),
    ]
}
