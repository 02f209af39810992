//! 12: what cannot be sent fails with a reason and stops nothing else; a job whose event is gone
//! ends.

use serde_json::{Value as Json, json};

use super::{raise, site, subscribe};
use crate::support::{Receiver, Site, each, webhooks::WEBHOOKS};

/// The log of a subscription.
async fn log(site: &Site, id: i64) -> Json {
    site.get(&format!("{WEBHOOKS}/deliveries?subscription={id}")).await
}

/// Sets a column of a subscription to an expression, past the service.
async fn set(site: &Site, id: i64, column: &str, to: &str) {
    let update = "update cms_webhook_subscriptions set";
    site.database.run(format!("{update} {column} = {to} where id = {id}")).await;
}

/// 12: a secret that cannot be opened fails its own lane, with a reason; nothing is sent unsigned.
#[tokio::test]
async fn a_secret_that_cannot_be_opened_stops_only_its_lane() {
    let (site, poisoned, healthy) =
        (site().await, Receiver::start(200).await, Receiver::start(200).await);
    let id = subscribe(&site, &poisoned.url).await;
    subscribe(&site, &healthy.url).await;
    set(&site, id, "secret", "'v1.broken'").await;
    raise(&site, 3).await;
    site.step().await;
    assert_eq!((poisoned.connections(), healthy.count()), (0, 3));
    assert_eq!(log(&site, id).await[0]["status"], "secret");
}

/// 12: faults of the service count against no receiver, however many there are: its subscription
/// stays on, and delivers when the secret opens again.
#[tokio::test]
async fn faults_of_the_service_switch_no_subscription_off() {
    let (site, receiver) = (site().await, Receiver::start(200).await);
    let id = subscribe(&site, &receiver.url).await;
    set(&site, id, "custom_headers", "secret").await;
    set(&site, id, "secret", "'v1.broken'").await;
    raise(&site, 15).await;
    let mut worker = site.worker();
    let mut tried = 0;
    for _ in 0..30 {
        tried += worker.step().await.unwrap().retried;
        site.clock.advance(2_000);
    }
    assert!(tried > 10, "{tried}");
    let counted = "select failure_count from cms_webhook_subscriptions where active";
    assert_eq!(site.database.count(counted).await, 0);
    set(&site, id, "secret", "custom_headers").await;
    set(&site, id, "custom_headers", "'{}'").await;
    site.clock.advance(600_000);
    // A worker that has not seen the broken secret.
    let mut worker = site.worker();
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
    site.webhook(&receiver.url, &["*"]).await;
    set(&site, poisoned, "url", "'http://[::'").await;
    let mut change = site.cms.change(cms_core::Actor::System).await.unwrap();
    for name in ["order.created\r\nx-evil: 1", "form\0", ""] {
        let refused = change.emit(name, json!({})).await.unwrap_err();
        assert_eq!(refused.code().as_str(), "validation_failed", "{name:?}");
    }
    let order = |text: usize| json!({"order": {"id": 7, "text": "x".repeat(text)}});
    let refused = change.emit("order.created", order(1 << 20)).await.unwrap_err();
    assert_eq!(refused.code().as_str(), "payload_too_large");
    change.emit("order.created", order(1_000_000)).await.unwrap();
    change.emit("shop.größe_geändert", json!({})).await.unwrap();
    change.commit().await.unwrap();
    let mut worker = site.worker();
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
    assert_eq!(site.statuses().await, json!({"delivered": 2, "retry": 1}));
    let log = each(&log(&site, poisoned).await, "status");
    assert_eq!(log, ["refused_address"], "one attempt, no loop");
}

/// A job whose event is gone fails like any other attempt; its lane goes on.
#[tokio::test]
async fn a_job_without_its_event_ends() {
    let (site, receiver) = (site().await, Receiver::start(200).await);
    subscribe(&site, &receiver.url).await;
    raise(&site, 1).await;
    site.database.run("delete from cms_events").await;
    raise(&site, 1).await;
    let settled = site.step().await;
    assert_eq!((settled.done, settled.retried, receiver.count()), (1, 1, 1));
    assert_eq!(site.database.rows("cms_webhook_deliveries where outcome = 'event'").await, 1);
}
