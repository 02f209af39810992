//! `/metrics`.

use cms_http::Peer;
use serde_json::json;

use crate::support::{Answer, Receiver, Site, webhooks::site};

async fn metrics(site: &Site) -> Vec<String> {
    let peer = cms_http::Peer("127.0.0.1:1".parse().unwrap());
    let text = site.ask("GET /metrics").peer(peer).expect(200).await.text();
    text.lines().filter(|line| line.starts_with("cms_webhook_")).map(str::to_owned).collect()
}

/// Makes a webhook for everything; returns its id.
async fn webhook(site: &Site, url: &str, active: bool) -> i64 {
    let body = json!({"name": "test", "url": url, "events": ["*"], "active": active});
    site.create("/api/backend/webhooks", body).await["id"].as_i64().unwrap()
}

#[tokio::test]
async fn depth_lateness_and_outcomes() {
    let (site, good, bad) = (site().await, Receiver::start(200).await, Receiver::start(500).await);
    let (good, bad) = (webhook(&site, &good.url, true).await, webhook(&site, &bad.url, true).await);
    webhook(&site, "http://127.0.0.1:1/", false).await;
    site.write("a").await;
    site.clock.advance(7250);
    let lines = |outcomes: [i32; 2], jobs: [i32; 2], late: &str, lanes: &[i64]| {
        let ([delivered, retried], [pending, retry]) = (outcomes, jobs);
        let lag = |lane: &i64| format!("lane_lag_seconds{{subscription=\"{lane}\"}} {late}");
        let lines = [
            format!("attempts_total{{outcome=\"delivered\"}} {delivered}"),
            format!("attempts_total{{outcome=\"retried\"}} {retried}"),
            "attempts_total{outcome=\"failed\"} 0".to_owned(),
            "attempts_total{outcome=\"local\"} 0".to_owned(),
            "attempts_total{outcome=\"lease_lost\"} 0".to_owned(),
            "attempts_in_flight 0".to_owned(),
            format!("queue_jobs{{status=\"pending\"}} {pending}"),
            format!("queue_jobs{{status=\"retry\"}} {retry}"),
            "queue_jobs{status=\"sending\"} 0".to_owned(),
            "queue_jobs{status=\"held\"} 1".to_owned(),
            format!("oldest_due_seconds {late}"),
        ];
        let lines = lines.into_iter().chain(lanes.iter().map(lag));
        lines.map(|line| format!("cms_webhook_{line}")).collect::<Vec<_>>()
    };
    assert_eq!(metrics(&site).await, lines([0, 0], [2, 0], "7.25", &[good, bad]));
    site.cms.webhooks().worker().step().await.unwrap();
    site.clock.advance(31_000);
    assert_eq!(metrics(&site).await, lines([1, 1], [0, 1], "1", &[bad]));
}

#[tokio::test]
async fn an_attempt_is_in_flight_until_it_ends() {
    let (site, receiver) = (site().await, Receiver::scripted(|_, _| Answer::Silence).await);
    webhook(&site, &receiver.url, true).await;
    site.write("a").await;
    let mut worker = site.cms.webhooks().worker();
    assert_eq!(worker.claim().await.unwrap(), 1);
    while receiver.count() == 0 {
        tokio::task::yield_now().await;
    }
    let lines = metrics(&site).await;
    for line in ["attempts_in_flight 1", "queue_jobs{status=\"sending\"} 1"] {
        assert!(lines.contains(&format!("cms_webhook_{line}")), "{line}: {lines:?}");
    }
    drop(worker);
    while site.cms.webhooks().under_way() > 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn lanes_are_told_apart_only_when_they_are_most_late() {
    let site = site().await;
    for number in 0..7 {
        webhook(&site, "http://127.0.0.1:1/", true).await;
        site.write(&format!("n{number}")).await;
        site.clock.advance(1000);
    }
    let lanes: Vec<_> =
        metrics(&site).await.into_iter().filter(|line| line.contains("lane_lag")).collect();
    let late = |id: i64, seconds: i64| {
        format!("cms_webhook_lane_lag_seconds{{subscription=\"{id}\"}} {seconds}")
    };
    assert_eq!(lanes, [late(1, 7), late(2, 6), late(3, 5), late(4, 4), late(5, 3)]);
}

#[tokio::test]
async fn metrics_are_for_those_nearby() {
    let near = |s: &mut cms_core::settings::Settings| {
        s.metrics_allow = vec!["192.0.2.0/24".parse().unwrap()];
        s.proxy_header = "X-From-Proxy".to_owned();
    };
    let site = Site::with(near).await;
    site.ask("GET /api/settings").expect(200).await;
    site.ask("GET /api/nothing").expect(401).await;
    let metrics = |peer: &str| site.ask("GET /metrics").peer(Peer(peer.parse().unwrap()));
    let text = metrics("127.0.0.1:1").expect(200).await;
    assert_eq!(text.header("content-type"), "text/plain; version=0.0.4");
    for line in [
        "cms_requests_total{status=\"2xx\"} 1",
        "cms_requests_total{status=\"4xx\"} 1",
        "cms_limiter_store{store=\"off\"} 1",
        "cms_request_duration_seconds_count 2",
    ] {
        assert!(text.text().lines().any(|found| found == line), "{line}: {}", text.text());
    }
    metrics("192.0.2.9:1").expect(200).await;
    metrics("[::1]:1").expect(200).await;
    metrics("198.51.100.1:1").refused(403, "permission_denied").await;
    // Somebody passed these on: who asks may be far away, whatever the header says.
    let names = "x-forwarded-for x-forwarded-host x-forwarded-proto forwarded via x-real-ip \
                 x-client-ip true-client-ip cf-connecting-ip x-from-proxy";
    for name in names.split(' ') {
        for value in ["198.51.100.1", "127.0.0.1", ""] {
            let asked = metrics("127.0.0.1:1").header(name, value);
            asked.refused(403, "permission_denied").await;
        }
    }
    metrics("127.0.0.1:1").header("x-other", "198.51.100.1").expect(200).await;
    site.ask("GET /metrics").refused(403, "permission_denied").await;
}
