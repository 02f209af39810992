//! `/api/backend/webhooks/deliveries` and `redeliver`.

use serde_json::{Value as Json, json};

use crate::support::{receiver::Receiver, webhooks::site};

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
