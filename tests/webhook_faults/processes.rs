//! Real processes: stopped under load, and several at once.

use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use super::arrivals;
use crate::support::{
    Answer, Receiver, TestDatabase,
    process::{self, Served},
};

const OPEN: [(&str, &str); 2] =
    [("CMS_WEBHOOKS__ALLOW_HTTP", "true"), ("CMS_WEBHOOKS__ALLOW_CIDRS", "127.0.0.1/32")];

/// A served site with a webhook for items, its key, and the variables that let it deliver here.
async fn served(
    database: &TestDatabase,
    receiver: &Receiver,
    variables: &[(&str, &str)],
) -> (Served, String) {
    process::run(database, &["init"]);
    let made: Json = serde_json::from_str(&process::run(
        database,
        &["--json", "keys", "create", "--name", "test", "--right", "*"],
    ))
    .unwrap();
    let key = made["data"]["key"].as_str().unwrap().to_owned();
    let variables: Vec<_> = OPEN.iter().chain(variables).copied().collect();
    let served = Served::start_with(database, "warn", &variables);
    let body = json!({"name": "test", "url": receiver.url, "events": ["item.settings.created"]});
    served
        .client(&key)
        .send(cms_http::client::Ask::post("/api/backend/webhooks").json(&body))
        .await
        .unwrap();
    (served, key)
}

async fn write(served: &Served, key: &str, from: usize, count: usize) {
    let client = served.client(key);
    for n in from..from + count {
        let body = json!({"name": format!("s{n}"), "value": n});
        client
            .send(
                cms_http::client::Ask::post("/api/backend/item")
                    .query("table", "settings")
                    .json(&body),
            )
            .await
            .unwrap();
    }
}

/// 21: SIGTERM under load ends in time, with nothing left half-way.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_under_load_leaves_nothing_half_way() {
    let slow = Receiver::scripted(|_, _| Answer::After(Duration::from_millis(20), 200));
    let (database, receiver) = (TestDatabase::new().await, slow.await);
    let (running, key) = served(&database, &receiver, &[]).await;
    write(&running, &key, 0, 100).await;
    let (code, log) = running.terminate();
    assert_eq!(code, Some(0), "{log}");
    assert_eq!(
        database.count("select count(*) from cms_webhook_queue where status = 'sending'").await,
        0
    );
    let waiting = database
        .count("select count(*) from cms_webhook_queue where status in ('pending', 'retry')")
        .await;
    assert_eq!(receiver.count() as i64 + waiting, 100);
}

/// Cron is enough to keep the database small: a site without `cms serve` removes old rows too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cron_run_removes_what_retention_no_longer_keeps() {
    let (database, receiver) = (TestDatabase::new().await, Receiver::start(200).await);
    let (running, key) = served(&database, &receiver, &[]).await;
    write(&running, &key, 0, 2).await;
    running.terminate();
    let run = || process::run(&database, &["process-webhooks", "--time-limit=25"]);
    let events = async || database.count("select count(*) from cms_events").await;
    run();
    assert_eq!(events().await, 2, "young events stay");
    // Jobs keep their event; a job may still wait here, because the server was stopped.
    let old = "delete from cms_webhook_queue; update cms_events set created_at = 0";
    database.run(old.to_owned()).await;
    run();
    assert_eq!(events().await, 0);
}

/// 4, with processes: the resident worker and two cron runs at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cron_runs_beside_the_resident_worker_double_nothing() {
    let (database, receiver) = (TestDatabase::new().await, Receiver::start(200).await);
    let (running, key) = served(&database, &receiver, &[]).await;
    let cron = |database: &TestDatabase| {
        let mut command = process::command(database, &["process-webhooks", "--time-limit=25"]);
        command
            .envs(OPEN)
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap()
    };
    let mut runs = Vec::new();
    for round in 0..4 {
        write(&running, &key, round * 50, 50).await;
        runs.push(cron(&database));
    }
    for run in &mut runs {
        assert!(run.wait().unwrap().success());
    }
    let began = Instant::now();
    while receiver.count() < 200 {
        assert!(began.elapsed() < Duration::from_secs(30), "{} of 200", receiver.count());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    running.terminate();
    assert_eq!((receiver.count(), arrivals(&[&receiver]).len()), (200, 200));
}
