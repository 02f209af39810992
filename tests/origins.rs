//! Origins: which pages may call, what browsers are told, and how soon a change is in force.

use std::time::{Duration, Instant};

use cms_core::{
    Actor, Cms,
    settings::LimiterStore,
    traffic::origins::{NewOrigin, OriginPatch},
};
use cms_http::client::{Ask, ClientError};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::support::{
    Reply, Site, TestDatabase,
    process::{self, Served},
};

const SHOP: &str = "https://shop.example";
const EVIL: &str = "https://evil.example";
const PAGES: &str = "GET /api/pages";

/// A site at www.example that knows SHOP and, not active, https://idle.example.
async fn site() -> Site {
    let site = Site::builder()
        .await
        .settings(|s| s.site_url = Some("https://www.example".to_owned()))
        .open()
        .await;
    add(&site, SHOP, true).await;
    add(&site, "https://idle.example", false).await;
    site
}

async fn add(site: &Site, origin: &str, active: bool) -> i64 {
    let body = json!({"origin": origin, "active": active});
    site.admin("POST /api/backend/origins").json(body).expect(201).await.data()["id"]
        .as_i64()
        .unwrap()
}

async fn from(site: &Site, origin: &str, line: &str) -> Reply {
    site.ask(line).header("host", "api.example").header("origin", origin).send().await
}

fn header<'r>(reply: &'r Reply, name: &str) -> Option<&'r str> {
    reply.headers.get(name).map(|value| value.to_str().unwrap())
}

/// Echoed for `origin`, or without any header of this kind.
fn assert_shared(reply: &Reply, origin: Option<&str>, context: &str) {
    assert_eq!(header(reply, "access-control-allow-origin"), origin, "{context}");
    assert_eq!(
        header(reply, "access-control-allow-credentials"),
        origin.map(|_| "true"),
        "{context}"
    );
    assert_eq!(header(reply, "vary"), Some("Origin"), "{context}");
    let exposed = origin.map(|_| "X-RateLimit-Limit, X-RateLimit-Remaining, X-Request-Id, X-Cache, Age, ETag, Retry-After");
    assert_eq!(header(reply, "access-control-expose-headers"), exposed, "{context}");
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
    let options = site
        .ask("OPTIONS /api/pages")
        .header("access-control-request-method", "GET")
        .expect(405)
        .await;
    assert_shared(&options, None, "no page asks");
    let twice = site
        .ask(PAGES)
        .header("origin", SHOP)
        .header("origin", SHOP)
        .refused(403, "origin_not_allowed")
        .await;
    assert_shared(&twice, None, "twice");
    let latin = site
        .ask(PAGES)
        .header("origin", "https://b\u{fc}cher.example")
        .refused(403, "origin_not_allowed")
        .await;
    assert_shared(&latin, None, "not ASCII");
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
    site.ask("GET http://api.example/api/pages")
        .header("host", "evil.example")
        .header("origin", EVIL)
        .expect(403)
        .await;
    let hosts = site
        .ask(PAGES)
        .header("host", "evil.example")
        .header("host", "api.example")
        .header("origin", EVIL);
    hosts.refused(403, "origin_not_allowed").await;
}

#[tokio::test]
async fn a_preflight_needs_no_key_and_reaches_no_handler() {
    let site = site().await;
    let traces = site.traces().await;
    for line in [
        "OPTIONS /api/pages",
        "OPTIONS /api/backend/item?table=pages",
        "OPTIONS /api/nothing",
        "OPTIONS /api/backend/keys",
    ] {
        let ask =
            site.ask(line).header("origin", SHOP).header("access-control-request-method", "PATCH");
        let reply = ask
            .header("access-control-request-headers", "x-api-key,content-type, bad name, if-match")
            .expect(204)
            .await;
        assert_shared(&reply, Some(SHOP), line);
        assert_eq!(reply.header("access-control-allow-methods"), "GET, HEAD, POST, PATCH, DELETE");
        assert_eq!(
            reply.header("access-control-allow-headers"),
            "x-api-key, content-type, if-match"
        );
        assert_eq!(reply.header("access-control-max-age"), "600");
        assert!(reply.body.is_empty() && !reply.headers.contains_key("content-type"));
        for stranger in [EVIL, "null", "https://idle.example"] {
            let ask = site
                .ask(line)
                .header("origin", stranger)
                .header("access-control-request-method", "PATCH");
            let refused = ask.refused(403, "origin_not_allowed").await;
            assert_shared(&refused, None, stranger);
            assert!(!refused.headers.contains_key("access-control-allow-methods"));
        }
    }
    assert_eq!(site.traces().await, traces);
    site.ask("OPTIONS /healthz")
        .header("origin", SHOP)
        .header("access-control-request-method", "GET")
        .expect(405)
        .await;
}

#[tokio::test]
async fn the_limiter_comes_first() {
    let site =
        Site::builder().await.settings(|s| s.limiter.store = LimiterStore::Memory).open().await;
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
    let preflight = site
        .ask("OPTIONS /api/pages")
        .header("origin", SHOP)
        .header("access-control-request-method", "GET");
    preflight.refused(429, "rate_limited").await;
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
    let both = site
        .ask("POST /api/formfunnel/start")
        .header("origin", SHOP)
        .header("referer", "https://evil.example/");
    assert_ne!(both.send().await.status, 403, "the origin counts when it is sent");
}

