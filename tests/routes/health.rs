//! `/healthz` and `/readyz`.

use serde_json::Value as Json;

use crate::support::{Site, receiver::Receiver, webhooks};

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
        ("10.0.0.7", 200),
        ("10.0.0.7:8080", 200),
        ("[::1]:8080", 200),
    ] {
        for path in ["/healthz", "/readyz"] {
            let reply = site.ask(&format!("GET {path}")).header("host", host).send().await;
            assert_eq!(reply.status.as_u16(), status, "{host} {path}");
        }
    }
    site.ask("GET /api/settings").header("host", "10.0.0.7").refused(421, "unknown_host").await;
    let local = cms_http::client::Client::local(site.api.clone());
    local.send(cms_http::client::Ask::get("/api/settings")).await.expect("the operator");
    let ready = site.ask("GET /readyz").header("host", "good.example").expect(200).await;
    assert_eq!(ready.data()["status"], "ready");
    assert_eq!(ready.data()["restarts"], serde_json::json!({}));
    let none: Json = site.ask("GET /healthz").refused(421, "unknown_host").await.json();
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
