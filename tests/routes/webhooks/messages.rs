//! `/api/backend/webhooks/messages` and `events`: recorded events, and what each carries.

use serde_json::{Value as Json, json};

use super::{EMIT, shop};
use crate::support::{Site, each, has, plugins::plugin, webhooks::WEBHOOKS, with};

#[tokio::test]
async fn recorded_events_are_listed_either_way() {
    let site = shop().await;
    let mut ids = Vec::new();
    for event in
        ["order.created", "shop.order_paid", "order.created", "user.registered", "order.created"]
    {
        site.clock.advance(1000);
        let data = json!({"order": {"id": 7}, "user": {"id": 7}});
        let body = json!({"event": event, "data": data});
        let made = site.admin(EMIT).json(body).expect(201).await;
        ids.push(made.data()["id"].clone());
    }
    // Three of the same moment: no page leaves one out or repeats one.
    site.clock.advance(1000);
    let mut change = site.cms.change(cms_core::Actor::System).await.unwrap();
    for _ in 0..3 {
        change.emit("other.thing", json!({})).await.unwrap();
    }
    change.commit().await.unwrap();
    let walk = async |query: &str| {
        let pages = site.pages(&format!("{WEBHOOKS}/messages?limit=2&{query}")).await;
        pages.iter().flat_map(|page| each(page, "id")).collect::<Vec<_>>()
    };
    let mut newest = walk("").await;
    let oldest = walk("oldest_first=true").await;
    newest.reverse();
    assert_eq!((newest.len(), &newest), (8, &oldest));
    assert_eq!(oldest[..5], ids);
    let some =
        |numbers: &[usize]| numbers.iter().map(|number| ids[*number].clone()).collect::<Vec<_>>();
    for (query, expected) in [
        ("event=order.created&oldest_first=true", &[0, 2, 4][..]),
        ("event=order.*", &[4, 2, 0][..]),
        ("event=shop.*&oldest_first=false", &[1][..]),
        ("event=item.*", &[][..]),
    ] {
        assert_eq!(walk(query).await, some(expected), "{query}");
    }
    let late = walk("event=*&since=2026-11-21T09:30:04Z&oldest_first=true").await;
    assert_eq!(late[..2], some(&[3, 4]));
    let first = site.admin(&format!("GET {WEBHOOKS}/messages?limit=2")).expect(200).await.json();
    let cursor = first["meta"]["next"].as_str().unwrap();
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
        // Of the list of another time.
        &format!("since=2026-11-21T09:30:00Z&cursor={cursor}"),
    ] {
        let line = format!("GET {WEBHOOKS}/messages?{query}");
        site.admin(&line).refused(400, "bad_query").await;
    }
    for id in ["x", "%07", ""] {
        let line = format!("GET {WEBHOOKS}/messages?id={id}");
        site.admin(&line).refused(404, "not_found").await;
    }
}

/// PostgreSQL takes no NUL: what holds one is refused before.
#[tokio::test]
async fn control_characters_reach_no_engine() {
    let site = shop().await;
    for line in ["deliveries?event=%07", "deliveries?status=%07", "queue?status=%07"] {
        site.admin(&format!("GET {WEBHOOKS}/{line}")).refused(400, "bad_query").await;
    }
    let filter = json!({"filter": {"event": "\u{7}"}, "expected": 0});
    let redeliver = site.admin(&format!("POST {WEBHOOKS}/redeliver")).json(filter);
    redeliver.refused(400, "bad_query").await;
    let good = json!({"name": "a", "url": "https://hooks.example.org/x", "events": ["*"]});
    for (change, code) in [
        (json!({"name": "a\u{7}"}), "validation_failed"),
        (json!({"events": ["\u{7}"]}), "unknown_event"),
    ] {
        let new = site.admin(&format!("POST {WEBHOOKS}")).json(with(good.clone(), change));
        new.refused(422, code).await;
    }
}