#[tokio::test]
async fn origins_are_administered() {
    let site = Site::open().await;
    let path = "/api/backend/origins";
    let made = site
        .admin(&format!("POST {path}"))
        .json(json!({"origin": "HTTPS://Shop.example:443"}))
        .expect(201)
        .await
        .data();
    let id = made["id"].as_i64().unwrap();
    assert_eq!(
        made,
        json!({"id": id, "origin": SHOP, "active": true, "created_at": "2026-11-21T09:30:00Z"})
    );
    let one = format!("{path}?id={id}");
    assert_eq!(site.admin(&format!("GET {one}")).expect(200).await.data(), made);
    site.admin(&format!("POST {path}"))
        .json(json!({"origin": SHOP, "active": false}))
        .refused(409, "conflict")
        .await;
    let other = add(&site, EVIL, false).await;
    site.admin(&format!("PATCH {path}?id={other}"))
        .json(json!({"origin": SHOP}))
        .refused(409, "conflict")
        .await;
    for bad in [
        "null",
        "*",
        "https://a.example/",
        "ftp://a.example",
        "https://*.example",
        "",
        "https://u@a.example",
        "https://bücher.example",
    ] {
        let refused = site
            .admin(&format!("POST {path}"))
            .json(json!({"origin": bad}))
            .refused(422, "validation_failed")
            .await;
        assert_eq!(refused.json()["errors"][0]["field"], "origin", "{bad}");
        site.admin(&format!("PATCH {one}"))
            .json(json!({"origin": bad}))
            .refused(422, "validation_failed")
            .await;
    }
    for body in [
        json!({}),
        json!({"origin": SHOP, "x": 1}),
        json!({"origin": 1}),
        json!({"origin": "https://b.example", "active": "yes"}),
    ] {
        site.admin(&format!("POST {path}")).json(body).refused(422, "validation_failed").await;
    }
    let list = site.admin(&format!("GET {path}?limit=1")).expect(200).await.json();
    assert_eq!(list["data"], json!([made]));
    let next = list["meta"]["next"].as_str().unwrap();
    let rest = site.admin(&format!("GET {path}?limit=1&cursor={next}")).expect(200).await.json();
    assert_eq!(
        (rest["data"][0]["id"].as_i64(), rest["meta"]["next"].as_str()),
        (Some(other), None)
    );
    let patched = site
        .admin(&format!("PATCH {one}"))
        .json(json!({"origin": "http://b.example:8080", "active": false}))
        .expect(200)
        .await;
    assert_eq!(
        (patched.data()["origin"].as_str(), patched.data()["active"].as_bool()),
        (Some("http://b.example:8080"), Some(false))
    );
    site.admin(&format!("DELETE {one}")).expect(204).await;
    for method in ["GET", "PATCH", "DELETE"] {
        site.admin(&format!("{method} {one}")).json(json!({})).refused(404, "not_found").await;
    }
    let audit = site.admin("GET /api/backend/audit?limit=4").expect(200).await.data();
    let actions: Vec<_> = audit
        .as_array()
        .unwrap()
        .iter()
        .filter(|row| row["table"] == "origins")
        .map(|row| row["action"].clone())
        .collect();
    assert_eq!(actions, ["delete", "update", "create", "create"]);
    // Rights like everywhere: a row for it, or everything.
    site.ask(&format!("GET {path}")).refused(401, "login_required").await;
    let reader = site.key(&["GET /api/backend/origins"]).await;
    site.ask(&format!("GET {path}")).key(&reader).expect(200).await;
    site.ask(&format!("POST {path}"))
        .key(&reader)
        .json(json!({"origin": SHOP}))
        .refused(401, "api_key_forbidden")
        .await;
}

#[tokio::test]
async fn a_change_counts_from_the_next_request_on() {
    let site = Site::open().await;
    assert_eq!(from(&site, SHOP, PAGES).await.status, 403);
    let id = add(&site, SHOP, true).await;
    let one = format!("/api/backend/origins?id={id}");
    for (line, body, status) in [
        ("PATCH", json!({"active": true}), 200),
        ("PATCH", json!({"active": false}), 403),
        ("PATCH", json!({"active": true}), 200),
        ("PATCH", json!({"origin": EVIL}), 403),
        ("PATCH", json!({"origin": SHOP}), 200),
        ("DELETE", json!({}), 403),
    ] {
        site.admin(&format!("{line} {one}")).json(body).send().await;
        assert_eq!(from(&site, SHOP, PAGES).await.status.as_u16(), status, "{line}");
    }
    // What is known costs no query.
    add(&site, SHOP, true).await;
    from(&site, SHOP, "OPTIONS /api/pages").await;
    let sent = site.cms.db().statements_sent();
    for n in 0..50 {
        from(&site, &format!("https://{n}.example"), PAGES).await;
        assert_eq!(from(&site, SHOP, "OPTIONS /api/pages").await.status, 405);
    }
    assert_eq!(site.cms.db().statements_sent(), sent);
    let change = site.cms.change(Actor::Operator).await;
    let mut change = change.unwrap();
    let new = NewOrigin { origin: EVIL.to_owned(), active: true };
    site.cms.origins().create(&mut change, new).await.unwrap();
    drop(change);
    assert_eq!(from(&site, EVIL, PAGES).await.status, 403, "what was not committed does not count");
}

