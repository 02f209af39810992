//! `/api/backend/webhooks`: subscriptions are made and changed; `activate`, `ping` and
//! `rotate-secret`.

use cms_core::webhooks::hex_signature;
use serde_json::{Value as Json, json};

use crate::support::{
    Delivery, Receiver, Site, has,
    webhooks::{CREATED, WEBHOOKS, is_signed, site, subscribed},
    with,
};

const NEW: &str = "POST /api/backend/webhooks";

#[tokio::test]
async fn wrong_subscriptions_are_refused() {
    let site = Site::open().await;
    let body = |change: Json| {
        let url = "https://hooks.example.org/x";
        with(json!({"name": "x", "url": url, "events": ["item.*"]}), change)
    };
    for (url, code) in [
        ("http://hooks.example.org/", "format"),
        ("https://user:pw@hooks.example.org/", "format"),
        ("https://127.0.0.1/", "address"),
        ("https://localhost/", "address"),
        ("https://[::1]/", "address"),
        ("https://169.254.169.254/latest/meta-data", "address"),
    ] {
        let told = site.invalid(NEW, body(json!({"url": url}))).await;
        has!(told, {"/errors/0/field": "url", "/errors/0/code": code}, "{url}");
    }
    for (change, field) in [
        (json!({"name": ""}), "name"),
        (json!({"events": []}), "events"),
        (json!({"max_retries": -1}), "max_retries"),
        (
            json!({"custom_headers": {"X-Webhook-Signature": "0"}}),
            "custom_headers.X-Webhook-Signature",
        ),
        (json!({"custom_headers": {"x-a": "a\r\nb"}}), "custom_headers.x-a"),
    ] {
        let told = site.invalid(NEW, body(change.clone())).await;
        has!(told, {"/errors/0/field": field}, "{change}");
    }
    for events in [json!(["item.nothing.created"]), json!(["*", "form.*"]), json!([""])] {
        let body = body(json!({"events": events}));
        site.admin(NEW).json(body).refused(422, "unknown_event").await;
    }
    assert_eq!(site.database.rows("cms_webhook_subscriptions").await, 0);
    site.create(WEBHOOKS, body(json!({}))).await;
}

/// `.invalid` is never found (RFC 6761, 6.4).
#[tokio::test]
async fn a_name_that_is_not_found_is_saved_with_a_warning() {
    let site = site().await;
    let body =
        |host: &str| json!({"name": "x", "url": format!("https://{host}/hook"), "events": ["*"]});
    let make = async |host| site.admin(NEW).json(body(host)).expect(201).await.json();
    let made = make("hooks.invalid").await;
    let warning = &made["meta"]["warnings"][0];
    has!(warning, {"field": "url", "code": "unresolved"});
    assert!(made["data"]["secret"].is_string());
    assert!(warning["message"].as_str().unwrap().starts_with("hooks.invalid is not found"));
    let path = format!("PATCH {WEBHOOKS}?id={}", made["data"]["id"]);
    let patch = async |body| site.admin(&path).json(body).expect(200).await.json();
    let patched = patch(json!({"url": "https://other.invalid/"})).await;
    assert_eq!(patched["meta"]["warnings"][0]["code"], "unresolved");
    for quiet in [
        json!({"name": "y"}),
        json!({"url": "https://127.0.0.1/"}),
        json!({"url": "https://localhost/"}),
    ] {
        assert_eq!(patch(quiet.clone()).await["meta"], Json::Null, "{quiet}");
    }
    assert_eq!(make("127.0.0.1").await["meta"], Json::Null);
    // What is wrong with the rest is told as ever.
    let both = json!({"name": "", "url": "ftp://hooks.invalid/", "events": ["*"]});
    assert_eq!(site.invalid(NEW, both).await["errors"].as_array().unwrap().len(), 2);
}

