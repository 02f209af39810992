//! `/api/backend/webhooks`: what a record tells of its deliveries.

use serde_json::{Value as Json, json};

use super::{assert_by_index, attempts, fill, jobs};
use crate::support::{
    Receiver, Site,
    webhooks::{WEBHOOKS, site},
};

/// What a record tells: time, status and code of the last attempt, and the jobs that wait.
fn health(record: &Json) -> Json {
    let [at, status, code, waiting] =
        ["last_attempt_at", "last_status", "last_response_code", "waiting_jobs"]
            .map(|name| record[name].clone());
    json!([at, status, code, waiting])
}

#[tokio::test]
async fn a_record_tells_of_the_last_attempt_and_of_what_waits() {
    let site = site().await;
    let (bad, good) = (Receiver::start(500).await, Receiver::start(204).await);
    let first = site.webhook(&bad.url, &["item.settings.created"]).await;
    let second = site.webhook(&good.url, &["item.settings.created"]).await;
    let fresh = json!([null, null, null, 0]);
    assert_eq!((health(&first), health(&second)), (fresh.clone(), fresh.clone()));
    for name in ["a", "b"] {
        site.write(name).await;
    }
    let waiting = json!([null, null, null, 2]);
    assert_eq!(health(&site.subscription(&first["id"]).await), waiting);
    site.clock.advance(1000);
    let now = cms_core::rfc3339(site.clock.now());
    site.step().await;
    let failed = json!([now, "status", 500, 2]);
    let delivered = json!([now, "delivered", 204, 0]);
    // One alone and in a list alike.
    assert_eq!(health(&site.subscription(&first["id"]).await), failed);
    assert_eq!(health(&site.subscription(&second["id"]).await), delivered);
    let list = site.get(WEBHOOKS).await;
    assert_eq!((health(&list[0]), health(&list[1])), (failed.clone(), delivered.clone()));
    let tail = site.admin(&format!("GET {WEBHOOKS}?limit=1")).expect(200).await.json();
    let cursor = tail["meta"]["next"].as_str().unwrap();
    let last = site.get(&format!("{WEBHOOKS}?limit=1&cursor={cursor}")).await;
    assert_eq!(health(&last[0]), delivered);
    // Held jobs wait too; a reply tells what its own change has done.
    let id = &first["id"];
    let paused = site.patch(&format!("{WEBHOOKS}?id={id}"), json!({"active": false})).await;
    assert_eq!(health(&paused), failed);
    let drop = json!({"held": "drop"});
    let active = site.post(&format!("{WEBHOOKS}/activate?id={id}"), drop).await;
    let idle = json!([now, "status", 500, 0]);
    assert_eq!((health(&active), &active["held"]), (idle.clone(), &json!(2)));
    let rotated = site.post(&format!("{WEBHOOKS}/rotate-secret?id={id}"), json!({})).await;
    assert_eq!(health(&rotated), idle);
    // The log is kept for its time, and nothing is kept beside it.
    site.database.run("delete from cms_webhook_deliveries").await;
    assert_eq!(health(&site.subscription(id).await), fresh);
}

/// However many webhooks a page has and however long log and queue are: two statements, by index.
#[tokio::test]
async fn a_list_reads_its_health_at_once_and_by_index() {
    let site = Site::open().await;
    let list = async || site.get(WEBHOOKS).await;
    let sent = async || {
        let mut rows = 0;
        let asked = async || rows = list().await.as_array().unwrap().len();
        let statements = site.statements(asked).await;
        (rows, statements)
    };
    let make = async || site.webhook("https://hooks.example.org/x", &["order.created"]).await;
    make().await;
    let (one, alone) = sent().await;
    for _ in 0..9 {
        make().await;
    }
    let (ten, together) = sent().await;
    assert_eq!((one, ten, together), (1, 10, alone));
    let status = "case i % 9 when 0 then 'pending' when 1 then 'held' else 'delivered' end";
    fill(&site, &[&jobs("i % 10 + 1", status), &attempts("i", "i", "i % 10 + 1")]).await;
    assert_by_index(
        "health",
        &site.cms.webhooks().health_plan().await.unwrap(),
        &[
            "cms_webhook_deliveries_by_subscription",
            "cms_webhook_queue_due",
            "cms_webhook_queue_held",
        ],
        &[
            "Seq Scan on cms_webhook_queue",
            "Seq Scan on cms_webhook_deliveries",
            "cms_webhook_deliveries_pkey on cms_webhook_deliveries l",
            "SCAN q",
            "SCAN l",
        ],
    );
    let list = list().await;
    let count = |record: &Json| record["waiting_jobs"].as_i64().unwrap();
    assert!(list.as_array().unwrap().iter().all(|record| count(record) > 400), "{list}");
    // A long queue is not counted to its end.
    fill(&site, &[&jobs("1", "'pending'")]).await;
    let first = site.subscription(&json!(1)).await;
    assert!((1000..=2000).contains(&count(&first)), "{first}");
}
