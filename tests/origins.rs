//! Origins: which pages may call, what browsers are told, and how soon a change is in force.

mod changes;

use cms_core::settings::LimiterStore;
use serde_json::json;

use crate::support::{Ask, Reply, Site};

pub(crate) const SHOP: &str = "https://shop.example";

pub(crate) const EVIL: &str = "https://evil.example";

const PAGES: &str = "GET /api/pages";

/// A site at www.example that knows SHOP and, not active, https://idle.example.
async fn site() -> Site {
    let site = Site::with(|s| s.site_url = Some("https://www.example".to_owned())).await;
    add(&site, SHOP, true).await;
    add(&site, "https://idle.example", false).await;
    site
}

pub(crate) async fn add(site: &Site, origin: &str, active: bool) -> i64 {
    let body = json!({"origin": origin, "active": active});
    site.create("/api/backend/origins", body).await["id"].as_i64().unwrap()
}

async fn from(site: &Site, origin: &str, line: &str) -> Reply {
    site.ask(line).header("host", "api.example").header("origin", origin).send().await
}

/// What a browser asks before a page of this origin may send.
fn preflight(site: &Site, origin: &str, method: &str, path: &str) -> Ask {
    let ask = site.ask(&format!("OPTIONS {path}")).header("origin", origin);
    ask.header("access-control-request-method", method)
}

fn header<'r>(reply: &'r Reply, name: &str) -> Option<&'r str> {
    reply.headers.get(name).map(|value| value.to_str().unwrap())
}

/// Echoed for `origin`, or without any header of this kind.
fn assert_shared(reply: &Reply, origin: Option<&str>, context: &str) {
    let exposed = "X-RateLimit-Limit, X-RateLimit-Remaining, X-Request-Id, X-Cache, \
                   Age, ETag, Retry-After";
    for (name, expected) in [
        ("access-control-allow-origin", origin),
        ("access-control-allow-credentials", origin.map(|_| "true")),
        ("vary", Some("Origin")),
        ("access-control-expose-headers", origin.map(|_| exposed)),
    ] {
        assert_eq!(header(reply, name), expected, "{name}, {context}");
    }
}

#[tokio::test]
async fn who_is_let_in() {
    let site = site().await;
    let key = site.key(&[PAGES]).await;
    for (origin, allowed) in [
        (SHOP, true),
        ("HTTPS://Shop.Example:443", true),
        ("https://www.example", true),
        ("https://api.example", true),
        ("http://api.example", true),
        ("https://idle.example", false),
        (EVIL, false),
        ("null", false),
        ("", false),
        ("*", false),
        ("http://shop.example", false),
        ("https://shop.example:8443", false),
        ("https://shop.example.evil.example", false),
        ("https://a.shop.example", false),
        ("https://shop.example/", false),
        ("https://shop.example, https://shop.example", false),
        ("https://shop.example@evil.example", false),
        ("http://www.example", false),
        ("https://api.example:444", false),
        ("https://api.example.", false),
        ("file://", false),
    ] {
        for (line, with_key, status, code) in [
            (PAGES, false, 200, ""),
            (PAGES, true, 200, ""),
            ("HEAD /api/pages", false, 200, ""),
            ("GET /api/pages?limit=x", false, 400, "bad_query"),
            ("GET /api//pages", false, 400, "bad_query"),
            ("PUT /api/pages", false, 405, "method_not_allowed"),
            ("GET /api/nothing", false, 401, "api_key_missing"),
            ("GET /api/backend/item?table=pages", false, 401, "login_required"),
            ("GET /api/backend/item?table=pages", true, 401, "api_key_forbidden"),
            ("OPTIONS /api/pages", false, 405, "method_not_allowed"),
        ] {
            let ask = site.ask(line).header("host", "api.example").header("origin", origin);
            let reply = if with_key { ask.key(&key).send().await } else { ask.send().await };
            let context = format!("{origin:?} {line} {with_key} {}", reply.text());
            assert_shared(&reply, allowed.then_some(origin), &context);
            let expected = if allowed { (status, code) } else { (403, "origin_not_allowed") };
            assert_eq!(reply.status.as_u16(), expected.0, "{context}");
            if !expected.1.is_empty() && !line.starts_with("HEAD") {
                assert_eq!(reply.json()["error"], expected.1, "{context}");
            }
        }
    }
}

#[tokio::test]
async fn pages_are_judged_only_where_the_api_is() {
    let site = site().await;
    for line in ["GET /healthz", "GET /readyz", "GET /sitemap.xml"] {
        let reply = from(&site, EVIL, line).await;
        assert_eq!((reply.status.as_u16(), header(&reply, "vary")), (200, None), "{line}");
        assert_eq!(header(&reply, "access-control-allow-origin"), None);
    }
    let plain = site.ask(PAGES).expect(200).await;
    assert_shared(&plain, None, "without Origin: caches in between must not mix");
    let options = site.ask("OPTIONS /api/pages").header("access-control-request-method", "GET");
    assert_shared(&options.expect(405).await, None, "no page asks");
    for (ask, context) in [
        (site.ask(PAGES).header("origin", SHOP).header("origin", SHOP), "twice"),
        (site.ask(PAGES).header("origin", "https://b\u{fc}cher.example"), "not ASCII"),
    ] {
        assert_shared(&ask.refused(403, "origin_not_allowed").await, None, context);
    }
    // The host with its port, as the request line names it, and never two of them.
    for (host, origin, status) in [
        ("api.example:8080", "http://api.example:8080", 200),
        ("API.example:443", "https://api.example", 200),
        ("api.example:80", "http://api.example", 200),
        ("api.example:80", "https://api.example", 403),
        ("api.example:8080", "http://api.example", 403),
        ("[::1]:8080", "http://[::1]:8080", 200),
        ("user@api.example", "https://api.example", 403),
        ("www.example", "https://www.example", 200),
        ("www.example", "http://www.example", 403),
        ("", "https://api.example", 403),
    ] {
        let reply = site.ask(PAGES).header("host", host).header("origin", origin).send().await;
        assert_eq!(reply.status.as_u16(), status, "{host} {origin}");
    }
    let named = site.ask("GET http://api.example/api/pages").header("host", "evil.example");
    named.header("origin", EVIL).expect(403).await;
    let hosts = site.ask(PAGES).header("host", "evil.example").header("host", "api.example");
    hosts.header("origin", EVIL).refused(403, "origin_not_allowed").await;
}

