//! `/api/backend/webhooks/explain`: what would be sent, to the byte.

use serde_json::{Value as Json, json};

use super::{shop, webhook};
use crate::support::{Receiver, each, has};

const EXPLAIN: &str = "POST /api/backend/webhooks/explain";

const CREATED: &str = "item.settings.created";

#[tokio::test]
async fn what_is_explained_is_what_is_sent() {
    let (site, receiver) = (shop().await, Receiver::start(200).await);
    let sent = webhook(&site, &receiver.url, &["form.submitted", "item.*"], true).await;
    webhook(&site, &receiver.url, &[CREATED], false).await;
    webhook(&site, &receiver.url, &["item.settings.updated", "auth.login"], true).await;
    let traces = site.traces().await;
    let written = json!({"name": "a", "value": {"api_key": 1, "ok": 2}, "public": true});
    let data = json!({"table": "settings", "id": "a", "language": null, "record": written});
    let ask = site.admin(EXPLAIN).json(json!({"event": CREATED, "data": data}));
    let reply = ask.expect(200).await;
    assert_eq!(site.traces().await, traces);
    let secret = sent["secret"].as_str().unwrap();
    assert!(!reply.text().contains(secret) && !reply.text().contains("sesame"), "{}", reply.text());
    let explained = reply.data();
    assert_eq!(explained["removed"], json!(["record.value.api_key"]));
    let column = |name: &str| each(&explained["subscriptions"], name);
    assert_eq!(column("outcome"), ["sent", "held", "not_matched"]);
    assert_eq!(
        column("reason"),
        [
            "item.* matches",
            "item.settings.created matches; not active (paused): held until it is activated",
            "no entry matches: item.settings.updated, auth.login"
        ]
    );

    site.insert("settings", written).await;
    site.step().await;
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
    let page = async |query: &str| {
        let line = format!("{EXPLAIN}?limit=2{query}");
        site.admin(&line).json(ask.clone()).expect(200).await.json()
    };
    let first = page("").await;
    let second = page(&format!("&cursor={}", first["meta"]["next"].as_str().unwrap())).await;
    let counts =
        [&first, &second].map(|page| page["data"]["subscriptions"].as_array().unwrap().len());
    assert_eq!((counts, &second["meta"]["next"]), ([2, 1], &Json::Null));
    // Nothing was asked of the data.
    has!(first["data"], {"event": "order.created", "body": null, "removed": null});
    assert_eq!(page("&count=true").await["meta"]["total"], 3);
    // Who may read one webhook does not learn how many there are.
    let rights = ["POST /api/backend/webhooks/explain", "GET /api/backend/webhooks?id=1"];
    let key = site.key(&rights).await;
    let one = site.ask(&format!("{EXPLAIN}?count=true")).key(&key).json(ask.clone());
    let one = one.expect(200).await.json();
    assert_eq!(each(&one["data"]["subscriptions"], "id").len(), 1, "{one}");
    assert!(one["meta"].get("total").is_none(), "{one}");
    for body in [
        json!({"event": "order.creatd"}),
        json!({"event": "item.*"}),
        json!({"event": "item.cms_users.created"}),
        json!({"event": "a\u{7}b"}),
    ] {
        site.admin(EXPLAIN).json(body).refused(422, "unknown_event").await;
    }
    for body in [
        json!({}),
        json!({"event": 7}),
        json!({"event": "order.created", "data": [1]}),
        json!({"event": "order.created", "date": {}}),
        json!({"event": "order.created", "data": {"order": 7}}),
        json!({"event": "page.published", "data": {"page": 7}}),
        json!({"event": CREATED, "data": {"table": "settings"}}),
    ] {
        site.invalid(EXPLAIN, body).await;
    }
    site.admin(EXPLAIN).json(json!([])).refused(400, "bad_json").await;
    for query in ["cursor=x", "limit=0", "id=1"] {
        let line = format!("{EXPLAIN}?{query}");
        site.admin(&line).json(ask.clone()).refused(400, "bad_query").await;
    }
    let get = site.admin("GET /api/backend/webhooks/explain").json(ask);
    get.refused(405, "method_not_allowed").await;
}
