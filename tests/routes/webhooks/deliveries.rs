//! `/api/backend/webhooks/deliveries` and `redeliver`.

use cms_core::webhooks::JobFilter;
use serde_json::{Value as Json, json};

use crate::support::{Receiver, Site, webhooks::site};

/// A payload may hold records of any table: it is for those who could subscribe to all of them.
#[tokio::test]
async fn who_may_only_look_sees_no_payload() {
    let (site, receiver) = (site().await, Receiver::start(200).await);
    site.webhook(&receiver.url, &["item.settings.created"]).await;
    site.write("a").await;
    site.worker().step().await.unwrap();
    let looking = site
        .key(&["GET /api/backend/webhooks/deliveries", "GET /api/backend/webhooks/messages"])
        .await;
    let event =
        site.admin("GET /api/backend/webhooks/messages").expect(200).await.data()[0]["id"].clone();
    let event = event.as_str().unwrap();
    for line in [
        "GET /api/backend/webhooks/deliveries?id=1".to_owned(),
        format!("GET /api/backend/webhooks/messages?id={event}"),
    ] {
        assert!(site.admin(&line).expect(200).await.data()["payload"].is_object(), "{line}");
        let seen = site.ask(&line).key(&looking).expect(200).await.data();
        assert_eq!((&seen["payload"], &seen["response"]), (&Json::Null, &Json::Null), "{line}");
    }
}

#[tokio::test]
async fn the_attempts_of_one_job_are_listed() {
    let (site, receiver) = (site().await, Receiver::start(500).await);
    site.webhook(&receiver.url, &["item.settings.created"]).await;
    for name in ["a", "b"] {
        site.write(name).await;
    }
    for _ in 0..3 {
        site.worker().step().await.unwrap();
        site.clock.advance(3_600_000);
    }
    let log = async |query: &str| {
        let line = format!("GET /api/backend/webhooks/deliveries{query}");
        let log = site.admin(&line).expect(200).await.data();
        let row =
            |row: &Json| (row["queue_id"].as_i64().unwrap(), row["attempt"].as_i64().unwrap());
        log.as_array().unwrap().iter().map(row).collect::<Vec<_>>()
    };
    let all = log("").await;
    let job = all[0].0;
    let its: Vec<_> = all.iter().copied().filter(|(of, _)| *of == job).collect();
    assert!(its.len() > 1 && its.len() < all.len(), "{all:?}");
    assert_eq!(log(&format!("?job={job}")).await, its);
    assert_eq!(log(&format!("?job={job}&status=delivered")).await, []);
    assert_eq!(log("?job=4711").await, []);
}

#[tokio::test]
async fn deliveries_are_sent_again_with_the_same_event() {
    let (site, receiver) = (site().await, Receiver::start(200).await);
    let made = site.webhook(&receiver.url, &["item.settings.created"]).await;
    for name in ["a", "b", "c"] {
        site.write(name).await;
    }
    site.worker().step().await.unwrap();
    let again = |body: Json| site.admin("POST /api/backend/webhooks/redeliver").json(body);
    let log = site.admin("GET /api/backend/webhooks/deliveries").expect(200).await.data();
    assert_eq!(again(json!({"ids": [log[0]["id"]]})).expect(200).await.data()["queued"], 1);
    let filter = json!({"subscription": made["id"], "status": "delivered"});
    again(json!({"filter": filter, "expected": 7})).refused(409, "count_moved").await;
    assert_eq!(
        again(json!({"filter": filter, "expected": 3})).expect(200).await.data()["queued"],
        3
    );
    again(json!({"ids": [4711]})).refused(404, "not_found").await;
    again(json!({})).refused(422, "validation_failed").await;
    site.worker().step().await.unwrap();
    site.worker().step().await.unwrap();
    let deliveries = receiver.deliveries();
    assert_eq!(deliveries.len(), 7);
    let ids: std::collections::BTreeSet<_> =
        deliveries.iter().map(|delivery| delivery.headers["webhook-id"].clone()).collect();
    assert_eq!(ids.len(), 3);
}

