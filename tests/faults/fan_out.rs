//! 11: one event that ten thousand listen to; then the same while the server and its worker are
//! killed.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use crate::{
    lab::{ITEM, LEASE, Lab, Run, post},
    report::Finding,
    support::Answer,
};

/// What the caller may wait, and what all deliveries may take.
const CALLER: Duration = Duration::from_millis(100);
const ALL: Duration = Duration::from_secs(60);
/// Events before anything is killed.
const EVENTS: usize = 5;

pub async fn run(run: Arc<Run>) -> Vec<Finding> {
    let lab = Lab::new(&run, |_, _| Answer::Status(200)).await;
    let subscriptions = run.scaled(10_000, 2000);
    lab.subscribe(subscriptions, &[ITEM]).await;
    let mut served = lab.serve(&[], &[]);
    let client = served.client(&lab.key);
    // The first call pays for the connection: it is refused and raises nothing.
    let _ = client
        .send(cms_http::client::Ask::get("/api/backend/item").query("table", "settings"))
        .await;
    let (mut waits, mut took) = (Vec::new(), None);
    for n in 0..EVENTS {
        let began = Instant::now();
        post(&client, &format!("one{n}")).await.unwrap();
        waits.push(began.elapsed());
        took = delivered(&lab, began).await;
    }
    waits.sort_unstable();
    let caller = waits[EVENTS / 2];
    let shown: Vec<_> =
        waits.iter().map(|wait| format!("{:.0}", wait.as_secs_f64() * 1000.0)).collect();
    let mut findings = vec![
        Finding::new(
            format!(
                "the caller waits ≤ {} ms while {subscriptions} jobs are queued (median of \
                 {EVENTS})",
                CALLER.as_millis()
            ),
            format!("{} ms", shown.join(", ")),
            caller <= CALLER,
        ),
        Finding::new(
            format!("all are delivered in ≤ {} s", ALL.as_secs()),
            took.map_or("no".to_owned(), |took| format!("{:.1} s", took.as_secs_f64())),
            took.is_some_and(|took| took <= ALL),
        ),
    ];
    // Killed while the change is written: all of it is there, or nothing.
    let writing = tokio::spawn(async move { post(&client, "two").await });
    tokio::time::sleep(caller / 2).await;
    served.kill();
    let acknowledged = writing.await.unwrap().is_ok();
    let queued =
        lab.jobs("'pending', 'retry', 'sending', 'delivered'").await - EVENTS * subscriptions;
    findings.push(Finding::new(
        "killed during the write: all jobs or none",
        format!("{queued} queued, {}", if acknowledged { "acknowledged" } else { "cut off" }),
        queued == subscriptions || (queued == 0 && !acknowledged),
    ));
    // Killed while it delivers.
    let mut served = lab.serve(&[], &[]);
    post(&served.client(&lab.key), "three").await.unwrap();
    lab.arrived(lab.record.count() + subscriptions / 3, ALL.as_secs()).await;
    served.kill();
    let _served = lab.serve(&[], &[]);
    let took = lab.delivered_within(ALL + LEASE).await;
    let jobs = (EVENTS + 1) * subscriptions + queued;
    let (arrived, duplicates) = lab.record.jobs_and_duplicates();
    let twice = lab
        .count(
            "select count(*) from (select q.event_id from cms_webhook_queue q \
             group by q.event_id, q.subscription_id having count(*) > 1) t",
        )
        .await;
    findings.extend([
        Finding::new(
            "killed during the deliveries: all arrive",
            format!("{arrived} of {jobs}"),
            took.is_some() && arrived == jobs,
        ),
        Finding::equal("rows that are there twice", twice, 0),
        Finding::at_most("duplicates, attempts under way at the kill", duplicates, 256),
        lab.record.integrity(),
    ]);
    findings
}

/// Since `began`, until the last one is there.
async fn delivered(lab: &Lab, began: Instant) -> Option<Duration> {
    lab.delivered_within(2 * ALL).await.map(|_| began.elapsed())
}