#[tokio::test]
async fn a_change_of_another_process_is_followed() {
    let site = site().await;
    assert_eq!(from(&site, EVIL, PAGES).await.status, 403);
    let other = Cms::open(site.cms.settings().clone()).await.unwrap();
    let mut change = other.change(Actor::Operator).await.unwrap();
    let evil = other
        .origins()
        .create(&mut change, NewOrigin { origin: EVIL.to_owned(), active: true })
        .await
        .unwrap();
    change.commit().await.unwrap();
    assert!(other.origins().allows(EVIL).await.unwrap(), "at once where it was made");
    site.cms.catch_up().await.unwrap();
    assert_eq!(from(&site, EVIL, PAGES).await.status, 200);
    let mut change = other.change(Actor::Operator).await.unwrap();
    let off = OriginPatch { active: Some(false), ..OriginPatch::default() };
    other.origins().update(&mut change, evil.id, off).await.unwrap();
    change.commit().await.unwrap();
    site.cms.catch_up().await.unwrap();
    assert_eq!(from(&site, EVIL, PAGES).await.status, 403);
    other.close().await;
}

/// Asks until the status is there; fails after a second.
async fn until(served: &Served, origin: &str, status: u16) -> Duration {
    let (host, begin) = (served.url.strip_prefix("http://").unwrap(), Instant::now());
    loop {
        let mut stream = TcpStream::connect(host).await.unwrap();
        let request = format!(
            "GET /api/pages HTTP/1.1\r\nhost: {host}\r\norigin: {origin}\r\nconnection: close\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).await.unwrap();
        if reply.starts_with(&format!("HTTP/1.1 {status} ")) {
            return begin.elapsed();
        }
        assert!(begin.elapsed() < Duration::from_secs(1), "still after a second: {reply}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_command_line_reaches_a_running_service() {
    let database = TestDatabase::new().await;
    process::run(&database, &["init"]);
    let served = Served::start(&database, "warn");
    until(&served, SHOP, 403).await;
    let check = |url: &str| {
        let output = process::output(&database, &["--json", "origins", "check", url]);
        let text = String::from_utf8(output.stdout).unwrap();
        let body: serde_json::Value =
            serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
        (output.status.code(), body["data"]["reason"].as_str().unwrap().to_owned())
    };
    assert_eq!(check(SHOP), (Some(1), "not_registered".to_owned()));
    assert_eq!(check("shop.example"), (Some(1), "not_an_origin".to_owned()));
    let made = process::run(&database, &["--json", "origins", "add", SHOP]);
    let id = serde_json::from_str::<serde_json::Value>(&made).unwrap()["data"]["id"].to_string();
    let mut waits = vec![until(&served, SHOP, 200).await];
    assert_eq!(check(SHOP), (Some(0), "allowed".to_owned()));
    for (arguments, status) in [
        (vec!["origins", "deactivate", &id], 403),
        (vec!["origins", "activate", &id], 200),
        (vec!["origins", "deactivate", &id], 403),
    ] {
        process::run(&database, &arguments);
        waits.push(until(&served, SHOP, status).await);
    }
    assert_eq!(check(SHOP), (Some(1), "inactive".to_owned()));
    assert_eq!(
        process::output(&database, &["--no-input", "origins", "remove", &id]).status.code(),
        Some(2)
    );
    assert_eq!(
        process::output(&database, &["origins", "add", "https://a.example/b"]).status.code(),
        Some(1)
    );
    process::run(&database, &["origins", "remove", &id, "--yes"]);
    assert_eq!(process::output(&database, &["origins", "activate", &id]).status.code(), Some(5));
    assert_eq!(process::run(&database, &["origins", "list"]), "");
    process::run(&database, &["origins", "add", EVIL, "--inactive"]);
    println!("in force after the command has ended: {waits:?}");
    // The same over the network.
    let made =
        process::run(&database, &["--json", "keys", "create", "--name", "x", "--right", "*"]);
    let key = serde_json::from_str::<serde_json::Value>(&made).unwrap()["data"]["key"]
        .as_str()
        .unwrap()
        .to_owned();
    let mut remote =
        process::command(&database, &["--url", &served.url, "--json", "origins", "add", SHOP]);
    assert!(remote.env("CMS_API_KEY", &key).output().unwrap().status.success());
    assert!(until(&served, SHOP, 200).await < Duration::from_millis(500));
    match served
        .client(&key)
        .send(Ask::post("/api/backend/origins").json(&json!({"origin": EVIL})))
        .await
    {
        Err(ClientError::Problem { code, .. }) => assert_eq!(code, "conflict"),
        other => panic!("{other:?}"),
    }
    assert_eq!(served.terminate().0, Some(0));
}
