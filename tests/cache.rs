//! The cache of replies to anonymous visitors: fresh, bounded, never for anybody in particular.

use cms_core::{
    Clock, Cms, Random,
    settings::{LimiterStore, Settings},
};
use cms_http::{Api, FrontendLogin};
use serde_json::json;

use crate::support::{Ask, Reply, Site, TestDatabase, log::Log};

pub(crate) const HOME: &str = "GET /api/pages?view=home";

fn on(settings: &mut Settings) {
    settings.cache.enabled = true;
    settings.cache.ttl_s = 300;
}

async fn filled(database: TestDatabase) -> Site {
    fill(Site::on(database).settings(on).open().await).await
}

async fn fill(site: Site) -> Site {
    let page = |id: i64, language: &str, url: &str| {
        json!({
            "id": id, "base_id": 1, "language_short": language, "url_rewrite": url,
            "title": format!("T{id}"), "view": "home", "published": true,
        })
    };
    site.insert("pages", json!([page(1, "en", "/"), page(2, "de", "/de")])).await;
    site.insert("settings", json!({"name": "claim", "value": 1, "public": true})).await;
    site
}

pub(crate) async fn site() -> Site {
    filled(TestDatabase::new().await).await
}

fn state(reply: &Reply) -> String {
    let state = reply.headers.get("x-cache");
    state.map_or("-", |value| value.to_str().unwrap()).to_owned()
}

pub(crate) async fn asked(ask: Ask) -> String {
    state(&ask.expect(200).await)
}

#[tokio::test]
async fn missed_once_then_hit_until_it_is_old() {
    let site = site().await;
    let first = site.ask(HOME).expect(200).await;
    assert_eq!((state(&first).as_str(), first.headers.get("age")), ("MISS", None));
    site.clock.advance(7_900);
    let second = site.ask(HOME).expect(200).await;
    assert_eq!(
        (state(&second).as_str(), second.header("age"), &second.body),
        ("HIT", "7", &first.body)
    );
    assert_eq!(second.header("etag"), first.header("etag"));
    let unchanged = site.ask(HOME).header("if-none-match", first.header("etag")).expect(304).await;
    assert_eq!(state(&unchanged), "HIT");
    let head = site.ask("HEAD /api/pages?view=home").expect(200).await;
    assert_eq!(
        (state(&head).as_str(), head.body.is_empty(), head.header("content-length")),
        ("HIT", true, first.body.len().to_string().as_str())
    );
    let hit = async || {
        site.ask(HOME).expect(200).await;
    };
    assert_eq!(site.statements(hit).await, 0, "a hit asks nobody");
    site.clock.advance(300_000 - 7_900);
    assert_eq!(asked(site.ask(HOME)).await, "MISS");
}

/// Visitors learn no cause. The log has it under the id of the request, and on no line without one.
#[tokio::test]
async fn the_log_has_the_cause_of_a_fault_under_its_request() {
    let site = site().await;
    site.database.run("alter table cms_menu_items rename to cms_menu_gone").await;
    let log = Log::begin();
    let reply = site.ask("GET /api/menu").send().await;
    let log = log.end();
    assert!(reply.status.is_server_error() && !reply.text().contains("cms_menu"), "{reply:?}");
    let faults: Vec<_> = log.lines().filter(|line| line.contains(" ERROR ")).collect();
    let id = reply.header("x-request-id");
    let is_told = |line: &&str| line.contains(id) && line.contains("(cause: ");
    assert!(!faults.is_empty() && faults.iter().all(is_told), "{id}: {log}");
}

