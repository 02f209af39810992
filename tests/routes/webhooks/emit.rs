//! `/api/backend/webhooks/emit`: events are raised by hand.

use serde_json::json;

use super::{EMIT, shop, webhook};
use crate::support::{Receiver, Site, faults, has, webhooks::WEBHOOKS};

#[tokio::test]
async fn an_event_is_raised_by_hand() {
    let (site, receiver) = (shop().await, Receiver::start(200).await);
    webhook(&site, &receiver.url, &["shop.order_paid"], true).await;
    webhook(&site, &receiver.url, &["*"], false).await;
    let body = json!({"event": "shop.order_paid", "data": {"order": {"id": 7, "token": "x"}}});
    let ask = || site.admin(EMIT).header("idempotency-key", "a").json(body.clone()).expect(201);
    let made = ask().await;
    assert_eq!(made.data()["queued"], 2);
    // The same request again raises nothing.
    assert_eq!(ask().await.body, made.body);
    assert_eq!(site.database.rows("cms_events where name = 'shop.order_paid'").await, 1);
    let id = made.data()["id"].as_str().unwrap().to_owned();
    let audited = format!(
        "select count(*) from cms_audit where action = 'emit' and table_name = 'events' \
         and row_id = '{id}'"
    );
    assert_eq!(site.database.count(&audited).await, 1);

    site.step().await;
    let delivery = receiver.deliveries().remove(0);
    assert_eq!((receiver.count(), &delivery.headers["webhook-id"]), (1, &id));
    has!(delivery.json(), {"event": "shop.order_paid", "data": {"order": {"id": 7}}});
    let message = site.get(&format!("{WEBHOOKS}/messages?id={id}")).await;
    has!(message, {
        "payload": delivery.json(), "removed": ["order.token"], "event": "shop.order_paid",
        "jobs": 2,
    });
}

/// What receivers get is what its schema promises.
#[tokio::test]
async fn data_that_does_not_fit_its_schema_is_refused_with_all_that_is_wrong() {
    let site = shop().await;
    let order =
        json!({"id": "", "total": "much", "currency": "EURO", "items": [{"quantity": "2"}]});
    let traces = site.traces().await;
    let body = json!({"event": "order.created", "data": {"order": order}});
    let mut faults = faults(&site.invalid(EMIT, body).await);
    faults.sort_unstable();
    assert_eq!(
        faults,
        [
            "data.order.currency format",
            "data.order.id range",
            "data.order.items[0].id required",
            "data.order.items[0].quantity type",
            "data.order.total format",
        ]
    );
    assert_eq!(site.traces().await, traces);
}

/// Receivers trust a signature: nobody may claim what the service itself observes.
#[tokio::test]
async fn what_the_service_observes_cannot_be_claimed() {
    let site = shop().await;
    let entries = site.get("/api/backend/webhooks/events?limit=500").await;
    let mut raised = Vec::new();
    for entry in entries.as_array().unwrap() {
        let name = entry["event_name"].as_str().unwrap();
        let described = site.get(&format!("{WEBHOOKS}/events?name={name}")).await;
        let traces = site.traces().await;
        let data = &described["example"];
        let data = if data.is_null() { &json!({}) } else { data };
        let reply = site.admin(EMIT).json(json!({"event": name, "data": data})).send().await;
        assert_eq!(described["emit"], reply.status == 201, "{name}");
        if reply.status == 201 {
            raised.push(name);
        } else {
            assert_eq!(reply.status, 422, "{name}");
            has!(reply.json(), {"/errors/0/code": "reserved"}, "{name}");
            assert_eq!(site.traces().await, traces);
        }
    }
    raised.sort_unstable();
    assert_eq!(
        raised,
        [
            "deployment.completed", "emailmarketing.subscribed", "order.created",
            "shop.order_paid", "user.registered"
        ]
    );
    for (body, status, code) in [
        (json!({"event": "webhook.ping"}), 422, "unknown_event"),
        (json!({"event": "*"}), 422, "unknown_event"),
        (json!({"event": "a\u{7}b"}), 422, "unknown_event"),
        (json!({"event": "order.created", "data": "x"}), 422, "validation_failed"),
        (json!({"event": "order.created", "data": {}}), 422, "validation_failed"),
        (json!({"event": "order.created", "data": {"order": 7}}), 422, "validation_failed"),
        (json!({"data": {}}), 422, "validation_failed"),
        (json!("order.created"), 400, "bad_json"),
    ] {
        site.admin(EMIT).json(body).refused(status, code).await;
    }
    // A plugin cannot declare an event of the core.
    let manifest = json!({"id": "sly", "webhook_events": [{"name": "auth.login"}]});
    let refused = Site::builder().await.plugin(manifest).try_open().await.err().unwrap();
    assert!(refused.detail().contains("the service's own"), "{refused}");
}
