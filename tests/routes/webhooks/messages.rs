//! `/api/backend/webhooks/messages`: recorded events, either way.

use serde_json::json;

use super::{EMIT, shop};

#[tokio::test]
async fn recorded_events_are_listed_either_way() {
    let site = shop().await;
    let emit = async |event: &str| {
        site.clock.advance(1000);
        let data = json!({"order": {"id": 7}, "user": {"id": 7}});
        site.admin(EMIT).json(json!({"event": event, "data": data})).expect(201).await.data()["id"]
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
        change.emit("other.thing", json!({})).await.unwrap();
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
        // Of the list of another time.
        &format!("since=2026-11-21T09:30:00Z&cursor={cursor}"),
    ] {
        site.admin(&format!("GET /api/backend/webhooks/messages?{query}"))
            .refused(400, "bad_query")
            .await;
    }
    for id in ["x", "%07", ""] {
        site.admin(&format!("GET /api/backend/webhooks/messages?id={id}"))
            .refused(404, "not_found")
            .await;
    }
}

/// PostgreSQL takes no NUL: what holds one is refused before.
#[tokio::test]
async fn control_characters_reach_no_engine() {
    let site = shop().await;
    for line in ["deliveries?event=%07", "deliveries?status=%07", "queue?status=%07"] {
        site.admin(&format!("GET /api/backend/webhooks/{line}")).refused(400, "bad_query").await;
    }
    let filter = json!({"filter": {"event": "\u{7}"}, "expected": 0});
    site.admin("POST /api/backend/webhooks/redeliver").json(filter).refused(400, "bad_query").await;
    let body = |name: &str, event: &str| {
        json!({
            "name": name, "url": "https://hooks.example.org/x", "events": [event],
        })
    };
    site.admin("POST /api/backend/webhooks")
        .json(body("a\u{7}", "*"))
        .refused(422, "validation_failed")
        .await;
    site.admin("POST /api/backend/webhooks")
        .json(body("a", "\u{7}"))
        .refused(422, "unknown_event")
        .await;
}

/// Who asks for the last seconds again and again would have read past its beginning.
#[tokio::test]
async fn an_event_of_a_slow_change_counts_from_its_end() {
    let site = shop().await;
    let mut change = site.cms.change(cms_core::Actor::System).await.unwrap();
    let slow = change.emit("order.created", json!({"order": {"id": "slow"}})).await.unwrap();
    site.clock.advance(30_000);
    change.commit().await.unwrap();
    let since = async |time: &str| {
        let line = format!("GET /api/backend/webhooks/messages?since={time}");
        site.admin(&line).expect(200).await.data()
    };
    let found = since("2026-11-21T09:30:30Z").await;
    assert_eq!((&found[0]["id"], &found[1]), (&json!(slow.id), &json!(null)), "{found}");
    assert_eq!(since("2026-11-21T09:30:31Z").await, json!([]));
}
