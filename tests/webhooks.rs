//! Webhooks from event to receiver: what is queued, what arrives, what stays in the log.

mod attempts;
mod consumers;
mod payloads;
mod valid;

use std::time::Duration;

use cms_core::{
    Result,
    events::{Order, OrderCreated, RecordedEvent},
    webhooks::{Feed, verify_hex},
};
use serde_json::json;

use crate::support::{
    Receiver, Site, TestDatabase, each, has,
    webhooks::{CREATED, WEBHOOKS, is_signed, site, subscribed},
};

#[tokio::test]
async fn a_delivery_is_what_the_documentation_says() {
    let (site, receiver) = (site().await, Receiver::start(200).await);
    let body = json!({
        "name": "shop", "url": receiver.url, "events": [CREATED],
        "custom_headers": {"X-Tenant": "7"},
    });
    let made = site.create(WEBHOOKS, body).await;
    let secret = made["secret"].as_str().unwrap();
    assert!(secret.starts_with("whsec_") && secret.len() == 50);
    has!(made, {"custom_headers": {"x-tenant": "***"}, "max_retries": 5, "active": true});
    site.write("claim").await;
    assert_eq!(site.step().await.done, 1);
    let delivery = receiver.deliveries().remove(0);
    let sent = delivery.json();
    has!(sent, {"event": "item.settings.created", "created_at": "2026-11-21T09:30:00Z"});
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
    assert_eq!(is_signed(secret, &delivery, site.clock.now() / 1000), Ok(()));

    let log = site.get("/api/backend/webhooks/deliveries").await;
    has!(log[0], {"status": "delivered", "response_code": 200, "attempt": 1});
    let shown = site.get(&format!("/api/backend/webhooks/deliveries?id={}", log[0]["id"])).await;
    has!(shown, {"payload": sent, "response": "ok", "removed": ["record.value"]});
    let everything = site.admin("GET /api/backend/webhooks").expect(200).await.text();
    assert!(!everything.contains(secret) && !everything.contains("\"7\""));
}

#[tokio::test]
async fn entries_match_names_families_and_everything() {
    let site = site().await;
    let updated = "item.settings.updated";
    let mut receivers = Vec::new();
    let table: [(&[&str], &[&str]); 4] = [
        (&[updated, "auth.login"], &["auth.login", updated]),
        (&["item.*", CREATED], &[CREATED, updated]),
        (&["*"], &["auth.login", CREATED, updated]),
        (&["form.submitted"], &[]),
    ];
    for (entries, expected) in table {
        let receiver = Receiver::start(200).await;
        site.webhook(&receiver.url, entries).await;
        receivers.push((receiver, entries, expected));
    }
    site.write("claim").await;
    site.update("settings&id=claim", json!({"value": 2})).await;
    site.person("ana", json!([])).await;
    site.step().await;
    site.step().await;
    for (receiver, entries, expected) in receivers {
        let deliveries = receiver.deliveries();
        let mut names: Vec<_> =
            deliveries.iter().map(|delivery| &*delivery.headers["x-webhook-event"]).collect();
        names.sort_unstable();
        assert_eq!(names, expected, "{entries:?}");
    }
}

#[tokio::test]
async fn nothing_is_queued_for_what_does_not_commit() {
    let site = site().await;
    let receiver = Receiver::start(200).await;
    site.webhook(&receiver.url, &["*"]).await;
    site.write("claim").await;
    site.step().await;
    // A constraint, a dropped change, a batch with one bad entry.
    let settings = || site.admin("POST /api/backend/item?table=settings");
    settings().json(json!({"name": "claim", "value": 1})).refused(409, "conflict").await;
    let mut change = site.cms.change(cms_core::Actor::System).await.unwrap();
    change.emit("order.created", json!({"order": {"id": 7}})).await.unwrap();
    drop(change);
    let batch = json!([{"name": "a", "value": 1}, {"name": "b", "nope": 1}]);
    settings().json(batch).expect(400).await;
    site.step().await;
    assert_eq!(receiver.count(), 1);
    assert_eq!(site.statuses().await, json!({"delivered": 1}));
}

#[tokio::test]
async fn what_was_delivered_leaves_the_queue_and_then_the_log() {
    let (site, _receiver, _) = subscribed(200).await;
    site.write("a").await;
    site.step().await;
    let day = 24 * 3_600_000;
    for (advance, statuses, logged) in
        [(day - 1, json!({"delivered": 1}), 1), (1, json!({}), 1), (29 * day, json!({}), 0)]
    {
        site.clock.advance(advance);
        site.cms.expire().await.unwrap();
        assert_eq!(site.statuses().await, statuses, "{advance}");
        assert_eq!(site.database.rows("cms_webhook_deliveries").await, logged, "{advance}");
    }
}

