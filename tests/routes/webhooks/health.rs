//! `/api/backend/webhooks`: what a record tells of its deliveries.

use serde_json::{Value as Json, json};

use crate::support::{Receiver, Site, webhooks::site};

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
    site.worker().step().await.unwrap();
    let failed = json!([now, "status", 500, 2]);
    let delivered = json!([now, "delivered", 204, 0]);
    // One alone and in a list alike.
    assert_eq!(health(&site.subscription(&first["id"]).await), failed);
    assert_eq!(health(&site.subscription(&second["id"]).await), delivered);
    let list = site.admin("GET /api/backend/webhooks").expect(200).await.data();
    assert_eq!((health(&list[0]), health(&list[1])), (failed.clone(), delivered.clone()));
    let tail = site.admin("GET /api/backend/webhooks?limit=1").expect(200).await.json();
    let cursor = tail["meta"]["next"].as_str().unwrap();
    let line = format!("GET /api/backend/webhooks?limit=1&cursor={cursor}");
    assert_eq!(health(&site.admin(&line).expect(200).await.data()[0]), delivered);
    // Held jobs wait too; a reply tells what its own change has done.
    let id = &first["id"];
    let pause = site.admin(&format!("PATCH /api/backend/webhooks?id={id}"));
    let paused = pause.json(json!({"active": false})).expect(200).await.data();
    assert_eq!(health(&paused), failed);
    let activate = site.admin(&format!("POST /api/backend/webhooks/activate?id={id}"));
    let active = activate.json(json!({"held": "drop"})).expect(200).await.data();
    assert_eq!((health(&active), &active["held"]), (json!([now, "status", 500, 0]), &json!(2)));
    let rotate = site.admin(&format!("POST /api/backend/webhooks/rotate-secret?id={id}"));
    let rotated = rotate.json(json!({})).expect(200).await.data();
    assert_eq!(health(&rotated), json!([now, "status", 500, 0]));
    // The log is kept for its time, and nothing is kept beside it.
    site.database.run("delete from cms_webhook_deliveries".to_owned()).await;
    assert_eq!(health(&site.subscription(id).await), fresh);
}

/// However many webhooks a page has and however long log and queue are: two statements, by index.
#[tokio::test]
async fn a_list_reads_its_health_at_once_and_by_index() {
    let site = Site::open().await;
    let sent = async || {
        let mut rows = 0;
        let list = async || {
            let list = site.admin("GET /api/backend/webhooks").expect(200).await.data();
            rows = list.as_array().unwrap().len();
        };
        let statements = site.statements(list).await;
        (rows, statements)
    };
    site.webhook("https://hooks.example.org/x", &["order.created"]).await;
    let (one, alone) = sent().await;
    for _ in 0..9 {
        site.webhook("https://hooks.example.org/x", &["order.created"]).await;
    }
    let (ten, together) = sent().await;
    assert_eq!((one, ten, together), (1, 10, alone));
    let numbers = "from (with recursive n (i) as (select 1 union all select i + 1 from n \
                   where i < 20000) select i from n) numbers";
    for rows in [
        "insert into cms_webhook_queue (event_id, subscription_id, status, next_retry_at, \
         created_at) select 'e' || i, i % 10 + 1, case i % 9 when 0 then 'pending' when 1 then \
         'held' else 'delivered' end, i, i ",
        "insert into cms_webhook_deliveries (queue_id, event_id, event_name, subscription_id, \
         attempt, outcome, duration_ms, created_at) select i, 'e' || i, 'a', i % 10 + 1, 1, \
         'delivered', 1, i ",
    ] {
        site.database.run(format!("{rows}{numbers}")).await;
    }
    if site.database.is_postgres() {
        for table in ["webhook_queue", "webhook_deliveries"] {
            site.database.run(format!("analyze cms_{table}")).await;
        }
    }
    let plan = site.cms.webhooks().health_plan().await.unwrap().join("\n");
    for index in [
        "cms_webhook_deliveries_by_subscription",
        "cms_webhook_queue_due",
        "cms_webhook_queue_held",
    ] {
        assert!(plan.contains(index), "{index}: {plan}");
    }
    for worse in [
        "Seq Scan on cms_webhook_queue",
        "Seq Scan on cms_webhook_deliveries",
        "cms_webhook_deliveries_pkey on cms_webhook_deliveries l",
        "SCAN q",
        "SCAN l",
    ] {
        assert!(!plan.contains(worse), "{worse}: {plan}");
    }
    let list = site.admin("GET /api/backend/webhooks").expect(200).await.data();
    let count = |record: &Json| record["waiting_jobs"].as_i64().unwrap();
    assert!(list.as_array().unwrap().iter().all(|record| count(record) > 400), "{list}");
    // A long queue is not counted to its end.
    let rows = "insert into cms_webhook_queue (event_id, subscription_id, status, next_retry_at, \
                created_at) select 'e' || i, 1, 'pending', i, i ";
    site.database.run(format!("{rows}{numbers}")).await;
    let first = site.subscription(&json!(1)).await;
    assert!((1000..=2000).contains(&count(&first)), "{first}");
}
