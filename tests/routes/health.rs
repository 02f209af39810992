//! `/healthz` and `/readyz`.

use serde_json::Value as Json;

use crate::support::{Receiver, Site, webhooks};

#[tokio::test]
async fn health_and_hosts() {
    let site = Site::builder().await;
    let site = site.settings(|s| s.allowed_hosts = vec!["good.example".to_owned()]).open().await;
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

/// A refusal of one caller does not close an address for others.
#[tokio::test]
async fn shared_caches_keep_only_what_everybody_may_read() {
    let site = Site::open().await;
    let private = Some("private, no-cache");
    for (line, key, expected) in [
        ("GET /api/settings", None, None),
        ("GET /api/settings", Some("nonsense"), private),
        ("GET /api/nothing", None, private),
        ("GET /media/aa/none.png", None, private),
        ("GET /api/openapi.json", None, private),
        ("GET /healthz", None, Some("no-store")),
        ("GET /readyz", None, Some("no-store")),
        ("GET /metrics", None, Some("no-store")),
    ] {
        let ask = site.ask(line);
        let reply = if let Some(key) = key { ask.key(key) } else { ask }.send().await;
        let control = reply.headers.get("cache-control").map(|value| value.to_str().unwrap());
        assert_eq!(control, expected, "{line}: {}", reply.status);
    }
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
        let data = site.get("/api/backend/status").await;
        let findings = data["findings"].as_array().unwrap().clone();
        let of = findings.into_iter().find(|finding| finding["check"] == "webhooks");
        (data["level"].clone(), of.expect("a finding of webhooks"))
    };
    assert_eq!(found().await.1["level"], "ok");
    let ready = async || site.ask("GET /readyz").expect(200).await.data()["checks"].take();
    assert!(ready().await.get("webhooks").is_none());
    let off =
        "update cms_webhook_subscriptions set active = false, disabled_reason = '10 failures'";
    site.database.run(off).await;
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

/// Where nobody has asked for long, the first answer waits for a new look.
#[tokio::test]
async fn readiness_tells_nothing_old() {
    let site = webhooks::site().await;
    site.webhook("http://127.0.0.1:1/", &["*"]).await;
    site.admin("GET /api/backend/status").expect(200).await;
    // On a busy machine a look may take longer than the answer waits.
    for is_on in [false, true, false, true, false] {
        let why = if is_on { "null" } else { "'10 failures'" };
        let switch = format!(
            "update cms_webhook_subscriptions set active = {is_on}, disabled_reason = {why}"
        );
        site.database.run(switch).await;
        site.clock.advance(30_000);
        let checks = site.ask("GET /readyz").expect(200).await.data()["checks"].take();
        if checks.get("webhooks").is_none() == is_on {
            return;
        }
        // It waits for the look that has begun.
        site.admin("GET /api/backend/status").expect(200).await;
    }
    panic!("what was found half a minute ago is told again and again");
}

/// A receiver that is slow or fails is not a worker that is missing.
#[tokio::test]
async fn a_late_queue_names_who_is_to_blame() {
    let (site, receiver) = (webhooks::site().await, Receiver::start(500).await);
    let id = site.webhook(&receiver.url, &["*"]).await["id"].clone();
    // More than a worker claims at once.
    for number in 0..8 {
        site.write(&format!("n{number}")).await;
    }
    let late = async |passed: i64| {
        site.clock.advance(passed);
        let data = site.admin("GET /api/backend/status").expect(200).await.data();
        let findings = data["findings"].as_array().unwrap().clone();
        let of = findings.into_iter().find(|finding| finding["about"] == "late");
        of.expect("a finding of the queue")
    };
    let missing = late(96_000).await;
    assert_eq!(missing["level"], "error", "{missing}");
    assert!(missing["found"].as_str().unwrap().ends_with("does a worker run?"), "{missing}");
    site.worker().step().await.unwrap();
    let slow = late(1_000).await;
    assert_eq!((&slow["level"], &slow["check"]), (&"warning".into(), &"queue".into()), "{slow}");
    assert!(slow["found"].as_str().unwrap().ends_with(": test by 97 s"), "{slow}");
    let remedy = slow["remedy"].as_str().unwrap();
    let command = format!("`cms webhooks deliveries list --webhook {id}`");
    assert!(remedy.contains(&command), "{slow}");
    let missing = late(121_000).await;
    assert_eq!(missing["level"], "error", "nobody has served it since: {missing}");
}