/// Claims and successes are written in groups: more lanes than one holds, and groups that are not
/// full.
#[tokio::test]
async fn many_lanes_at_once_are_each_settled_as_they_ended() {
    let (site, good, bad) = (site().await, Receiver::start(200).await, Receiver::start(500).await);
    for number in 0..40 {
        site.webhook(if number % 4 == 0 { &bad.url } else { &good.url }, &[CREATED]).await;
    }
    site.write("first").await;
    let settled = site.step().await;
    assert_eq!((settled.done, settled.retried, settled.failed, settled.lost), (30, 10, 0, 0));
    assert_eq!((good.count(), bad.count()), (30, 10));
    assert_eq!(site.statuses().await, json!({"delivered": 30, "retry": 10}));
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
    let make = (0..40).map(|_| site.webhook("http://127.0.0.1:1/hook", &[CREATED]));
    futures_util::future::join_all(make).await;
    assert_eq!(site.database.rows("cms_webhook_subscriptions").await, 40);
    let raise = || async {
        let mut change = site.cms.change(cms_core::Actor::System).await.unwrap();
        let order = OrderCreated { order: Order::new(7) };
        change.raise(&order).await.unwrap();
        change.commit().await.unwrap();
    };
    futures_util::future::join_all((0..40).map(|_| raise())).await;
    assert_eq!(site.database.rows("cms_events where name = 'order.created'").await, 40);
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
        site.insert("settings", row).await;
        let one = format!("/api/backend/item?table=settings&id={name}");
        let row = json!({"value": [value]});
        site.patch(&one, row).await;
        site.delete(&one).await;
    }
    while site.step().await.done > 0 {}
    let mut bodies: Vec<_> = receiver.deliveries().iter().map(|one| one.json()).collect();
    assert_eq!(bodies.len(), 9);
    for list in ["messages", "deliveries"] {
        let list = format!("{WEBHOOKS}/{list}");
        for id in each(&site.get(&format!("{list}?limit=50")).await, "id") {
            let id = id.to_string().replace('"', "");
            bodies.push(site.get(&format!("{list}?id={id}")).await);
        }
    }
    bodies.push(site.admin("GET /api/backend/audit").expect(200).await.json());
    assert_eq!(bodies.len(), 28);
    let text = json!(bodies).to_string();
    assert!(text.contains("ok") && !text.contains("hunter2"), "{text}");
    let removed = bodies.iter().filter(|body| body["removed"] == json!(["record.value"])).count();
    assert_eq!(removed, 12, "each says that something was removed");
}

const LANES: i64 = 12;

/// Events of large records: a worker holds as many bodies as have room, and the others wait in the
/// queue.
#[tokio::test]
async fn large_bodies_wait_in_the_queue_for_room() {
    let (site, receiver) = (site().await, Receiver::start(200).await);
    for _ in 0..LANES {
        site.webhook(&receiver.url, &[CREATED]).await;
    }
    // Four for each lane, 2 MiB each: 96 MiB, of which 64 have room.
    let body = match site.database.is_postgres() {
        true => "repeat('x', 2097152)",
        false => "hex(zeroblob(1048576))",
    };
    for insert in [
        format!(
            "insert into cms_events (id, name, body, created_at) \
             select 'e' || i, 'large', {body}, 0"
        ),
        format!(
            "insert into cms_webhook_queue (event_id, subscription_id, status, next_retry_at, \
             created_at) select 'e' || i, 1 + (i % {LANES}), 'pending', 0, 0"
        ),
    ] {
        site.database.fill(&insert, 48).await;
    }
    let mut worker = site.worker();
    assert_eq!(worker.claim().await.unwrap(), 32);
    let waiting = "select count(*) from cms_webhook_queue where status = 'pending'";
    assert_eq!(site.database.count(waiting).await, 16);
    while site.database.count(waiting).await > 0 {
        worker.step().await.unwrap();
    }
    assert_eq!(receiver.deliveries().len(), 48);
}

/// The next events: a commit is noticed by the machine's clock.
async fn next(feed: &mut Feed) -> Result<Vec<RecordedEvent>> {
    let next = async {
        loop {
            match feed.next().await {
                Ok(found) if found.is_empty() => tokio::task::yield_now().await,
                told => return told,
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(10), next).await.expect("an event in time")
}

/// SQLite gives the row of a removed last event to the next one.
#[tokio::test]
async fn an_event_in_the_row_of_a_removed_one_is_not_missed() {
    let site = Site::on(TestDatabase::sqlite().await).open().await;
    let webhooks = site.cms.webhooks();
    site.write("one").await;
    let mut feed = webhooks.feed(Some("item.*"), None).await.unwrap();
    assert!(feed.next().await.unwrap().is_empty());
    site.write("two").await;
    site.write("three").await;
    let mut seen = Vec::new();
    while seen.len() < 2 {
        seen.extend(next(&mut feed).await.unwrap());
    }
    assert!(feed.next().await.unwrap().is_empty(), "it stands at the end");
    let (kept, erased) = (seen[0].id.clone(), seen[1].id.clone());
    site.database.run(format!("delete from cms_events where id = '{erased}'")).await;
    site.write("four").await;
    // The feed may end; who begins again after the last event that is there misses none.
    let found = match next(&mut feed).await {
        Ok(found) => found,
        Err(_) => {
            let mut again = webhooks.feed(Some("item.*"), Some(&kept)).await.unwrap();
            again.next().await.unwrap()
        }
    };
    assert_eq!(found.len(), 1);
    assert!(found[0].data.contains("four"), "{}", found[0].data);
}
