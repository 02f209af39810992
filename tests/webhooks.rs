//! Webhooks from event to receiver: what is queued, what arrives, what stays in the log.

mod attempts;
mod bodies;
/// Events for code of the process.
mod consumers;
/// Recorded events followed one by one.
mod followed;
mod payloads;
mod valid;

use cms_core::{
    events::{Order, OrderCreated},
    webhooks::{SignedHeaders, verify, verify_hex},
};
use serde_json::json;

use crate::support::{Receiver, webhooks::site};

#[tokio::test]
async fn a_delivery_is_what_the_documentation_says() {
    let (site, receiver) = (site().await, Receiver::start(200).await);
    let body = json!({
        "name": "shop", "url": receiver.url, "events": ["item.settings.created"],
        "custom_headers": {"X-Tenant": "7"},
    });
    let made = site.admin("POST /api/backend/webhooks").json(body).expect(201).await.data();
    let secret = made["secret"].as_str().unwrap();
    assert!(secret.starts_with("whsec_") && secret.len() == 50);
    assert_eq!(
        (&made["custom_headers"], &made["max_retries"], &made["active"]),
        (&json!({"x-tenant": "***"}), &json!(5), &json!(true))
    );
    site.write("claim").await;
    assert_eq!(site.worker().step().await.unwrap().done, 1);
    let delivery = receiver.deliveries().remove(0);
    let sent = delivery.json();
    assert_eq!(
        (&sent["event"], &sent["created_at"]),
        (&json!("item.settings.created"), &json!("2026-11-21T09:30:00Z"))
    );
    assert_eq!(sent["data"]["record"], json!({"name": "claim", "public": false}));
    let header = |name: &str| delivery.headers[name].as_str();
    assert_eq!(header("content-type"), "application/json");
    assert_eq!(header("user-agent"), format!("{}-CMS/3.0 Webhook", site.cms.settings().product));
    assert_eq!((header("x-webhook-event"), header("x-tenant")), ("item.settings.created", "7"));
    assert_eq!(
        (header("webhook-id"), header("x-delivery-id")),
        (sent["id"].as_str().unwrap(), "1")
    );
    assert!(verify_hex(secret, header("x-webhook-signature"), &delivery.body));
    let received = SignedHeaders {
        id: header("webhook-id"),
        timestamp: header("webhook-timestamp"),
        signature: header("webhook-signature"),
    };
    assert_eq!(verify(secret, &received, &delivery.body, site.clock.now() / 1000), Ok(()));

    let log = site.admin("GET /api/backend/webhooks/deliveries").expect(200).await.data();
    assert_eq!(
        (&log[0]["status"], &log[0]["response_code"], &log[0]["attempt"]),
        (&json!("delivered"), &json!(200), &json!(1))
    );
    let shown = site
        .admin(&format!("GET /api/backend/webhooks/deliveries?id={}", log[0]["id"]))
        .expect(200)
        .await
        .data();
    assert_eq!(
        (&shown["payload"], &shown["response"], &shown["removed"]),
        (&sent, &json!("ok"), &json!(["record.value"]))
    );
    let everything = site.admin("GET /api/backend/webhooks").expect(200).await.text();
    assert!(!everything.contains(secret) && !everything.contains("\"7\""));
}

#[tokio::test]
async fn entries_match_names_families_and_everything() {
    let site = site().await;
    let (exact, items, all, other) = (
        Receiver::start(200).await,
        Receiver::start(200).await,
        Receiver::start(200).await,
        Receiver::start(200).await,
    );
    site.webhook(&exact.url, &["item.settings.updated", "auth.login"]).await;
    site.webhook(&items.url, &["item.*", "item.settings.created"]).await;
    site.webhook(&all.url, &["*"]).await;
    site.webhook(&other.url, &["form.submitted"]).await;
    site.write("claim").await;
    site.admin("PATCH /api/backend/item?table=settings&id=claim")
        .json(json!({"value": 2}))
        .expect(200)
        .await;
    site.person("ana", json!([])).await;
    site.worker().step().await.unwrap();
    site.worker().step().await.unwrap();
    let names = |receiver: &Receiver| {
        let mut names: Vec<_> =
            receiver.deliveries().iter().map(|d| d.headers["x-webhook-event"].clone()).collect();
        names.sort();
        names
    };
    assert_eq!(names(&exact), ["auth.login", "item.settings.updated"]);
    assert_eq!(names(&items), ["item.settings.created", "item.settings.updated"]);
    assert_eq!(names(&all), ["auth.login", "item.settings.created", "item.settings.updated"]);
    assert_eq!(names(&other), Vec::<String>::new());
}

#[tokio::test]
async fn nothing_is_queued_for_what_does_not_commit() {
    let site = site().await;
    let receiver = Receiver::start(200).await;
    site.webhook(&receiver.url, &["*"]).await;
    site.write("claim").await;
    site.worker().step().await.unwrap();
    // A constraint, a dropped change, a batch with one bad entry.
    site.admin("POST /api/backend/item?table=settings")
        .json(json!({"name": "claim", "value": 1}))
        .refused(409, "conflict")
        .await;
    let mut change = site.cms.change(cms_core::Actor::System).await.unwrap();
    change.emit("order.created", json!({"order": {"id": 7}})).await.unwrap();
    drop(change);
    let batch = json!([{"name": "a", "value": 1}, {"name": "b", "nope": 1}]);
    site.admin("POST /api/backend/item?table=settings").json(batch).expect(400).await;
    site.worker().step().await.unwrap();
    assert_eq!(receiver.count(), 1);
    assert_eq!(site.statuses().await, [("delivered".to_owned(), 1)]);
}

