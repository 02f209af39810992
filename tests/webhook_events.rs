//! Events by hand: what would be sent of them, what they look like, raising and following them.

use cms_core::settings::Settings;
use serde_json::{Value as Json, json};

use crate::support::{Site, receiver::Receiver};

const EXPLAIN: &str = "POST /api/backend/webhooks/explain";
const EMIT: &str = "POST /api/backend/webhooks/emit";

/// Loopback and http are open, as they must be for a test.
fn open(settings: &mut Settings) {
    settings.webhooks.allow_http = true;
    settings.webhooks.allow_cidrs = vec!["127.0.0.1/32".parse().unwrap()];
}

async fn site() -> Site {
    let manifest = json!({"id": "shop", "webhook_events": [{"name": "shop.order_paid", "description": "An order was paid."}]});
    Site::builder().await.settings(open).plugin(manifest).open().await
}

async fn webhook(site: &Site, url: &str, events: &[&str], active: bool) -> Json {
    let body = json!({
        "name": "test", "url": url, "events": events, "active": active, "custom_headers": {"authorization": "Bearer sesame"},
    });
    site.admin("POST /api/backend/webhooks").json(body).expect(201).await.data()
}

#[tokio::test]
async fn what_is_explained_is_what_is_sent() {
    let (site, receiver) = (site().await, Receiver::start(200).await);
    let sent = webhook(&site, &receiver.url, &["form.submitted", "item.*"], true).await;
    webhook(&site, &receiver.url, &["item.settings.created"], false).await;
    webhook(&site, &receiver.url, &["item.settings.updated", "auth.login"], true).await;
    let traces = site.traces().await;
    let data = json!({"table": "settings", "id": "a", "language": null, "record": {"name": "a", "value": {"api_key": 1, "ok": 2}, "public": false}});
    let reply = site
        .admin(EXPLAIN)
        .json(json!({"event": "item.settings.created", "data": data}))
        .expect(200)
        .await;
    assert_eq!(site.traces().await, traces);
    let secret = sent["secret"].as_str().unwrap();
    assert!(!reply.text().contains(secret) && !reply.text().contains("sesame"), "{}", reply.text());
    let explained = reply.data();
    assert_eq!(explained["removed"], json!(["record.value.api_key"]));
    let column = |name: &str| {
        explained["subscriptions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one[name].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(column("outcome"), ["sent", "held", "not_matched"]);
    assert_eq!(
        column("reason"),
        [
            "item.* matches",
            "item.settings.created matches; not active (paused): held until it is activated",
            "no entry matches: item.settings.updated, auth.login"
        ]
    );

    let written = json!({"name": "a", "value": {"api_key": 1, "ok": 2}});
    site.admin("POST /api/backend/item?table=settings").json(written).expect(201).await;
    site.cms.webhooks().worker().step().await.unwrap();
    let delivery = receiver.deliveries().remove(0);
    let body = String::from_utf8(delivery.body.clone()).unwrap();
    let expected = explained["body"].as_str().unwrap();
    let id =
        |body: &str| serde_json::from_str::<Json>(body).unwrap()["id"].as_str().unwrap().to_owned();
    assert_eq!(expected.replace(&id(expected), &id(&body)), body, "to the byte, but for the id");
    for (name, value) in explained["headers"].as_object().unwrap() {
        let (value, sent) = (value.as_str().unwrap(), &delivery.headers[name]);
        assert!(
            value.starts_with('<') || name == "webhook-id" || value == sent,
            "{name}: {value}, {sent}"
        );
    }
    assert_eq!(explained["subscriptions"][0]["custom_headers"], json!({"authorization": "***"}));
}

#[tokio::test]
async fn explanations_are_paged_and_wrong_questions_refused() {
    let site = site().await;
    for _ in 0..3 {
        webhook(&site, "https://hooks.example.org/x", &["*"], true).await;
    }
    let ask = json!({"event": "order.created"});
    let first =
        site.admin(&format!("{EXPLAIN}?limit=2")).json(ask.clone()).expect(200).await.json();
    let next = first["meta"]["next"].as_str().unwrap();
    let second = site
        .admin(&format!("{EXPLAIN}?limit=2&cursor={next}"))
        .json(ask.clone())
        .expect(200)
        .await
        .json();
    let counts =
        [&first, &second].map(|page| page["data"]["subscriptions"].as_array().unwrap().len());
    assert_eq!((counts, &second["meta"]["next"]), ([2, 1], &Json::Null));
    for (path, body, status, code) in [
        (EXPLAIN, json!({"event": "order.creatd"}), 422, "unknown_event"),
        (EXPLAIN, json!({"event": "item.*"}), 422, "unknown_event"),
        (EXPLAIN, json!({"event": "item.cms_users.created"}), 422, "unknown_event"),
        (EXPLAIN, json!({"event": "a\u{0}b"}), 422, "unknown_event"),
        (EXPLAIN, json!({}), 422, "validation_failed"),
        (EXPLAIN, json!({"event": 7}), 422, "validation_failed"),
        (EXPLAIN, json!({"event": "order.created", "data": [1]}), 422, "validation_failed"),
        (EXPLAIN, json!({"event": "order.created", "date": {}}), 422, "validation_failed"),
        (EXPLAIN, json!([]), 400, "bad_json"),
        ("POST /api/backend/webhooks/explain?cursor=x", ask.clone(), 400, "bad_query"),
        ("POST /api/backend/webhooks/explain?limit=0", ask.clone(), 400, "bad_query"),
        ("POST /api/backend/webhooks/explain?id=1", ask.clone(), 400, "bad_query"),
        ("GET /api/backend/webhooks/explain", ask, 405, "method_not_allowed"),
    ] {
        site.admin(path).json(body).refused(status, code).await;
    }
}

#[tokio::test]
async fn an_event_is_raised_by_hand() {
    let (site, receiver) = (site().await, Receiver::start(200).await);
    webhook(&site, &receiver.url, &["shop.order_paid"], true).await;
    webhook(&site, &receiver.url, &["*"], false).await;
    let body = json!({"event": "shop.order_paid", "data": {"order": {"id": 7, "token": "x"}}});
    let ask = || site.admin(EMIT).header("idempotency-key", "a").json(body.clone()).expect(201);
    let made = ask().await;
    assert_eq!(made.data()["queued"], 2);
    // The same request again raises nothing.
    assert_eq!(ask().await.body, made.body);
    assert_eq!(
        site.database.count("select count(*) from cms_events where name = 'shop.order_paid'").await,
        1
    );
    let id = made.data()["id"].as_str().unwrap().to_owned();
    let audited = format!(
        "select count(*) from cms_audit where action = 'emit' and table_name = 'events' and row_id = '{id}'"
    );
    assert_eq!(site.database.count(&audited).await, 1);

    site.cms.webhooks().worker().step().await.unwrap();
    let delivery = receiver.deliveries().remove(0);
    assert_eq!((receiver.count(), delivery.headers["webhook-id"].as_str()), (1, id.as_str()));
    assert_eq!(
        (&delivery.json()["event"], &delivery.json()["data"]),
        (&json!("shop.order_paid"), &json!({"order": {"id": 7}}))
    );
    let message =
        site.admin(&format!("GET /api/backend/webhooks/messages?id={id}")).expect(200).await.data();
    assert_eq!(
        (&message["payload"], &message["removed"]),
        (&delivery.json(), &json!(["order.token"]))
    );
    assert_eq!((&message["event"], &message["jobs"]), (&json!("shop.order_paid"), &json!(2)));
}

/// Receivers trust a signature: nobody may claim what the service itself observes.
#[tokio::test]
async fn what_the_service_observes_cannot_be_claimed() {
    let site = site().await;
    let entries = site.admin("GET /api/backend/webhooks/events?limit=500").expect(200).await.data();
    let mut raised = Vec::new();
    for entry in entries.as_array().unwrap() {
        let name = entry["event_name"].as_str().unwrap();
        let described = site
            .admin(&format!("GET /api/backend/webhooks/events?name={name}"))
            .expect(200)
            .await
            .data();
        let traces = site.traces().await;
        let reply = site.admin(EMIT).json(json!({"event": name, "data": {}})).send().await;
        assert_eq!(described["emit"], reply.status == 201, "{name}");
        if reply.status == 201 {
            raised.push(name);
        } else {
            assert_eq!(
                (reply.status.as_u16(), &reply.json()["errors"][0]["code"]),
                (422, &json!("reserved")),
                "{name}"
            );
            assert_eq!(site.traces().await, traces);
        }
    }
    raised.sort_unstable();
    assert_eq!(
        raised,
        [
            "deployment.completed",
            "emailmarketing.subscribed",
            "order.created",
            "shop.order_paid",
            "user.registered"
        ]
    );
    for (body, status, code) in [
        (json!({"event": "webhook.ping"}), 422, "unknown_event"),
        (json!({"event": "*"}), 422, "unknown_event"),
        (json!({"event": "a\u{0}b"}), 422, "unknown_event"),
        (json!({"event": "order.created", "data": "x"}), 422, "validation_failed"),
        (json!({"data": {}}), 422, "validation_failed"),
        (json!("order.created"), 400, "bad_json"),
    ] {
        site.admin(EMIT).json(body).refused(status, code).await;
    }
    // A plugin that declares an event of the core's does not open it.
    let manifest = json!({"id": "sly", "webhook_events": [{"name": "auth.login"}]});
    let site = Site::builder().await.plugin(manifest).open().await;
    site.admin(EMIT)
        .json(json!({"event": "auth.login", "data": {}}))
        .refused(422, "validation_failed")
        .await;
}

#[tokio::test]
async fn an_event_is_described_by_what_it_carries() {
    let columns = json!([
        {"name": "title", "type": "text"}, {"name": "n", "type": "integer"}, {"name": "price", "type": "decimal"},
        {"name": "paid", "type": "boolean"}, {"name": "at", "type": "datetime"}, {"name": "extra", "type": "json"},
        {"name": "pin", "type": "password"}, {"name": "api_key", "type": "text"},
    ]);
    let manifest = json!({"id": "p", "tables": [{"name": "orders", "columns": columns}]});
    let site = Site::builder().await.plugin(manifest).open().await;
    let event = async |name: &str| {
        site.admin(&format!("GET /api/backend/webhooks/events?name={name}"))
            .expect(200)
            .await
            .data()
    };
    let created = event("item.orders.created").await;
    let record = json!({
        "id": 1, "title": "text", "n": 1, "price": 1.5, "paid": true, "at": "2026-11-21T09:30:00Z", "extra": {},
    });
    assert_eq!(
        created["example"],
        json!({"table": "orders", "id": 1, "language": null, "record": record})
    );
    assert_eq!(
        (&created["plugin_id"], &created["event_type"], &created["emit"]),
        (&json!("p"), &json!("auto"), &json!(false))
    );
    // A record that is written has the same members.
    let written = json!({"title": "a", "pin": "1234", "api_key": "x"});
    site.admin("POST /api/backend/item?table=orders").json(written).expect(201).await;
    let raised = site
        .admin("GET /api/backend/webhooks/messages?event=item.orders.*")
        .expect(200)
        .await
        .data();
    let path =
        format!("GET /api/backend/webhooks/messages?id={}", raised[0]["id"].as_str().unwrap());
    let payload = site.admin(&path).expect(200).await.data()["payload"]["data"].clone();
    let names =
        |data: &Json| data["record"].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&payload), names(&created["example"]));

    assert_eq!(event("item.orders.updated").await["example"]["changed"], json!(["extra"]));
    assert_eq!(event("item.pages.created").await["example"]["language"], "en");
    assert_eq!(event("auth.login").await["example"], json!({"user": {"id": 1, "username": "ana"}}));
    assert_eq!(event("order.created").await["example"], Json::Null);
    for name in ["order.creatd", "", "a%00b", "item.*"] {
        site.admin(&format!("GET /api/backend/webhooks/events?name={name}"))
            .refused(404, "not_found")
            .await;
    }
}

