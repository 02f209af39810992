//! `/api/backend/webhooks`: subscriptions are made and changed.

use serde_json::{Value as Json, json};

use crate::support::Site;
use crate::support::webhooks::site;

#[tokio::test]
async fn wrong_subscriptions_are_refused() {
    let site = Site::open().await;
    let body = |change: Json| {
        let mut body =
            json!({"name": "x", "url": "https://hooks.example.org/x", "events": ["item.*"]});
        body.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        body
    };
    for (change, field) in [
        (json!({"name": ""}), "name"),
        (json!({"url": "http://hooks.example.org/"}), "url"),
        (json!({"url": "https://127.0.0.1/"}), "url"),
        (json!({"url": "https://169.254.169.254/latest/meta-data"}), "url"),
        (json!({"url": "https://user:pw@hooks.example.org/"}), "url"),
        (json!({"events": []}), "events"),
        (json!({"max_retries": -1}), "max_retries"),
        (
            json!({"custom_headers": {"X-Webhook-Signature": "0"}}),
            "custom_headers.X-Webhook-Signature",
        ),
        (json!({"custom_headers": {"x-a": "a\r\nb"}}), "custom_headers.x-a"),
    ] {
        let reply = site
            .admin("POST /api/backend/webhooks")
            .json(body(change.clone()))
            .refused(422, "validation_failed")
            .await;
        assert_eq!(reply.json()["errors"][0]["field"], field, "{change}");
    }
    for events in [json!(["item.nothing.created"]), json!(["*", "form.*"]), json!([""])] {
        site.admin("POST /api/backend/webhooks")
            .json(body(json!({"events": events})))
            .refused(422, "unknown_event")
            .await;
    }
    assert_eq!(site.database.count("select count(*) from cms_webhook_subscriptions").await, 0);
    site.admin("POST /api/backend/webhooks").json(body(json!({}))).expect(201).await;
}

/// `.invalid` is never found (RFC 6761, 6.4).
#[tokio::test]
async fn a_name_that_is_not_found_is_saved_with_a_warning() {
    let site = site().await;
    let body =
        |host: &str| json!({"name": "x", "url": format!("https://{host}/hook"), "events": ["*"]});
    let made = site
        .admin("POST /api/backend/webhooks")
        .json(body("hooks.invalid"))
        .expect(201)
        .await
        .json();
    let warning = &made["meta"]["warnings"][0];
    assert_eq!((&warning["field"], &warning["code"]), (&json!("url"), &json!("unresolved")));
    assert!(
        made["data"]["secret"].is_string()
            && warning["message"].as_str().unwrap().starts_with("hooks.invalid is not found")
    );
    let path = format!("PATCH /api/backend/webhooks?id={}", made["data"]["id"]);
    let patched =
        site.admin(&path).json(json!({"url": "https://other.invalid/"})).expect(200).await.json();
    assert_eq!(patched["meta"]["warnings"][0]["code"], "unresolved");
    for quiet in [
        json!({"name": "y"}),
        json!({"url": "https://127.0.0.1/"}),
        json!({"url": "https://localhost/"}),
    ] {
        let reply = site.admin(&path).json(quiet.clone()).expect(200).await.json();
        assert_eq!(reply["meta"], Json::Null, "{quiet}");
    }
    let made =
        site.admin("POST /api/backend/webhooks").json(body("127.0.0.1")).expect(201).await.json();
    assert_eq!(made["meta"], Json::Null);
    // What is wrong with the rest is told as ever.
    let both = json!({"name": "", "url": "ftp://hooks.invalid/", "events": ["*"]});
    let errors = site
        .admin("POST /api/backend/webhooks")
        .json(both)
        .refused(422, "validation_failed")
        .await
        .json();
    assert_eq!(errors["errors"].as_array().unwrap().len(), 2);
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
    let made = first.admin("POST /api/backend/webhooks").json(body).expect(201).await.data();
    assert_eq!(
        (&made["events"], &made["custom_headers"]),
        (&json!(["*"]), &json!({"authorization": "***"}))
    );
    let Site { database, cms, .. } = first;
    cms.close().await;
    let closed = Site::on(database).open().await;
    let path = format!("PATCH /api/backend/webhooks?id={}", made["id"]);
    let paused =
        closed.admin(&path).json(json!({"name": "y", "active": false})).expect(200).await.data();
    assert_eq!((&paused["name"], &paused["active"]), (&json!("y"), &json!(false)));
    closed
        .admin(&path)
        .json(json!({"url": "http://127.0.0.1:9/"}))
        .refused(422, "validation_failed")
        .await;
    closed.admin(&path).json(json!({"custom_headers": {"Authorization": "***"}})).expect(200).await;
    let masked = closed
        .admin(&path)
        .json(json!({"custom_headers": {"x-other": "***"}}))
        .refused(422, "validation_failed")
        .await;
    assert_eq!(masked.json()["errors"][0]["field"], "custom_headers.x-other");
    let many: Vec<_> = (0..101).map(|n| format!("item.t{n}.created")).collect();
    closed.admin(&path).json(json!({"events": many})).refused(422, "validation_failed").await;
}

/// Credentials of one receiver are not for another.
#[tokio::test]
async fn headers_stay_behind_when_the_receiver_changes() {
    let site = site().await;
    let body = json!({
        "name": "x", "url": "http://127.0.0.1:9/a", "events": ["*"],
        "custom_headers": {"authorization": "Bearer x", "x-b": "y"},
    });
    let made = site.admin("POST /api/backend/webhooks").json(body).expect(201).await.data();
    let path = format!("PATCH /api/backend/webhooks?id={}", made["id"]);
    let patched = async |patch| site.admin(&path).json(patch).expect(200).await.json();

    let same = patched(json!({"url": "http://127.0.0.1:9/b?c=1"})).await;
    assert_eq!(same["data"]["custom_headers"], json!({"authorization": "***", "x-b": "***"}));
    assert!(same["meta"].is_null());

    let masked = json!({"url": "http://127.0.0.1:10/", "custom_headers": {"x-b": "***"}});
    let refused = site.admin(&path).json(masked).refused(422, "validation_failed").await;
    assert_eq!(refused.json()["errors"][0]["field"], "custom_headers.x-b");

    let moved = patched(json!({"url": "http://127.0.0.1:10/b"})).await;
    assert_eq!(moved["data"]["custom_headers"], json!({}));
    let warning = &moved["meta"]["warnings"][0];
    assert_eq!(
        (&warning["field"], &warning["code"]),
        (&json!("custom_headers"), &json!("removed"))
    );

    let again = json!({"url": "https://127.0.0.1:10/", "custom_headers": {"x-b": "z"}});
    let moved = patched(again).await;
    assert_eq!(moved["data"]["custom_headers"], json!({"x-b": "***"}));
    assert!(moved["meta"].is_null());
}
