//! Every event of the service, raised as it is in life, reaches a receiver with a payload that its
//! published schema promises.
//!
//! `CMS_TEST_EVENTS=FILE` writes schemas and bodies out for `.ci/events`, where an outside
//! validator compares them.

use std::collections::BTreeMap;

use cms_core::{
    Actor, Paging,
    events::{
        Deployment, DeploymentCompleted, DeploymentStatus, EmailmarketingSubscribed, EventData,
        Order, OrderCreated, OrderItem, RegisteredUser, Subscriber, UserRegistered,
    },
    webhooks::{JobFilter, Redeliver, verify_hex},
};
use serde_json::{Value as Json, json};

use super::valid;
use crate::{
    forms,
    support::{
        Delivery, Receiver, Site,
        database::TestDatabase,
        media::png,
        webhooks::{WEBHOOKS, is_signed, open, site},
        with,
    },
};

/// What the service itself observes, each by the calls of those who cause it.
async fn observed(site: &Site) {
    let page = json!({"id": 1, "language_short": "en", "url_rewrite": "/", "title": "Home"});
    site.insert("pages", page).await;
    let (_, col) = site.row(1).await;
    site.act("publish", json!({"page_id": 1})).await;
    site.title(col, "two").await;
    site.act("discard", json!({"page_id": 1})).await;
    site.act("take_off", json!({"page_id": 1})).await;
    site.upload("a.png", &png(8, 5, 1)).await;
    let texts = json!({"alt": {"en": "A bicycle"}, "focal_x": 0.25});
    site.patch("/api/backend/media?id=1", texts).await;
    site.delete("/api/backend/media?id=1").await;
    let ana = site.person("ana", json!([])).await;
    site.ask("POST /api/backend/auth/logout").bearer(&ana.token).expect(204).await;
    forms::open(site, "contact", json!({})).await;
    let answers = json!({"name": "Ada", "mail": "ada@example.org"});
    forms::submit(site, json!({"form": "contact", "answers": answers})).expect(201).await;
    // A row whose value is a secret, changed and removed.
    site.write("claim").await;
    site.update("settings&id=claim", json!({"value": 2})).await;
    site.remove("settings&id=claim").await;
}

/// Visits of a funnel, and the inbox.
async fn visited(site: &Site) {
    let funnel = site.leads(json!({"save_abandoned": 1})).await;
    site.ada(100).await.complete(None).expect(200).await;
    let other = site.visit(funnel.id).await;
    other.answers(json!({"name": "Bob"})).await;
    other.abandon().await;
    site.clock.advance(3_600_000);
    site.cms.funnels().process_abandoned().await.unwrap();
    let sorted = json!({"id": 1, "inbox_status": "qualified"});
    site.staff("submission_update", sorted).expect(200).await;
    site.staff("submission_delete", json!({"id": 1})).expect(200).await;
}

/// What only the program around the service knows of: with its own writes, and alone.
async fn told(site: &Site) {
    let webhooks = site.cms.webhooks();
    let item = OrderItem { quantity: Some(2.into()), ..OrderItem::new("bell") };
    let more = json!({"colour": "red", "api_key": "x"}).as_object().unwrap().clone();
    let order = Order { total: Some("249.90".into()), items: vec![item], more, ..Order::new(7) };
    let mut change = site.cms.change(Actor::Visitor).await.unwrap();
    let row = json!({"name": "orders", "value": 1});
    site.cms.items().create(&mut change, "settings", row.as_object().unwrap()).await.unwrap();
    change.raise(&OrderCreated { order: order.clone() }).await.unwrap();
    change.commit().await.unwrap();
    // One that does not commit raises nothing.
    let mut change = site.cms.change(Actor::Visitor).await.unwrap();
    change.raise(&OrderCreated { order }).await.unwrap();
    drop(change);

    let user = RegisteredUser { email: Some("ada@example.org".into()), ..RegisteredUser::new(12) };
    webhooks.raise(Actor::Visitor, &UserRegistered { user }).await.unwrap();
    let subscriber = Subscriber { confirmed: Some(true), ..Subscriber::new("ada@example.org") };
    webhooks.raise(Actor::Visitor, &EmailmarketingSubscribed { subscriber }).await.unwrap();
    let deployment = Deployment::new("production", DeploymentStatus::Failed);
    webhooks.raise(Actor::System, &DeploymentCompleted { deployment }).await.unwrap();
}

fn assert_genuine(secret: &str, delivery: &Delivery) {
    let header = |name: &str| delivery.headers[name].as_str();
    let now_s = header("webhook-timestamp").parse().unwrap();
    assert_eq!(is_signed(secret, delivery, now_s), Ok(()));
    assert!(verify_hex(secret, header("x-webhook-signature"), &delivery.body));
    assert_eq!(delivery.json()["event"], header("x-webhook-event"));
}

fn assert_fits(schema: &Json, body: &Json) {
    assert_eq!(valid::faults(schema, body), Vec::<String>::new(), "{body}");
}

fn assert_breaks(schema: &Json, body: &Json) {
    assert_ne!(valid::faults(schema, body), Vec::<String>::new(), "{body}");
}