#[tokio::test]
async fn what_was_delivered_leaves_the_queue_and_then_the_log() {
    let (site, receiver) = (site().await, Receiver::start(200).await);
    site.webhook(&receiver.url, &["item.settings.created"]).await;
    site.write("a").await;
    site.worker().step().await.unwrap();
    site.clock.advance(24 * 3_600_000 - 1);
    site.cms.expire().await.unwrap();
    assert_eq!(site.statuses().await, [("delivered".to_owned(), 1)]);
    site.clock.advance(1);
    site.cms.expire().await.unwrap();
    assert_eq!(site.statuses().await, []);
    assert_eq!(site.database.count("select count(*) from cms_webhook_deliveries").await, 1);
    site.clock.advance(29 * 24 * 3_600_000);
    site.cms.expire().await.unwrap();
    assert_eq!(site.database.count("select count(*) from cms_webhook_deliveries").await, 0);
}

/// Claims and successes are written in groups: more lanes than one holds, and groups that are not
/// full.
#[tokio::test]
async fn many_lanes_at_once_are_each_settled_as_they_ended() {
    let (site, good, bad) = (site().await, Receiver::start(200).await, Receiver::start(500).await);
    for number in 0..40 {
        site.webhook(
            if number % 4 == 0 { &bad.url } else { &good.url },
            &["item.settings.created"],
        )
        .await;
    }
    site.write("first").await;
    let settled = site.worker().step().await.unwrap();
    assert_eq!((settled.done, settled.retried, settled.failed, settled.lost), (30, 10, 0, 0));
    assert_eq!((good.count(), bad.count()), (30, 10));
    assert_eq!(site.statuses().await, [("delivered".to_owned(), 30), ("retry".to_owned(), 10)]);
    let logged = |what: &str| {
        format!("select count(distinct subscription_id) from cms_webhook_deliveries where {what}")
    };
    let delivered = "outcome = 'delivered' and status_code = 200 and response = 'ok' \
                     and attempt = 1 and event_name = 'item.settings.created'";
    assert_eq!(site.database.count(&logged(delivered)).await, 30);
    assert_eq!(site.database.count(&logged("outcome = 'status' and status_code = 500")).await, 10);
}

/// More at once than there are connections to PostgreSQL: no change may need a second one.
#[tokio::test]
async fn many_are_made_and_raised_at_once() {
    let site = site().await;
    let url = "http://127.0.0.1:1/hook";
    futures_util::future::join_all((0..40).map(|_| site.webhook(url, &["item.settings.created"])))
        .await;
    assert_eq!(site.database.count("select count(*) from cms_webhook_subscriptions").await, 40);
    let raise = || async {
        let mut change = site.cms.change(cms_core::Actor::System).await.unwrap();
        let order = OrderCreated { order: Order::new(7) };
        change.raise(&order).await.unwrap();
        change.commit().await.unwrap();
    };
    futures_util::future::join_all((0..40).map(|_| raise())).await;
    assert_eq!(
        site.database.count("select count(*) from cms_events where name = 'order.created'").await,
        40
    );
}

/// A row of `settings` that is not public tells its value to nobody who follows events, whatever
/// its name, nor does a public one whose name looks like a secret's.
#[tokio::test]
async fn the_value_of_a_secret_setting_reaches_no_receiver_and_no_log() {
    let (site, receiver) = (site().await, Receiver::start(200).await);
    site.webhook(&receiver.url, &["*"]).await;
    let shown = json!({"claim": "ok", "smtp": "hunter2", "api_token": "hunter2"});
    for (name, value) in shown.as_object().unwrap() {
        let row = json!({"name": name, "value": {"a": value}, "public": name != "smtp"});
        site.admin("POST /api/backend/item?table=settings").json(row).expect(201).await;
        let one = format!("/api/backend/item?table=settings&id={name}");
        let row = json!({"value": [value]});
        site.admin(&format!("PATCH {one}")).json(row).expect(200).await;
        site.admin(&format!("DELETE {one}")).expect(204).await;
    }
    while site.worker().step().await.unwrap().done > 0 {}
    let mut bodies: Vec<_> = receiver.deliveries().iter().map(|one| one.json()).collect();
    assert_eq!(bodies.len(), 9);
    for line in ["messages?limit=50", "deliveries?limit=50"] {
        let line = format!("/api/backend/webhooks/{line}");
        for row in site.admin(&format!("GET {line}")).expect(200).await.data().as_array().unwrap() {
            let id = row["id"].to_string().replace('"', "");
            let one = line.replace("limit=50", &format!("id={id}"));
            bodies.push(site.admin(&format!("GET {one}")).expect(200).await.data());
        }
    }
    bodies.push(site.admin("GET /api/backend/audit").expect(200).await.json());
    assert_eq!(bodies.len(), 28);
    let text = json!(bodies).to_string();
    assert!(text.contains("ok") && !text.contains("hunter2"), "{text}");
    let removed = bodies.iter().filter(|body| body["removed"] == json!(["record.value"])).count();
    assert_eq!(removed, 12, "each says that something was removed");
}
