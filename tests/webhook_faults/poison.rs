//! 12: what cannot be sent fails with a reason and stops nothing else; a job whose event is gone
//! ends.

use std::collections::BTreeMap;

use serde_json::json;

use super::{by_status, raise, site, subscribe};
use crate::support::Receiver;

/// 12: a secret that cannot be opened fails its own lane, with a reason; nothing is sent unsigned.
#[tokio::test]
async fn a_secret_that_cannot_be_opened_stops_only_its_lane() {
    let (site, poisoned, healthy) =
        (site().await, Receiver::start(200).await, Receiver::start(200).await);
    let id = subscribe(&site, &poisoned.url).await;
    subscribe(&site, &healthy.url).await;
    site.database
        .run(format!("update cms_webhook_subscriptions set secret = 'v1.broken' where id = {id}"))
        .await;
    raise(&site, 3).await;
    site.cms.webhooks().worker().step().await.unwrap();
    assert_eq!((poisoned.connections(), healthy.count()), (0, 3));
    let log = site
        .admin(&format!("GET /api/backend/webhooks/deliveries?subscription={id}"))
        .expect(200)
        .await
        .data();
    assert_eq!(log[0]["status"], "secret");
}

/// 12: faults of the service count against no receiver, however many there are: its subscription
/// stays on, and delivers when the secret opens again.
#[tokio::test]
async fn faults_of_the_service_switch_no_subscription_off() {
    let (site, receiver) = (site().await, Receiver::start(200).await);
    let id = subscribe(&site, &receiver.url).await;
    let set = |column: &str, to: &str| {
        site.database
            .run(format!("update cms_webhook_subscriptions set {column} = {to} where id = {id}"))
    };
    set("custom_headers", "secret").await;
    set("secret", "'v1.broken'").await;
    raise(&site, 15).await;
    let mut worker = site.cms.webhooks().worker();
    let mut tried = 0;
    for _ in 0..30 {
        tried += worker.step().await.unwrap().retried;
        site.clock.advance(2_000);
    }
    assert!(tried > 10, "{tried}");
    let counted = "select failure_count from cms_webhook_subscriptions where active";
    assert_eq!(site.database.count(counted).await, 0);
    set("secret", "custom_headers").await;
    set("custom_headers", "'{}'").await;
    site.clock.advance(600_000);
    // A worker that has not seen the broken secret.
    let mut worker = site.cms.webhooks().worker();
    for _ in 0..20 {
        worker.step().await.unwrap();
        site.clock.advance(2_000);
    }
    assert_eq!(receiver.count(), 15);
}

/// 12: an address that no longer parses fails its lane; names that no header can carry are never
/// queued; others and large bodies arrive.
#[tokio::test]
async fn poison_fails_with_a_reason_and_stops_only_its_lane() {
    let (site, receiver) = (site().await, Receiver::start(200).await);
    let poisoned = subscribe(&site, &receiver.url).await;
    let body = json!({"name": "all", "url": receiver.url, "events": ["*"]});
    site.admin("POST /api/backend/webhooks").json(body).expect(201).await;
    site.database
        .run(format!(
            "update cms_webhook_subscriptions set url = 'http://[::' where id = {poisoned}"
        ))
        .await;
    let mut change = site.cms.change(cms_core::Actor::System).await.unwrap();
    for name in ["order.created\r\nx-evil: 1", "form\0", ""] {
        assert_eq!(
            change.emit(name, json!({})).await.unwrap_err().code().as_str(),
            "validation_failed"
        );
    }
    let order = |text: usize| json!({"order": {"id": 7, "text": "x".repeat(text)}});
    let refused = change.emit("order.created", order(1 << 20)).await.unwrap_err();
    assert_eq!(refused.code().as_str(), "payload_too_large");
    change.emit("order.created", order(1_000_000)).await.unwrap();
    change.emit("shop.größe_geändert", json!({})).await.unwrap();
    change.commit().await.unwrap();
    let mut worker = site.cms.webhooks().worker();
    for _ in 0..5 {
        worker.step().await.unwrap();
    }
    let mut arrived: Vec<_> = receiver
        .deliveries()
        .iter()
        .map(|d| (d.headers["x-webhook-event"].clone(), d.body.len() / 1_000_000))
        .collect();
    arrived.sort();
    assert_eq!(
        arrived,
        [("order.created".to_owned(), 1), ("shop.gr%C3%B6%C3%9Fe_ge%C3%A4ndert".to_owned(), 0)]
    );
    assert_eq!(
        by_status(&site).await,
        BTreeMap::from([("delivered".to_owned(), 2), ("retry".to_owned(), 1)])
    );
    let log = site
        .admin(&format!("GET /api/backend/webhooks/deliveries?subscription={poisoned}"))
        .expect(200)
        .await
        .data();
    assert_eq!(
        (log.as_array().unwrap().len(), &log[0]["status"]),
        (1, &json!("refused_address")),
        "one attempt, no loop"
    );
}

/// A job whose event is gone fails like any other attempt; its lane goes on.
#[tokio::test]
async fn a_job_without_its_event_ends() {
    let (site, receiver) = (site().await, Receiver::start(200).await);
    subscribe(&site, &receiver.url).await;
    raise(&site, 1).await;
    site.database.run("delete from cms_events".to_owned()).await;
    raise(&site, 1).await;
    let mut worker = site.cms.webhooks().worker();
    let settled = worker.step().await.unwrap();
    assert_eq!((settled.done, settled.retried, receiver.count()), (1, 1, 1));
    assert_eq!(
        site.database
            .count("select count(*) from cms_webhook_deliveries where outcome = 'event'")
            .await,
        1
    );
}