/// Whoever runs a receiver knows a delivery by its `webhook-id`.
#[tokio::test]
async fn all_attempts_of_an_event_are_found_by_the_id_that_receivers_see() {
    let (site, receiver) = (site().await, Receiver::start(500).await);
    for _ in 0..2 {
        site.webhook(&receiver.url, &["item.settings.created"]).await;
    }
    site.write("a").await;
    site.worker().step().await.unwrap();
    let event = receiver.deliveries()[0].headers["webhook-id"].clone();
    site.write("b").await;
    for _ in 0..3 {
        site.clock.advance(3_600_000);
        site.worker().step().await.unwrap();
    }
    let found = async |line: &str| {
        let reply = site.admin(&format!("GET /api/backend/webhooks/{line}")).expect(200).await;
        reply.data().as_array().unwrap().clone()
    };
    let all = found("deliveries").await;
    let its: Vec<Json> =
        all.iter().filter(|attempt| attempt["event_id"] == event.as_str()).cloned().collect();
    assert!(its.len() >= 4 && its.len() < all.len(), "{} of {}", its.len(), all.len());
    assert_eq!(found(&format!("deliveries?event_id={event}")).await, its);
    let (newest, job) = (&its[0], &its[0]["queue_id"]);
    let of_job: Vec<_> = its.iter().filter(|attempt| attempt["queue_id"] == *job).collect();
    let both = found(&format!("deliveries?event_id={event}&job={job}")).await;
    assert_eq!(both.iter().collect::<Vec<_>>(), of_job);
    let at = newest["created_at"].as_str().unwrap();
    let before: Vec<_> = its.iter().filter(|attempt| attempt["created_at"] != at).collect();
    let until = found(&format!("deliveries?event_id={event}&until={at}")).await;
    assert_eq!(until.iter().collect::<Vec<_>>(), before, "the end is excluded");
    assert_eq!(found(&format!("deliveries?until={at}&since={at}")).await, [] as [Json; 0]);
    let jobs = found(&format!("queue?event_id={event}")).await;
    assert_eq!(jobs.len(), 2);
    assert!(jobs.iter().all(|job| job["event_id"] == event.as_str()), "{jobs:?}");
    for list in ["deliveries", "queue"] {
        assert_eq!(found(&format!("{list}?event_id=none")).await, [] as [Json; 0]);
        let cursor = site
            .admin(&format!("GET /api/backend/webhooks/{list}?event_id={event}&limit=1"))
            .expect(200)
            .await
            .json()["meta"]["next"]
            .clone();
        let cursor = cursor.as_str().unwrap();
        for line in [format!("{list}?cursor={cursor}"), format!("{list}?event_id=%07")] {
            site.admin(&format!("GET /api/backend/webhooks/{line}"))
                .refused(400, "bad_query")
                .await;
        }
    }
    // One for each job, however often it was tried.
    let again = |body: Json| site.admin("POST /api/backend/webhooks/redeliver").json(body);
    let filter = json!({"event_id": event, "until": "2999-01-01T00:00:00Z"});
    again(json!({"filter": filter, "expected": 4})).refused(409, "count_moved").await;
    let queued = again(json!({"filter": filter, "expected": 2})).expect(200).await.data();
    assert_eq!(queued["queued"], 2);
    for filter in [json!({"event_id": event, "until": at}), json!({"event_id": "none"})] {
        assert_eq!(
            again(json!({"filter": filter, "expected": 0})).expect(200).await.data()["queued"],
            0,
            "the last attempt of a job decides: {filter}"
        );
    }
    let filter = json!({"until": "yesterday"});
    let refused = again(json!({"filter": filter, "expected": 0})).refused(422, "validation_failed");
    assert_eq!(refused.await.json()["errors"][0]["field"], "filter.until");
}

/// The log may hold a month of a busy site.
#[tokio::test]
async fn the_attempts_of_an_event_are_read_by_index() {
    let site = Site::open().await;
    let numbers = "from (with recursive n (i) as (select 1 union all select i + 1 from n \
                   where i < 20000) select i from n) numbers";
    for rows in [
        "insert into cms_events (id, name, body, created_at, subject) select 'e' || i, 'a', '{}', \
         i, 'funnel submission ' || (i / 4) ",
        "insert into cms_webhook_queue (event_id, subscription_id, status, next_retry_at, \
         created_at) select 'e' || i, i % 3, 'delivered', i, i ",
        "insert into cms_webhook_deliveries (queue_id, event_id, event_name, subscription_id, \
         attempt, outcome, duration_ms, created_at) select i / 2, 'e' || (i / 2), 'a', i % 3, 1, \
         'delivered', 1, i ",
    ] {
        site.database.run(format!("{rows}{numbers}")).await;
    }
    if site.database.is_postgres() {
        for table in ["events", "webhook_queue", "webhook_deliveries"] {
            site.database.run(format!("analyze cms_{table}")).await;
        }
    }
    let of = |fill: &dyn Fn(&mut JobFilter)| {
        let mut filter = JobFilter::default();
        fill(&mut filter);
        filter
    };
    let event_id = || Some("e77".to_owned());
    for (filter, jobs) in [
        (of(&|one| one.event_id = event_id()), true),
        (of(&|one| (one.event_id, one.until) = (event_id(), Some(9000))), true),
        (of(&|one| one.submission = Some(77)), true),
        (of(&|one| one.job = Some(77)), false),
    ] {
        let [listed, chosen, queued] = site.cms.webhooks().plans(&filter).await.unwrap();
        let by = if jobs { "_by_event" } else { "_by_job" };
        let deliveries = format!("cms_webhook_deliveries{by}");
        let mut plans = vec![(listed, deliveries.clone())];
        if jobs {
            plans.push((chosen, deliveries));
            plans.push((queued, "cms_webhook_queue_by_event".to_owned()));
        }
        for (plan, index) in plans {
            let plan = plan.join("\n");
            assert!(plan.contains(&index), "{filter:?}: {plan}");
            for worse in ["Seq Scan", "SCAN d", "SCAN q", "SCAN e"] {
                assert!(!plan.contains(worse), "{filter:?}, {worse}: {plan}");
            }
        }
    }
}