/// A webhook whose address is no longer allowed can still be renamed and paused; masks stand for
/// kept values only.
#[tokio::test]
async fn a_patch_is_judged_by_what_it_brings() {
    let first = site().await;
    let headers = json!({"authorization": "Bearer x"});
    let body = json!({
        "name": "x", "url": "http://127.0.0.1:9/", "events": ["*", "*"], "custom_headers": headers,
    });
    let made = first.create(WEBHOOKS, body).await;
    has!(made, {"events": ["*"], "custom_headers": {"authorization": "***"}});
    let closed = first.reopen().await;
    let path = format!("PATCH {WEBHOOKS}?id={}", made["id"]);
    let patch = async |body| closed.admin(&path).json(body).expect(200).await.data();
    has!(patch(json!({"name": "y", "active": false})).await, {"name": "y", "active": false});
    patch(json!({"custom_headers": {"Authorization": "***"}})).await;
    let many: Vec<_> = (0..101).map(|n| format!("item.t{n}.created")).collect();
    for (body, field) in [
        (json!({"url": "http://127.0.0.1:9/"}), "url"),
        (json!({"custom_headers": {"x-other": "***"}}), "custom_headers.x-other"),
        (json!({"events": many}), "events"),
    ] {
        has!(closed.invalid(&path, body).await, {"/errors/0/field": field});
    }
}

/// Credentials of one receiver are not for another.
#[tokio::test]
async fn headers_stay_behind_when_the_receiver_changes() {
    let site = site().await;
    let body = json!({
        "name": "x", "url": "http://127.0.0.1:9/a", "events": ["*"],
        "custom_headers": {"authorization": "Bearer x", "x-b": "y"},
    });
    let made = site.create(WEBHOOKS, body).await;
    let path = format!("PATCH {WEBHOOKS}?id={}", made["id"]);
    let patched = async |patch| site.admin(&path).json(patch).expect(200).await.json();

    let same = patched(json!({"url": "http://127.0.0.1:9/b?c=1"})).await;
    assert_eq!(same["data"]["custom_headers"], json!({"authorization": "***", "x-b": "***"}));
    assert!(same["meta"].is_null());

    let masked = json!({"url": "http://127.0.0.1:10/", "custom_headers": {"x-b": "***"}});
    has!(site.invalid(&path, masked).await, {"/errors/0/field": "custom_headers.x-b"});

    let moved = patched(json!({"url": "http://127.0.0.1:10/b"})).await;
    assert_eq!(moved["data"]["custom_headers"], json!({}));
    let warning = &moved["meta"]["warnings"][0];
    has!(warning, {"field": "custom_headers", "code": "removed"});

    let again = json!({"url": "https://127.0.0.1:10/", "custom_headers": {"x-b": "z"}});
    let moved = patched(again).await;
    assert_eq!(moved["data"]["custom_headers"], json!({"x-b": "***"}));
    assert!(moved["meta"].is_null());
}

#[tokio::test]
async fn held_jobs_can_be_dropped() {
    let (site, receiver, made) = subscribed(200).await;
    let id = &made["id"];
    let paused = site.patch(&format!("{WEBHOOKS}?id={id}"), json!({"active": false})).await;
    assert_eq!(paused["disabled_reason"], "paused");
    site.write("a").await;
    site.step().await;
    site.post(&format!("{WEBHOOKS}/activate?id={id}"), json!({"held": "drop"})).await;
    site.write("b").await;
    site.step().await;
    assert_eq!(receiver.count(), 1);
    assert_eq!(site.statuses().await, json!({"cancelled": 1, "delivered": 1}));
}

#[tokio::test]
async fn a_ping_tells_at_once_how_it_went() {
    let (site, good, bad) = (site().await, Receiver::start(204).await, Receiver::start(500).await);
    let first = site.webhook(&good.url, &["*"]).await;
    let second = site.webhook(&bad.url, &["*"]).await;
    let ping = async |id: &Json| {
        site.admin(&format!("POST /api/backend/webhooks/ping?id={id}")).expect(200).await.data()
    };
    assert_eq!(ping(&first["id"]).await["status"], "delivered");
    let failed = ping(&second["id"]).await;
    has!(failed, {"status": "status", "response_code": 500});
    assert_eq!(site.subscription(&second["id"]).await["failure_count"], 0);
    assert_eq!(good.deliveries()[0].json()["event"], "webhook.ping");
}

