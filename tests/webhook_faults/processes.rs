//! Real processes: stopped under load, and several at once.

use std::{process::Stdio, time::Duration};

use cms_http::client::Ask;
use serde_json::json;

use super::{SENDING, arrivals};
use crate::support::{
    Answer, Receiver, TestDatabase,
    process::{self, Served},
    until,
};

const OPEN: [(&str, &str); 2] =
    [("CMS_WEBHOOKS__ALLOW_HTTP", "true"), ("CMS_WEBHOOKS__ALLOW_CIDRS", "127.0.0.1/32")];

/// A served site with a webhook for items, its key, and the variables that let it deliver here.
async fn served(
    database: &TestDatabase,
    receiver: &Receiver,
    variables: &[(&str, &str)],
) -> (Served, String) {
    let key = process::init(database);
    let variables: Vec<_> = OPEN.iter().chain(variables).copied().collect();
    let served = Served::start_with(database, "warn", &variables);
    let body = json!({"name": "test", "url": receiver.url, "events": ["item.settings.created"]});
    let ask = Ask::post("/api/backend/webhooks").json(&body);
    served.client(&key).send(ask).await.unwrap();
    (served, key)
}

async fn write(served: &Served, key: &str, from: usize, count: usize) {
    let client = served.client(key);
    for n in from..from + count {
        let body = json!({"name": format!("s{n}"), "value": n});
        let ask = Ask::post("/api/backend/item").query("table", "settings").json(&body);
        client.send(ask).await.unwrap();
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
    assert_eq!(database.count(SENDING).await, 0);
    let waiting = "select count(*) from cms_webhook_queue where status in ('pending', 'retry')";
    let waiting = database.count(waiting).await;
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
    let events = async || database.rows("cms_events").await;
    run();
    assert_eq!(events().await, 2, "young events stay");
    // Jobs keep their event; a job may still wait here, because the server was stopped.
    let old = "delete from cms_webhook_queue; update cms_events set created_at = 0";
    database.run(old).await;
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
        command.envs(OPEN).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    let mut runs = Vec::new();
    for round in 0..4 {
        write(&running, &key, round * 50, 50).await;
        runs.push(cron(&database));
    }
    for run in &mut runs {
        assert!(run.wait().unwrap().success());
    }
    until("all arrive", async || receiver.count() >= 200).await;
    running.terminate();
    assert_eq!((receiver.count(), arrivals(&[&receiver]).len()), (200, 200));
}
