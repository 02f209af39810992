//! `/api/backend/webhooks/rotate-secret`: with and without a grace.

use cms_core::webhooks::{SignedHeaders, hex_signature, verify};
use serde_json::json;

use crate::support::{Receiver, webhooks::site};

#[tokio::test]
async fn rotation_stops_the_old_secret_at_once_or_after_a_grace() {
    let (site, receiver) = (site().await, Receiver::start(200).await);
    let made = site.webhook(&receiver.url, &["item.settings.created"]).await;
    let rotate = async |grace: i64| {
        let ask =
            site.admin(&format!("POST /api/backend/webhooks/rotate-secret?id={}", made["id"]));
        ask.json(json!({"grace_s": grace})).expect(200).await.data()["secret"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let deliver = async |name: &str| {
        site.write(name).await;
        site.worker().step().await.unwrap();
        receiver.deliveries().pop().unwrap()
    };
    let fits = |secret: &str, delivery: &crate::support::Delivery| {
        let received = SignedHeaders {
            id: &delivery.headers["webhook-id"],
            timestamp: &delivery.headers["webhook-timestamp"],
            signature: &delivery.headers["webhook-signature"],
        };
        verify(secret, &received, &delivery.body, site.clock.now() / 1000).is_ok()
    };
    // It holds one signature: the one that a receiver has checked so far.
    let simple = |secret: &str, delivery: &crate::support::Delivery| {
        delivery.headers["x-webhook-signature"] == hex_signature(secret, &delivery.body)
    };
    let first = made["secret"].as_str().unwrap();
    let second = rotate(0).await;
    let delivery = deliver("a").await;
    assert_eq!((fits(first, &delivery), fits(&second, &delivery)), (false, true));
    assert!(simple(&second, &delivery), "without a grace the new secret signs at once");
    let third = rotate(60).await;
    let delivery = deliver("b").await;
    assert_eq!((fits(&second, &delivery), fits(&third, &delivery)), (true, true));
    assert!(simple(&second, &delivery), "the old secret signs during the grace");
    site.clock.advance(59_999);
    assert!(simple(&second, &deliver("b2").await), "until its last moment");
    site.clock.advance(1);
    let delivery = deliver("c").await;
    assert_eq!((fits(&second, &delivery), fits(&third, &delivery)), (false, true));
    assert!(simple(&third, &delivery), "then the new one signs");
    let path = format!("POST /api/backend/webhooks/rotate-secret?id={}", made["id"]);
    site.admin(&path).json(json!({"grace_s": 604_801})).refused(422, "validation_failed").await;
}

/// So with keys: who may change and not read gets what is shown once, and no more.
#[tokio::test]
async fn who_may_not_read_gets_the_secret_alone() {
    let (site, receiver) = (site().await, Receiver::start(200).await);
    let made = site.webhook(&receiver.url, &["item.settings.created"]).await;
    let id = made["id"].as_i64().unwrap();
    let blind = site
        .key(&[
            "POST /api/backend/webhooks",
            "POST /api/backend/webhooks/rotate-secret",
            "POST /api/backend/keys",
            "POST /api/backend/keys/rotate",
        ])
        .await;
    let names =
        |data: &serde_json::Value| data.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let new = json!({"name": "n", "url": receiver.url, "events": ["item.settings.created"]});
    let rotate = json!({"grace_s": 0});
    let (key, _) = site.key_with(|_| {}, &["POST /api/backend/keys"]).await;
    for (line, body, status, secret) in [
        ("POST /api/backend/webhooks".to_owned(), new, 201, "secret"),
        (
            format!("POST /api/backend/webhooks/rotate-secret?id={id}"),
            rotate.clone(),
            200,
            "secret",
        ),
        ("POST /api/backend/keys".to_owned(), json!({"name": "n"}), 201, "key"),
        (format!("POST /api/backend/keys/rotate?id={key}"), rotate, 200, "key"),
    ] {
        let alone = site.ask(&line).key(&blind).json(body.clone()).expect(status).await.data();
        let mut expected = vec!["id".to_owned(), secret.to_owned()];
        expected.sort();
        assert_eq!(names(&alone), expected, "{line}");
        assert!(alone[secret].as_str().unwrap().len() > 20, "{line}");
        let whole = site.admin(&line).json(body).expect(status).await.data();
        assert!(whole["name"].is_string() && whole[secret].is_string(), "{line}: {whole}");
    }
}