#[tokio::test]
async fn recorded_events_are_listed_either_way() {
    let site = site().await;
    let emit = async |event: &str| {
        site.clock.advance(1000);
        site.admin(EMIT).json(json!({"event": event, "data": {}})).expect(201).await.data()["id"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let mut ids = Vec::new();
    for event in
        ["order.created", "shop.order_paid", "order.created", "user.registered", "order.created"]
    {
        ids.push(emit(event).await);
    }
    // Three of the same moment: no page leaves one out or repeats one.
    site.clock.advance(1000);
    let mut change = site.cms.change(cms_core::Actor::System).await.unwrap();
    for _ in 0..3 {
        change.emit("form.submitted", json!({})).await.unwrap();
    }
    change.commit().await.unwrap();
    let walk = async |query: &str| {
        let (mut found, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = site
                .admin(&format!("GET /api/backend/webhooks/messages?limit=2&{query}{cursor}"))
                .expect(200)
                .await
                .json();
            found.extend(
                page["data"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|one| one["id"].as_str().unwrap().to_owned()),
            );
            match page["meta"]["next"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return found,
            }
        }
    };
    let mut newest = walk("").await;
    let oldest = walk("oldest_first=true").await;
    newest.reverse();
    assert_eq!((newest.len(), &newest), (8, &oldest));
    assert_eq!(oldest[..5], ids);
    let some =
        |numbers: &[usize]| numbers.iter().map(|number| ids[*number].clone()).collect::<Vec<_>>();
    assert_eq!(walk("event=order.created&oldest_first=true").await, some(&[0, 2, 4]));
    assert_eq!(walk("event=order.*").await, some(&[4, 2, 0]));
    assert_eq!(walk("event=shop.*&oldest_first=false").await, some(&[1]));
    assert_eq!(walk("event=item.*").await, Vec::<String>::new());
    assert_eq!(
        walk("event=*&since=2026-11-21T09:30:04Z&oldest_first=true").await[..2],
        some(&[3, 4])
    );
    let cursor = site.admin("GET /api/backend/webhooks/messages?limit=2").expect(200).await.json()
        ["meta"]["next"]
        .clone();
    let cursor = cursor.as_str().unwrap();
    for query in [
        "event=a*b",
        "event=%00",
        "event=",
        "since=yesterday",
        "oldest_first=yes",
        "limit=501",
        "cursor=x",
        "order=asc",
        // Of the list in the other order.
        &format!("oldest_first=true&cursor={cursor}"),
    ] {
        site.admin(&format!("GET /api/backend/webhooks/messages?{query}"))
            .refused(400, "bad_query")
            .await;
    }
    for id in ["x", "%00", ""] {
        site.admin(&format!("GET /api/backend/webhooks/messages?id={id}"))
            .refused(404, "not_found")
            .await;
    }
}

/// PostgreSQL takes no NUL: what holds one is refused before.
#[tokio::test]
async fn control_characters_reach_no_engine() {
    let site = site().await;
    for line in ["deliveries?event=%00", "deliveries?status=%00", "queue?status=%00"] {
        site.admin(&format!("GET /api/backend/webhooks/{line}")).refused(400, "bad_query").await;
    }
    let filter = json!({"filter": {"event": "\u{0}"}, "expected": 0});
    site.admin("POST /api/backend/webhooks/redeliver").json(filter).refused(400, "bad_query").await;
    let body = |name: &str, event: &str| json!({"name": name, "url": "https://hooks.example.org/x", "events": [event]});
    site.admin("POST /api/backend/webhooks")
        .json(body("a\u{0}", "*"))
        .refused(422, "validation_failed")
        .await;
    site.admin("POST /api/backend/webhooks")
        .json(body("a", "\u{0}"))
        .refused(422, "unknown_event")
        .await;
}
