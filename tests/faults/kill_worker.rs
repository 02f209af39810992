//! 1: workers are killed again and again while they deliver.

use std::{sync::Arc, time::Duration};

use crate::{
    lab::{EVENT, LEASE, Lab, Run, now},
    process::Worker,
    report::Finding,
    support::Answer,
};

/// Attempts under way in a worker: few, so that the deliveries last for all the kills.
const UNDER_WAY: [(&str, &str); 1] = [("CMS_WEBHOOKS__CONCURRENCY", "8")];

pub async fn run(run: Arc<Run>) -> Vec<Finding> {
    // More lanes than the dead leases of all kills can fill.
    let (kills, lanes, dice) = (kills(&run), run.scaled(250, 120), run.dice());
    let lab = Lab::new(&run, |_, _| Answer::After(Duration::from_millis(20), 200)).await;
    lab.subscribe(lanes, &[EVENT]).await;
    lab.emit(EVENT, 8).await;
    let (mut under_way, mut hits, mut tries) = (0, 0, 0);
    // Some die before they have claimed anything: those do not count.
    while hits < kills && tries < 4 * kills {
        tries += 1;
        if lab.jobs("'pending', 'retry'").await < lanes {
            lab.emit(EVENT, 1).await;
        }
        let began = now();
        // In turn the resident worker, and one as cron starts it.
        if tries % 2 == 0 {
            let mut served = lab.serve(&[], &UNDER_WAY);
            tokio::time::sleep(dice.millis(5, 150)).await;
            served.kill();
        } else {
            let mut worker = Worker::start(&lab, 25, &UNDER_WAY);
            tokio::time::sleep(dice.millis(20, 300)).await;
            worker.kill();
        }
        // The leases that this worker has taken and left.
        let after = began + i64::try_from(LEASE.as_millis()).unwrap();
        let left = format!("cms_webhook_queue where status = 'sending' and lease_until >= {after}");
        let left = lab.database.rows(&left).await;
        under_way += usize::try_from(left).unwrap();
        hits += usize::from(left > 0);
    }
    let served = lab.serve(&[], &[]);
    let limit = LEASE + Duration::from_secs(10);
    let took = lab.delivered_within(limit).await;
    drop(served);
    let jobs =
        lab.jobs("'delivered', 'pending', 'retry', 'sending', 'held', 'failed', 'cancelled'").await;
    let delivered = lab.jobs("'delivered'").await;
    let (arrived, duplicates) = lab.record.jobs_and_duplicates();
    vec![
        Finding::new(
            format!("{kills} kills with attempts under way"),
            format!("{hits}, among {tries} kills"),
            hits == kills,
        ),
        Finding::new(
            "0 lost",
            format!("{arrived} of {jobs} arrived, {delivered} noted"),
            arrived == jobs && delivered == jobs,
        ),
        Finding::at_most("duplicates, attempts under way at the kills", duplicates, under_way),
        Finding::new(
            "all delivered ≤ lease + 10 s after the last start",
            took.map_or("no".to_owned(), |took| format!("{:.1} s", took.as_secs_f64())),
            took.is_some(),
        ),
        lab.record.integrity(),
    ]
}

fn kills(run: &Run) -> usize {
    let wanted = std::env::var("FAULTS_KILLS").ok().and_then(|kills| kills.parse().ok());
    wanted.unwrap_or(run.scaled(200, 20))
}