/// The schema that the catalogue publishes.
async fn schema(site: &Site, event: &str) -> Json {
    site.get(&format!("{WEBHOOKS}/events?name={event}")).await["schema"].take()
}

#[tokio::test]
async fn each_event_of_the_service_reaches_its_receiver_as_its_schema_promises() {
    let (site, receiver) = (site().await, Receiver::start(200).await);
    let secret = site.webhook(&receiver.url, &["*"]).await["secret"].as_str().unwrap().to_owned();
    observed(&site).await;
    visited(&site).await;
    told(&site).await;
    while site.step().await.done > 0 {}

    let (mut arrived, mut cases) = (BTreeMap::<String, usize>::new(), Vec::new());
    for delivery in receiver.deliveries() {
        assert_genuine(&secret, &delivery);
        let body = delivery.json();
        let event = body["event"].as_str().unwrap().to_owned();
        let schema = schema(&site, &event).await;
        assert_fits(&schema, &body);
        cases.push(json!({"schema": schema, "body": body}));
        *arrived.entry(event).or_default() += 1;
    }
    let list = site.get("/api/backend/webhooks/events?limit=500").await;
    let own = |row: &&Json| row["plugin_id"] == "core" && row["event_type"] == "manual";
    let own: Vec<_> = list.as_array().unwrap().iter().filter(own).collect();
    assert_eq!(own.len(), 12);
    for row in own {
        let name = row["event_name"].as_str().unwrap();
        assert_eq!(arrived.get(name), Some(&1), "{name}: {arrived:?}");
    }
    for (event, count) in [
        ("formfunnel.started", 2),
        ("formfunnel.step_completed", 3),
        ("formfunnel.completed", 1),
        ("formfunnel.abandoned", 1),
        ("formfunnel.submission_updated", 1),
        ("formfunnel.submission_deleted", 1),
        ("item.settings.created", 2),
        ("item.settings.updated", 1),
        ("item.settings.deleted", 1),
        ("item.media.updated", 1),
    ] {
        assert_eq!(arrived.get(event), Some(&count), "{event}: {arrived:?}");
    }
    let order = cases.iter().find(|case| case["body"]["event"] == OrderCreated::NAME).unwrap();
    assert_eq!(order["body"]["data"]["order"]["colour"], "red");
    assert!(!order.to_string().contains("api_key"), "the payload filter applies");
    let line = "GET /api/backend/webhooks/deliveries?submission=2";
    let of_bob = site.admin(line).expect(200).await.data();
    let names: Vec<_> = of_bob.as_array().unwrap().iter().map(|one| &one["event"]).collect();
    assert_eq!(names.len(), 3);
    for name in ["started", "step_completed", "abandoned"] {
        assert!(names.iter().any(|one| **one == format!("formfunnel.{name}")), "{names:?}");
    }
    let none = site.admin(&format!("{line}&job=9999")).expect(200).await.data();
    assert_eq!(none, json!([]));
    // Whoever sends again or lists jobs by a visit gets those of that visit.
    let of = |submission| {
        let mut filter = JobFilter::default();
        filter.submission = Some(submission);
        filter
    };
    for (submission, expected) in [(2, 3), (9999, 0)] {
        let which = Redeliver::Filter { filter: of(submission), expected };
        let chosen = site.cms.webhooks().chosen(&which).await.unwrap();
        assert_eq!(chosen.len() as u64, expected);
        let jobs = site.cms.webhooks().jobs(&of(submission), &Paging::first(100)).await.unwrap();
        assert_eq!(jobs.data.len() as u64, expected);
    }
    let mut filter = JobFilter::default();
    filter.job = of_bob[0]["queue_id"].as_i64();
    let which = Redeliver::Filter { filter, expected: 1 };
    assert_eq!(site.cms.webhooks().chosen(&which).await.unwrap().len(), 1);
    let again = |body| site.admin("POST /api/backend/webhooks/redeliver").json(body);
    let of_bob = json!({"filter": {"submission": 2}, "expected": 3});
    assert_eq!(again(of_bob).expect(200).await.data()["queued"], 3);
    let of_nobody = json!({"filter": {"submission": 9999}, "expected": 3});
    again(of_nobody).refused(409, "count_moved").await;
    if let Some(target) = std::env::var_os("CMS_TEST_EVENTS") {
        std::fs::write(target, json!(cases).to_string()).unwrap();
    }
}

#[derive(serde::Serialize)]
struct Undeclared {}

impl EventData for Undeclared {
    const NAME: &'static str = "shop.undeclared";
}