/// A repeated request is answered without reading it again: nobody may notice.
#[tokio::test]
async fn the_short_way_and_the_long_way_say_the_same() {
    let builder =
        Site::builder().await.settings(on).settings(|s| s.limiter.store = LimiterStore::Memory);
    let site = fill(builder.open().await).await;
    let etag = site.ask(HOME).expect(200).await.header("etag").to_owned();
    let mut heads = std::collections::BTreeSet::new();
    let mut unchanged = std::collections::BTreeSet::new();
    for n in 0..40 {
        for (tag, status, seen) in
            [("\"other\"", 200, &mut heads), (etag.as_str(), 304, &mut unchanged)]
        {
            let ask = site.ask(HOME).header("if-none-match", tag);
            // What is asked in two lines goes the long way.
            let ask = if n % 4 == 0 { ask.header("if-none-match", "\"another\"") } else { ask };
            let mut reply = ask.expect(status).await;
            assert_eq!(
                reply.header("x-ratelimit-remaining"),
                (98 - 2 * n - i32::from(status == 304)).to_string()
            );
            assert!(status == 304 && reply.body.is_empty() || reply.data()["title"] == "T1");
            for differs in ["x-request-id", "x-ratelimit-remaining"] {
                assert!(reply.headers.remove(differs).is_some());
            }
            let mut head: Vec<_> =
                reply.headers.iter().map(|(name, value)| format!("{name}: {value:?}")).collect();
            head.sort();
            seen.insert(head);
        }
    }
    assert_eq!((heads.len(), unchanged.len()), (1, 1), "{heads:?} {unchanged:?}");
    // What is for somebody, or asked in another way, takes the long way.
    for ask in
        [site.ask(HOME).key(&site.admin), site.ask(HOME).header("cookie", "__Host-cms_session=x")]
    {
        assert_ne!(asked_any(ask).await, "HIT");
    }
    let page = site.ask(HOME).header("origin", "http://cms.test").expect(200).await;
    assert_eq!(page.header("access-control-allow-origin"), "http://cms.test");
    site.ask(HOME)
        .header("origin", "https://evil.example")
        .refused(403, "origin_not_allowed")
        .await;
    site.ask(HOME).key("cms_k1_wrong").refused(401, "api_key_invalid").await;
    while site.ask(HOME).send().await.status == 200 {}
    let refused = site.ask(HOME).refused(429, "rate_limited").await;
    assert_eq!(refused.header("x-ratelimit-remaining"), "0");
}

async fn asked_any(ask: Ask) -> String {
    state(&ask.send().await)
}

#[tokio::test]
async fn fresh_right_after_every_kind_of_write() {
    let site = site().await;
    let item = "/api/backend/item?table=pages";
    let patch =
        |title: &str| site.admin(&format!("PATCH {item}&id=1")).json(json!({"title": title}));
    let new = json!({"title": "x", "url_rewrite": "/x"});
    for (settings, write) in [
        ("MISS", patch("changed")),
        ("HIT", site.admin(&format!("POST {item}")).json(new)),
        ("HIT", site.admin(&format!("DELETE {item}&id=2"))),
    ] {
        site.ask(HOME).expect(200).await;
        assert_eq!(asked(site.ask(HOME)).await, "HIT");
        assert_eq!(asked(site.ask("GET /api/settings")).await, settings, "other tables stay");
        assert!(write.send().await.status.is_success());
        let fresh = site.ask(HOME).expect(200).await;
        assert_eq!((state(&fresh).as_str(), &fresh.data()["title"]), ("MISS", &json!("changed")));
    }
    assert_eq!(patch("x").header("if-match", "\"no\"").send().await.status, 412);
    assert_eq!(asked(site.ask(HOME)).await, "HIT", "a refused write changes nothing");
}

/// Another process on the same database.
pub(crate) async fn beside(site: &Site) -> (Cms, Api) {
    let mut settings = site.database.settings();
    on(&mut settings);
    let clock = Clock::fixed(site.clock.now());
    let cms = Cms::builder(settings).clock(clock).random(Random::seeded(99)).open().await.unwrap();
    (cms.clone(), Api::new(cms).unwrap())
}

#[tokio::test]
async fn another_process_follows() {
    let site = site().await;
    let (cms, _api) = beside(&site).await;
    site.ask(HOME).expect(200).await;
    let mut change = cms.change(cms_core::Actor::Operator).await.unwrap();
    let body = json!({"title": "elsewhere"});
    let any = cms_core::items::IfMatch::Nothing;
    let body = body.as_object().unwrap();
    cms.items().update(&mut change, "pages", "1", None, &any, body).await.unwrap();
    change.commit().await.unwrap();
    site.cms.catch_up().await.unwrap();
    let fresh = site.ask(HOME).expect(200).await;
    assert_eq!((state(&fresh).as_str(), &fresh.data()["title"]), ("MISS", &json!("elsewhere")));

    let mut change = cms.change(cms_core::Actor::Operator).await.unwrap();
    cms.cache().clear(&mut change, "/api/pages").await.unwrap();
    change.commit().await.unwrap();
    site.ask("GET /api/settings").expect(200).await;
    site.cms.catch_up().await.unwrap();
    assert_eq!(asked(site.ask(HOME)).await, "MISS");
    assert_eq!(asked(site.ask("GET /api/settings")).await, "HIT");
}

