//! `/healthz` and `/readyz`.

use serde_json::Value as Json;

use crate::support::{Receiver, Site, webhooks};

#[tokio::test]
async fn health_and_hosts() {
    let site = Site::builder()
        .await
        .settings(|s| s.allowed_hosts = vec!["good.example".to_owned()])
        .open()
        .await;
    for (host, status) in [
        ("good.example", 200),
        ("GOOD.example:8080", 200),
        ("evil.example", 421),
        ("good.example.evil", 421),
        ("", 421),
        ("10.0.0.7", 421),
        ("[::1]:8080", 421),
    ] {
        for path in ["/healthz", "/readyz", "/metrics"] {
            let reply = site.ask(&format!("GET {path}")).header("host", host).send().await;
            assert_ne!(reply.status.as_u16(), 421, "{host} {path}");
        }
        let reply = site.ask("GET /api/settings").header("host", host).send().await;
        assert_eq!(reply.status.as_u16(), status, "{host}");
    }
    let local = cms_http::client::Client::local(site.api.clone());
    local.send(cms_http::client::Ask::get("/api/settings")).await.expect("the operator");
    let ready = site.ask("GET /readyz").header("host", "good.example").expect(200).await;
    assert_eq!(ready.data()["status"], "ready");
    assert_eq!(ready.data()["restarts"], serde_json::json!({}));
    let none: Json = site.ask("GET /api/settings").refused(421, "unknown_host").await.json();
    assert_eq!(none["title"], "Unknown host");
}

/// Anybody may ask for it as often as they like.
#[tokio::test]
async fn readiness_reads_the_backlog_once_a_second() {
    let (site, receiver) = (webhooks::site().await, Receiver::start(200).await);
    site.webhook(&receiver.url, &["*"]).await;
    let age =
        async || site.ask("GET /readyz").expect(200).await.data()["queue_age_ms"].as_i64().unwrap();
    assert_eq!(age().await, 0);
    site.write("a").await;
    site.clock.advance(999);
    assert_eq!(age().await, 0, "what was found a moment ago");
    site.clock.advance(1);
    assert_eq!(age().await, 1000);
    site.clock.advance(500);
    assert_eq!(age().await, 1500, "the job is known, its age goes on");
    site.cms.webhooks().worker().step().await.unwrap();
    site.clock.advance(500);
    assert_eq!(age().await, 0);
}

/// What is wrong, with its remedy for administrators and as a word for everybody.
#[tokio::test]
async fn one_registry_tells_what_is_wrong() {
    let (site, receiver) = (webhooks::site().await, Receiver::start(500).await);
    let id = site.webhook(&receiver.url, &["*"]).await["id"].clone();
    let found = async || {
        let data = site.admin("GET /api/backend/status").expect(200).await.data();
        let findings = data["findings"].as_array().unwrap().clone();
        let of = findings.into_iter().find(|finding| finding["check"] == "webhooks");
        (data["level"].clone(), of.expect("a finding of webhooks"))
    };
    assert_eq!(found().await.1["level"], "ok");
    let ready = async || site.ask("GET /readyz").expect(200).await.data()["checks"].take();
    assert!(ready().await.get("webhooks").is_none());
    let off =
        "update cms_webhook_subscriptions set active = false, disabled_reason = '10 failures'";
    site.database.run(off.to_owned()).await;
    assert_eq!(found().await.1["level"], "ok", "what was found a moment ago");
    site.clock.advance(1_000);
    let (level, finding) = found().await;
    assert_eq!((level, &finding["level"]), ("error".into(), &"error".into()));
    assert!(finding["found"].as_str().unwrap().contains("switched off: 10 failures"), "{finding}");
    let remedy = finding["remedy"].as_str().unwrap();
    assert!(remedy.contains(&format!("`cms webhooks activate {id}`")), "{finding}");
    assert_eq!(ready().await["webhooks"], "error", "who asked has found it for everybody");
    site.ask("GET /api/backend/status").refused(401, "login_required").await;
}

/// Anybody may ask whether the site is ready; the checks run once in ten seconds at most.
#[tokio::test]
async fn readiness_asks_the_checks_seldom() {
    let site = webhooks::site().await;
    let ready = async || site.ask("GET /readyz").expect(200).await.data()["checks"].take();
    let troubles = async || loop {
        // The first answer does not wait for slow checks.
        let found = ready().await;
        if !found.is_null() {
            break found;
        }
    };
    let before = troubles().await;
    assert!(before.get("tasks").is_none(), "{before}");
    let statements = site.cms.db().statements_sent();
    site.clock.advance(9_999);
    assert_eq!(ready().await, before);
    let asked = site.cms.db().statements_sent() - statements;
    assert!(asked < 10, "no check was asked: {asked} statements");
}