/// A signature proves that the service saw it: no program around it can claim that.
#[tokio::test]
async fn programs_raise_nothing_in_the_name_of_the_service() {
    let site = site().await;
    let traces = site.traces().await;
    let mut change = site.cms.change(Actor::System).await.unwrap();
    for event in ["page.published", "auth.login", "form.submitted", "item.settings.created"] {
        let refused = change.emit(event, json!({"user": {"id": 1}})).await.unwrap_err();
        let fault = refused.placed_fields().next().unwrap().0;
        assert_eq!((fault.field.as_str(), fault.code), ("event", "reserved"), "{event}");
    }
    change.commit().await.unwrap();
    // No change of a key or a user begins unjudged.
    let order = OrderCreated { order: Order::new(7) };
    for actor in
        [Actor::Key { id: 1, name: "k".to_owned() }, Actor::User { id: 1, name: "ana".to_owned() }]
    {
        let refused = site.cms.webhooks().raise(actor, &order).await.unwrap_err();
        let fault = refused.placed_fields().next().unwrap().0;
        assert_eq!((fault.field.as_str(), fault.code), ("actor", "type"));
    }
    // An event that nobody has declared.
    let refused = site.cms.webhooks().raise(Actor::System, &Undeclared {}).await.unwrap_err();
    assert_eq!(refused.code().as_str(), "unknown_event");
    // A typed one that leaves its schema, by a member beside it.
    let more = json!({"id": null}).as_object().unwrap().clone();
    let order = OrderCreated { order: Order { more, ..Order::new(7) } };
    let refused = site.cms.webhooks().raise(Actor::System, &order).await.unwrap_err();
    assert_eq!(refused.code().as_str(), "validation_failed");
    assert_eq!(site.traces().await, traces);
}

/// A validator that accepts everything would prove nothing.
#[tokio::test]
async fn what_breaks_its_schema_is_found() {
    let site = site().await;
    for event in ["page.published", "media.uploaded", "order.created", "item.settings.updated"] {
        let described = site.get(&format!("{WEBHOOKS}/events?name={event}")).await;
        let (schema, data) = (&described["schema"], &described["example"]);
        let at = "2026-11-21T09:30:00Z";
        let body = json!({"id": "x", "event": event, "created_at": at, "data": data});
        assert_fits(schema, &body);
        let mut broken = vec![
            with(body.clone(), json!({"event": "other"})),
            with(body.clone(), json!({"created_at": "yesterday"})),
        ];
        for (name, value) in data.as_object().unwrap() {
            let mut other = body.clone();
            other["data"].as_object_mut().unwrap().remove(name);
            broken.push(other.clone());
            // Of items, ids may be of any type.
            if name != "id" {
                other["data"][name] = if value.is_i64() { json!("text") } else { json!(1.5) };
                broken.push(other);
            }
        }
        for body in broken {
            assert_breaks(schema, &body);
        }
    }
}

/// A table with a column of each kind, and one that others made: what its columns hold is not what
/// their types promise.
#[tokio::test]
async fn records_of_plugins_and_of_others_fit_the_schemas_of_their_tables() {
    let kinds =
        ["text", "integer", "decimal", "boolean", "date", "time", "datetime", "json", "password"];
    let columns = kinds.map(|kind| json!({"name": format!("a_{kind}"), "type": kind}));
    let tables = json!([{"name": "kinds", "columns": columns}, {"name": "theirs", "adopt": true}]);
    let database = TestDatabase::new().await;
    let made = "create table theirs (id integer primary key, title text, paid boolean, n integer)";
    database.run(made).await;
    let site =
        Site::on(database).settings(open).plugin(json!({"id": "p", "tables": tables})).open().await;
    let receiver = Receiver::start(200).await;
    site.webhook(&receiver.url, &["item.*"]).await;
    let full = json!({
        "a_text": "a", "a_integer": 1, "a_decimal": 1.5, "a_boolean": true,
        "a_date": "2026-11-21", "a_time": "09:30:00", "a_datetime": "2026-11-21T09:30:00Z",
        "a_json": {"a": [1]}, "a_password": "1234",
    });
    for (table, record) in [
        ("kinds", full),
        ("kinds", json!({"a_text": null})),
        ("theirs", json!({"id": 1, "title": "a", "paid": true, "n": 1})),
        ("theirs", json!({"id": 2})),
    ] {
        let line = format!("POST /api/backend/item?table={table}");
        site.admin(&line).json(record).expect(201).await;
    }
    for table in ["kinds", "theirs"] {
        let one = format!("/api/backend/item?table={table}&id=1");
        let column = if table == "kinds" { "a_text" } else { "title" };
        site.patch(&one, json!({column: "b"})).await;
        site.delete(&one).await;
    }
    while site.step().await.done > 0 {}
    let deliveries = receiver.deliveries();
    assert_eq!(deliveries.len(), 8);
    for delivery in deliveries {
        let mut body = delivery.json();
        let event = body["event"].as_str().unwrap().to_owned();
        let schema = schema(&site, &event).await;
        assert_fits(&schema, &body);
        // Retries have no columns that came later, and no column has another kind.
        body["data"]["record"] = json!({});
        assert_fits(&schema, &body);
        if event.starts_with("item.kinds") {
            for kind in ["text", "integer", "decimal", "boolean", "date", "time", "datetime"] {
                body["data"]["record"] = json!({format!("a_{kind}"): []});
                assert_breaks(&schema, &body);
            }
            body["data"]["record"] = json!({"a_datetime": "2026-11-21 09:30"});
            assert_breaks(&schema, &body);
        }
    }
}
