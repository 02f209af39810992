//! 2: the server is killed while many write: a record, its event and its job are there together or
//! not at all.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
};

use serde_json::Value as Json;

use crate::{
    lab::{ITEM, Lab, Run, post},
    report::Finding,
    support::Answer,
};

const WRITERS: usize = 8;

pub async fn run(run: Arc<Run>) -> Vec<Finding> {
    let (kills, dice) = (run.scaled(50, 10), run.dice());
    let lab = Lab::new(&run, |_, _| Answer::Status(200)).await;
    lab.subscribe(1, &[ITEM]).await;
    let (mut sent, acknowledged) = (0, Arc::new(Mutex::new(BTreeSet::new())));
    for kill in 0..kills {
        let mut served = lab.serve(&["--no-worker"], &[]);
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let (client, acknowledged) = (served.client(&lab.key), acknowledged.clone());
                tokio::spawn(async move {
                    for n in 0.. {
                        let name = format!("k{kill}-{writer}-{n}");
                        match post(&client, &name).await {
                            Ok(()) => acknowledged.lock().unwrap().insert(name),
                            Err(_) => return n + 1,
                        };
                    }
                    0
                })
            })
            .collect();
        tokio::time::sleep(dice.millis(5, 300)).await;
        served.kill();
        for writer in writers {
            sent += writer.await.unwrap();
        }
    }
    let acknowledged = acknowledged.lock().unwrap().clone();
    let records: BTreeSet<_> =
        lab.texts("select name from cms_settings where name like 'k%'").await.into_iter().collect();
    let events = lab.count(&format!("select count(*) from cms_events where name = '{ITEM}'")).await;
    let jobs = lab.count("select count(*) from cms_webhook_queue").await;
    let told = lab
        .texts("select e.body from cms_webhook_queue q join cms_events e on e.id = q.event_id")
        .await;
    let told: BTreeSet<_> = told.iter().map(|body| name(body)).collect();
    let missing = acknowledged.difference(&records).count();
    let count = i64::try_from(records.len()).unwrap();
    vec![
        Finding::new(
            format!("{kills} kills while {WRITERS} write: some writes acknowledged, some cut off"),
            format!("{sent} sent, {} acknowledged, {count} stored", acknowledged.len()),
            !acknowledged.is_empty() && sent > acknowledged.len(),
        ),
        Finding::equal("acknowledged writes that are missing", missing, 0),
        Finding::new(
            "each record has one event and one job; none is without its record",
            format!(
                "{count} records, {events} events, {jobs} jobs, {} of other records",
                told.symmetric_difference(&records).count()
            ),
            events == count && jobs == count && told == records,
        ),
    ]
}

/// Of the record that an event tells of.
fn name(body: &str) -> String {
    let body: Json = serde_json::from_str(body).unwrap();
    body["data"]["record"]["name"].as_str().unwrap().to_owned()
}