#[tokio::test]
async fn never_for_somebody_in_particular() {
    let site = site().await;
    site.ask(HOME).expect(200).await;
    let key = site.key(&["GET /api/pages"]).await;
    for (ask, expected) in [
        (site.ask(HOME).key(&key), "-"),
        (site.ask(HOME).header("authorization", "Bearer x"), "-"),
        (site.ask(HOME).header("cookie", "a=b; __Host-cms_session=x"), "-"),
        (site.ask(HOME).extension(FrontendLogin), "-"),
        (site.ask(HOME).header("cookie", "theme=dark"), "HIT"),
        (site.admin("GET /api/backend/item?table=pages"), "-"),
        (site.ask("GET /healthz"), "-"),
        (site.ask("GET /sitemap.xml"), "MISS"),
        (site.ask("GET /sitemap.xml"), "HIT"),
        (site.ask("GET /sitemap.xml").header("cookie", "__Host-cms_session=x"), "-"),
    ] {
        assert_eq!(asked(ask).await, expected);
    }
    site.ask(HOME).key("nonsense").refused(401, "api_key_invalid").await;
    let forbidden = site.key(&["GET /api/menu"]).await;
    site.ask(HOME).key(&forbidden).refused(401, "api_key_forbidden").await;
}

#[tokio::test]
async fn what_differs_is_kept_apart() {
    let site = site().await;
    let of =
        |host: &str, query: &str| site.ask(&format!("GET /api/pages?{query}")).header("host", host);
    for (host, query, expected) in [
        ("a.example", "view=home", "MISS"),
        ("A.example", "view=home", "HIT"),
        ("b.example", "view=home", "MISS"),
        ("cms.test", "view=home&language=de", "MISS"),
        // The order of parameters does not matter.
        ("cms.test", "language=de&view=home", "HIT"),
        ("cms.test", "view=home&language=en", "MISS"),
        // A value cannot look like a parameter.
        ("c11.example", "language=de%0A4:view=home", "MISS"),
        ("c11.example", "language=de&view=home", "MISS"),
        ("c12.example", "language=de%0A4:4:viewhome", "MISS"),
        ("c12.example", "language=de&view=home", "MISS"),
    ] {
        assert_eq!(asked(of(host, query)).await, expected, "{host} {query}");
    }
    let missing = site.ask("GET /api/pages?view=nothing").refused(404, "not_found").await;
    assert_eq!(state(&missing), "-");
    let page = json!({"title": "n", "url_rewrite": "/n", "view": "nothing", "published": true});
    site.insert("pages", page).await;
    site.ask("GET /api/pages?view=nothing").expect(200).await;
    let long = format!("GET /api/menu?name={}", "a".repeat(3000));
    assert_eq!(asked(site.ask(&long)).await, "-");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_misses_at_once_fill_once() {
    let site = site().await;
    // The rules are read once.
    site.ask("GET /api/menu").expect(200).await;
    let mut least = u64::MAX;
    for round in 0..3 {
        site.update("pages&id=1", json!({"title": format!("r{round}")})).await;
        let before = site.cms.db().statements_sent();
        let replies = futures_util::future::join_all((0..200).map(|_| site.ask(HOME).send())).await;
        least = least.min(site.cms.db().statements_sent() - before);
        assert!(replies.iter().all(|reply| reply.data()["title"] == format!("r{round}")));
        assert_eq!(replies.iter().filter(|reply| state(reply) == "MISS").count(), 1);
    }
    assert_eq!(least, 1, "a page is read once; a look at other processes is counted with it");
}

#[tokio::test]
async fn the_store_is_bounded() {
    let change = |s: &mut Settings| {
        on(s);
        s.cache.max_bytes = 100_000;
    };
    let site = Site::with(change).await;
    for n in 0..2000 {
        site.ask(&format!("GET /api/menu?name={n}")).expect(200).await;
    }
    let shown = site.get("/api/backend/cache").await;
    assert!(shown["bytes"].as_u64().unwrap() <= 100_000, "{shown}");
}

/// The command line beside a running service.
#[tokio::test]
async fn a_clear_from_the_command_line_reaches_the_service() {
    use crate::support::process::{self, Served};
    let database = TestDatabase::new().await;
    process::run(&database, &["init"]);
    let served = Served::start(&database, "warn");
    let state = || {
        let reply = served.get("/api/settings");
        reply.lines().find_map(|line| line.strip_prefix("x-cache: ").map(str::to_owned))
    };
    assert_eq!((state().as_deref(), state().as_deref()), (Some("MISS"), Some("HIT")));
    process::run(&database, &["cache", "clear", "--path", "/api/settings"]);
    let began = std::time::Instant::now();
    let until = |holds: &dyn Fn(Option<&str>) -> bool| {
        while !holds(state().as_deref()) {
            assert!(began.elapsed().as_secs() < 10, "the service does not hear of it");
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    };
    until(&|state| state == Some("MISS"));
    println!("cleared after {:?}", began.elapsed());
    process::run(&database, &["cache", "off"]);
    until(&|state| state.is_none());
}
