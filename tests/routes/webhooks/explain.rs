//! `/api/backend/webhooks/explain`: what would be sent, to the byte.

use serde_json::{Value as Json, json};

use super::{shop, webhook};
use crate::support::Receiver;

const EXPLAIN: &str = "POST /api/backend/webhooks/explain";

#[tokio::test]
async fn what_is_explained_is_what_is_sent() {
    let (site, receiver) = (shop().await, Receiver::start(200).await);
    let sent = webhook(&site, &receiver.url, &["form.submitted", "item.*"], true).await;
    webhook(&site, &receiver.url, &["item.settings.created"], false).await;
    webhook(&site, &receiver.url, &["item.settings.updated", "auth.login"], true).await;
    let traces = site.traces().await;
    let data = json!({
        "table": "settings", "id": "a", "language": null,
        "record": {"name": "a", "value": {"api_key": 1, "ok": 2}, "public": true},
    });
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

    let written = json!({"name": "a", "value": {"api_key": 1, "ok": 2}, "public": true});
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
    let site = shop().await;
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
        (EXPLAIN, json!({"event": "a\u{7}b"}), 422, "unknown_event"),
        (EXPLAIN, json!({}), 422, "validation_failed"),
        (EXPLAIN, json!({"event": 7}), 422, "validation_failed"),
        (EXPLAIN, json!({"event": "order.created", "data": [1]}), 422, "validation_failed"),
        (EXPLAIN, json!({"event": "order.created", "date": {}}), 422, "validation_failed"),
        (EXPLAIN, json!([]), 400, "bad_json"),
        ("POST /api/backend/webhooks/explain?cursor=x", ask.clone(), 400, "bad_query"),
        ("POST /api/backend/webhooks/explain?limit=0", ask.clone(), 400, "bad_query"),
        ("POST /api/backend/webhooks/explain?id=1", ask.clone(), 400, "bad_query"),
        ("GET /api/backend/webhooks/explain", ask, 405, "method_not_allowed"),
        (
            EXPLAIN,
            json!({"event": "order.created", "data": {"order": 7}}),
            422,
            "validation_failed",
        ),
    ] {
        site.admin(path).json(body).refused(status, code).await;
    }
}
