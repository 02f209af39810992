//! `/api/docs`: who sees the page of the API.

use cms_core::settings::{LimiterStore, Settings};
use cms_http::Peer;
use serde_json::json;

use crate::support::Site;

const HERE: &str = "127.0.0.1:1";
const AWAY: &str = "203.0.113.7:1";

/// The statuses of the page for a caller at this machine, one whom a proxy passed on, and one from
/// far away.
async fn statuses(site: &Site) -> [u16; 3] {
    let ask = |peer: &str| site.ask("GET /api/docs").peer(Peer(peer.parse().unwrap()));
    [
        ask(HERE).send().await.status.as_u16(),
        ask(HERE).header("x-forwarded-for", "203.0.113.7").send().await.status.as_u16(),
        ask(AWAY).send().await.status.as_u16(),
    ]
}

#[tokio::test]
async fn the_setting_says_who_sees_the_page() {
    for (setting, expected) in
        [(None, [200, 404, 404]), (Some(true), [200, 200, 200]), (Some(false), [404, 404, 404])]
    {
        let site = Site::with(|s| s.docs.enabled = setting).await;
        assert_eq!(statuses(&site).await, expected, "{setting:?}");
    }
}

/// As other public reads: counted, and judged by its origin and by the key that is sent.
#[tokio::test]
async fn the_page_and_its_files_are_public_reads() {
    let change = |settings: &mut Settings| {
        settings.docs.enabled = Some(true);
        settings.limiter.store = LimiterStore::Memory;
    };
    let site = Site::with(change).await;
    let (shop, evil) = ("https://shop.example.org", "https://evil.example");
    site.create("/api/backend/origins", json!({"origin": shop})).await;
    let other = site.key(&["GET /api/pages"]).await;
    for (path, left) in [("/api/docs", "99"), ("/api/docs/start.js", "95")] {
        let ask = |method: &str| site.ask(&format!("{method} {path}"));
        let shown = ask("GET").expect(200).await;
        let headers = ["x-ratelimit-remaining", "vary"].map(|name| shown.header(name));
        assert_eq!(headers, [left, "Origin"], "{path}");
        ask("GET").header("origin", evil).refused(403, "origin_not_allowed").await;
        ask("GET").key("garbage").refused(401, "api_key_invalid").await;
        ask("GET").key(&other).refused(401, "api_key_forbidden").await;
        let before = ask("OPTIONS").header("access-control-request-method", "GET");
        before.header("origin", shop).expect(204).await;
    }
}

#[tokio::test]
async fn the_page_runs_nothing_but_its_own_files() {
    let site = Site::with(|s| s.docs.enabled = Some(true)).await;
    let page = site.ask("GET /api/docs").expect(200).await;
    assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
    let policy = page.header("content-security-policy");
    assert!(policy.contains("script-src 'self';"), "{policy}");
    let named: Vec<&str> = page.text().leak().split("\"docs/").skip(1).collect();
    assert_eq!(named.len(), 4);
    for rest in named {
        let file = rest.split('"').next().unwrap();
        let shown = site.ask(&format!("GET /api/docs/{file}")).expect(200).await;
        assert_eq!(shown.header("x-content-type-options"), "nosniff", "{file}");
        let tag = shown.header("etag").to_owned();
        site.ask(&format!("GET /api/docs/{file}")).header("if-none-match", tag).expect(304).await;
    }
    site.ask("GET /api/docs/index.html").refused(404, "not_found").await;
}