#[tokio::test]
async fn rotation_stops_the_old_secret_at_once_or_after_a_grace() {
    let (site, receiver, made) = subscribed(200).await;
    let path = format!("{WEBHOOKS}/rotate-secret?id={}", made["id"]);
    let rotate = async |grace: i64| {
        let rotated = site.post(&path, json!({"grace_s": grace})).await;
        rotated["secret"].as_str().unwrap().to_owned()
    };
    let deliver = async |name: &str| {
        site.write(name).await;
        site.step().await;
        receiver.deliveries().pop().unwrap()
    };
    let fits = |secret: &str, delivery: &Delivery| {
        is_signed(secret, delivery, site.clock.now() / 1000).is_ok()
    };
    // It holds one signature: the one that a receiver has checked so far.
    let simple = |secret: &str, delivery: &Delivery| {
        delivery.headers["x-webhook-signature"] == hex_signature(secret, &delivery.body)
    };
    let first = made["secret"].as_str().unwrap();
    let second = rotate(0).await;
    let delivery = deliver("a").await;
    assert_eq!((fits(first, &delivery), fits(&second, &delivery)), (false, true));
    assert!(simple(&second, &delivery), "without a grace the new secret signs at once");
    let third = rotate(60).await;
    let line = format!("POST {path}");
    let again = site.admin(&line).json(json!({"grace_s": 60}));
    let again = again.refused(409, "conflict").await.json();
    let until = cms_core::rfc3339(site.clock.now() + 60_000);
    let told = again["detail"].as_str().unwrap();
    assert!(told.contains(&until) && told.contains("grace_s 0"), "{told}");
    let delivery = deliver("b").await;
    assert_eq!((fits(&second, &delivery), fits(&third, &delivery)), (true, true));
    assert!(simple(&second, &delivery), "the old secret signs during the grace");
    site.clock.advance(59_999);
    assert!(simple(&second, &deliver("b2").await), "until its last moment");
    site.clock.advance(1);
    let delivery = deliver("c").await;
    assert_eq!((fits(&second, &delivery), fits(&third, &delivery)), (false, true));
    assert!(simple(&third, &delivery), "then the new one signs");
    let fourth = rotate(60).await;
    let fifth = rotate(0).await;
    let delivery = deliver("d").await;
    let of_each = [&third, &fourth, &fifth].map(|secret| fits(secret, &delivery));
    assert_eq!(of_each, [false, false, true], "a rotation without a grace ends all before");
    site.invalid(&line, json!({"grace_s": 604_801})).await;
}

/// So with keys: who may change and not read gets what is shown once, and no more.
#[tokio::test]
async fn who_may_not_read_gets_the_secret_alone() {
    let (site, receiver, made) = subscribed(200).await;
    let (key, _) = site.key_with(|_| {}, &["POST /api/backend/keys"]).await;
    let new = json!({"name": "n", "url": receiver.url, "events": [CREATED]});
    let rotate = json!({"grace_s": 0});
    let names = |data: &Json| data.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let rights = ["webhooks", "webhooks/rotate-secret", "keys", "keys/rotate"]
        .map(|path| format!("POST /api/backend/{path}"));
    let blind = site.key(&rights.each_ref().map(String::as_str)).await;
    for (path, query, body, status, secret) in [
        ("webhooks", String::new(), new, 201, "secret"),
        ("webhooks/rotate-secret", format!("?id={}", made["id"]), rotate.clone(), 200, "secret"),
        ("keys", String::new(), json!({"name": "n"}), 201, "key"),
        ("keys/rotate", format!("?id={key}"), rotate, 200, "key"),
    ] {
        let line = format!("POST /api/backend/{path}{query}");
        let alone = site.ask(&line).key(&blind).json(body.clone()).expect(status).await.data();
        let mut expected = vec!["id".to_owned(), secret.to_owned()];
        expected.sort();
        assert_eq!(names(&alone), expected, "{line}");
        assert!(alone[secret].as_str().unwrap().len() > 20, "{line}");
        let whole = site.admin(&line).json(body).expect(status).await.data();
        assert!(whole["name"].is_string() && whole[secret].is_string(), "{line}: {whole}");
    }
}