/// An empty list would say that all is well.
#[tokio::test]
async fn a_status_that_no_row_has_is_refused() {
    let site = shop().await;
    for (line, known) in [
        ("queue?status=bogus", "pending, sending, retry"),
        ("queue?status=timeout", "held, cancelled"),
        ("deliveries?status=bogus", "delivered, failed, timeout"),
        ("deliveries?status=pending", "lease_lost"),
    ] {
        let refused = site.admin(&format!("GET {WEBHOOKS}/{line}")).refused(400, "bad_query").await;
        let refused = refused.json().to_string();
        assert!(refused.contains(known), "{line}: {refused}");
    }
    for line in ["queue?status=held", "deliveries?status=failed", "deliveries?status=lease_lost"] {
        assert_eq!(site.get(&format!("{WEBHOOKS}/{line}")).await, json!([]), "{line}");
    }
    let filter = json!({"filter": {"status": "bogus"}, "expected": 0});
    site.invalid(&format!("POST {WEBHOOKS}/redeliver"), filter).await;
}

/// Who asks for the last seconds again and again would have read past its beginning.
#[tokio::test]
async fn an_event_of_a_slow_change_counts_from_its_end() {
    let site = shop().await;
    let mut change = site.cms.change(cms_core::Actor::System).await.unwrap();
    let slow = change.emit("order.created", json!({"order": {"id": "slow"}})).await.unwrap();
    site.clock.advance(30_000);
    change.commit().await.unwrap();
    let since = async |time: &str| site.get(&format!("{WEBHOOKS}/messages?since={time}")).await;
    let found = since("2026-11-21T09:30:30Z").await;
    has!(found, {"/0/id": slow.id, "/1": null}, "{found}");
    assert_eq!(since("2026-11-21T09:30:31Z").await, json!([]));
}

#[tokio::test]
async fn an_event_is_described_by_what_it_carries() {
    let columns = "title text, n integer, price decimal, paid boolean, at datetime, extra json, \
                   pin password, api_key text";
    let site = Site::builder().await.plugin(plugin("p", [("orders", columns)])).open().await;
    let event = async |name: &str| site.get(&format!("{WEBHOOKS}/events?name={name}")).await;
    let created = event("item.orders.created").await;
    let record = json!({
        "id": 1, "title": "Text", "n": 1, "price": 1.5, "paid": true, "at": "2026-11-21T09:30:00Z",
        "extra": [],
    });
    let example = json!({"table": "orders", "id": 1, "language": null, "record": record});
    has!(created, {"example": example, "plugin_id": "p", "event_type": "auto", "emit": false});
    // A record that is written has the same members.
    let written = json!({"title": "a", "pin": "1234", "api_key": "x"});
    site.insert("orders", written).await;
    let raised = site.get(&format!("{WEBHOOKS}/messages?event=item.orders.*")).await;
    let path = format!("{WEBHOOKS}/messages?id={}", raised[0]["id"].as_str().unwrap());
    let payload = site.get(&path).await["payload"]["data"].clone();
    let names =
        |data: &Json| data["record"].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&payload), names(&created["example"]));

    for (name, place, value) in [
        ("item.orders.updated", "/example/changed", json!(["extra"])),
        ("item.pages.created", "/example/language", json!("en")),
        ("auth.login", "/example", json!({"user": {"id": 1, "username": "ana"}})),
        ("order.created", "/example/order/total", json!("249.90")),
    ] {
        has!(event(name).await, {place: value}, "{name}");
    }
    let of_data = |described: &Json| described["schema"]["properties"]["data"].clone();
    let (new, set) = (of_data(&created), of_data(&event("item.orders.updated").await));
    assert_eq!(new["properties"]["table"], json!({"const": "orders"}));
    let described = json!({"record": new["properties"]["record"]["properties"]});
    assert_eq!(names(&described), names(&payload));
    let required = |data: &Json| data["required"].as_array().unwrap().contains(&json!("changed"));
    assert_eq!((required(&new), required(&set)), (false, true));
    // The list refers to what describes each of them.
    let list = site.get("/api/backend/webhooks/events?limit=500").await;
    for row in list.as_array().unwrap() {
        let reference = row["schema"]["$ref"].as_str().unwrap();
        let (address, place) = reference.split_once('#').unwrap();
        let described = site.admin(&format!("GET {address}")).expect(200).await.json();
        let schema = described.pointer(place).unwrap();
        assert_eq!(schema["properties"]["event"], json!({"const": row["event_name"]}));
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    }
    for name in ["order.creatd", "", "a%07b", "item.*"] {
        let line = format!("GET {WEBHOOKS}/events?name={name}");
        site.admin(&line).refused(404, "not_found").await;
    }
}