#[tokio::test]
async fn a_preflight_needs_no_key_and_reaches_no_handler() {
    let site = site().await;
    let traces = site.traces().await;
    let asked = "x-api-key,content-type, bad name, if-match";
    for path in ["/api/pages", "/api/backend/item?table=pages", "/api/nothing", "/api/backend/keys"]
    {
        let ask =
            preflight(&site, SHOP, "PATCH", path).header("access-control-request-headers", asked);
        let reply = ask.expect(204).await;
        assert_shared(&reply, Some(SHOP), path);
        for (name, expected) in [
            ("access-control-allow-methods", "GET, HEAD, POST, PATCH, DELETE"),
            ("access-control-allow-headers", "x-api-key, content-type, if-match"),
            ("access-control-max-age", "600"),
        ] {
            assert_eq!(reply.header(name), expected, "{name}");
        }
        assert!(reply.body.is_empty() && !reply.headers.contains_key("content-type"));
        for stranger in [EVIL, "null", "https://idle.example"] {
            let refused =
                preflight(&site, stranger, "PATCH", path).refused(403, "origin_not_allowed").await;
            assert_shared(&refused, None, stranger);
            assert!(!refused.headers.contains_key("access-control-allow-methods"));
        }
    }
    assert_eq!(site.traces().await, traces);
    preflight(&site, SHOP, "GET", "/healthz").expect(405).await;
}

#[tokio::test]
async fn the_limiter_comes_first() {
    let site = Site::with(|s| s.limiter.store = LimiterStore::Memory).await;
    add(&site, SHOP, true).await;
    for n in 0..100 {
        let refused = from(&site, if n % 2 == 0 { EVIL } else { "null" }, PAGES).await;
        assert_eq!(
            (refused.status.as_u16(), refused.header("x-ratelimit-remaining")),
            (403, (99 - n).to_string().as_str())
        );
    }
    assert_shared(&from(&site, EVIL, PAGES).await, None, "refused by the limiter");
    let limited = from(&site, SHOP, PAGES).await;
    assert_eq!(limited.status, 429);
    assert_shared(&limited, Some(SHOP), "the page can read why");
    preflight(&site, SHOP, "GET", "/api/pages").refused(429, "rate_limited").await;
}

#[tokio::test]
async fn a_refused_page_leaves_no_trace() {
    let site = site().await;
    let (id, key) = site.key_with(|_| {}, &["*"]).await;
    let traces = site.traces().await;
    for line in [
        "POST /api/backend/item?table=settings",
        "POST /api/backend/keys",
        "DELETE /api/backend/keys?id=1",
        PAGES,
    ] {
        let ask = site.ask(line).key(&key).header("origin", EVIL).header("idempotency-key", "once");
        ask.json(json!({"name": "x", "value": 1})).refused(403, "origin_not_allowed").await;
    }
    assert_eq!(site.traces().await, traces);
    assert_eq!(site.cms.keys().get(id).await.unwrap().requests, 0);
}

#[tokio::test]
async fn funnels_are_judged_by_the_page_when_it_is_named() {
    let site = site().await;
    for (line, referer, refused) in [
        ("POST /api/formfunnel/start", None, false),
        ("POST /api/formfunnel/start", Some(""), false),
        ("POST /api/formfunnel/start", Some("https://shop.example/a?b#c"), false),
        ("POST /api/formfunnel/start", Some("https://api.example/"), false),
        ("POST /api/formfunnel/start", Some("https://evil.example/https://shop.example"), true),
        ("POST /api/formfunnel/start", Some("https://shop.example@evil.example/"), true),
        ("POST /api/formfunnel/step", Some("about:blank"), true),
        ("POST /api/form%66unnel/step", Some("https://evil.example/"), true),
        ("GET /api/pages", Some("https://evil.example/"), false),
    ] {
        let ask = site.ask(line).header("host", "api.example");
        let ask = if let Some(referer) = referer { ask.header("referer", referer) } else { ask };
        let reply = ask.send().await;
        assert_eq!(reply.status == 403, refused, "{line} {referer:?}: {}", reply.text());
        assert_shared(&reply, None, line);
    }
    let both = site.ask("POST /api/formfunnel/start").header("origin", SHOP);
    let both = both.header("referer", "https://evil.example/").send().await;
    assert_ne!(both.status, 403, "the origin counts when it is sent");
}
