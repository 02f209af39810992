//! Keys at every door: each refusal has its own code, and a change counts from the next request on.

use crate::support::Site;

const PAGES: &str = "GET /api/pages";

const ITEM: &str = "GET /api/backend/item?table=pages";

#[tokio::test]
async fn each_refusal_has_its_code() {
    let site = Site::open().await;
    let pages = site.key(&[PAGES]).await;
    let items = site.key(&[ITEM]).await;
    let (_, disabled) = site.key_with(|new| new.active = false, &["*"]).await;
    let (_, expired) =
        site.key_with(|new| new.expires_on = Some("2026-11-21".to_owned()), &["*"]).await;
    let (_, tomorrow) =
        site.key_with(|new| new.expires_on = Some("2026-11-22".to_owned()), &["*"]).await;
    let mut mistyped = pages.clone();
    mistyped.replace_range(10..11, if &pages[10..11] == "x" { "y" } else { "x" });
    let unknown = "cms_k1_";
    for (line, key, status, code) in [
        (PAGES, None, 200, ""),
        (PAGES, Some(&pages), 200, ""),
        (PAGES, Some(&mistyped), 401, "api_key_invalid"),
        (PAGES, Some(&unknown.to_owned()), 401, "api_key_invalid"),
        (PAGES, Some(&items), 401, "api_key_forbidden"),
        (PAGES, Some(&disabled), 401, "api_key_disabled"),
        (PAGES, Some(&expired), 401, "api_key_expired"),
        (PAGES, Some(&tomorrow), 200, ""),
        (ITEM, None, 401, "login_required"),
        (ITEM, Some(&pages), 401, "api_key_forbidden"),
        (ITEM, Some(&items), 200, ""),
        ("HEAD /api/backend/item?table=pages", Some(&items), 200, ""),
        ("GET /api/backend/item?table=settings", Some(&items), 401, "api_key_forbidden"),
        ("GET /api/backend/item", Some(&items), 401, "api_key_forbidden"),
        ("POST /api/backend/item?table=pages", Some(&items), 401, "api_key_forbidden"),
        ("GET /api/nothing", None, 401, "api_key_missing"),
        ("GET /api/nothing", Some(&pages), 401, "api_key_forbidden"),
        ("GET /api/nothing", Some(&site.admin), 404, "not_found"),
        ("GET /api/backend/nothing", None, 401, "login_required"),
        ("GET /api/backend/nothing", Some(&site.admin), 404, "not_found"),
        ("GET /nothing", None, 404, "not_found"),
        ("PUT /api/pages", None, 405, "method_not_allowed"),
        ("PUT /api/backend/item?table=pages", None, 401, "login_required"),
        ("PUT /api/backend/item?table=pages", Some(&items), 401, "api_key_forbidden"),
        ("PUT /api/backend/item?table=pages", Some(&site.admin), 405, "method_not_allowed"),
        ("GET /api/backend/item?table=api_keys", Some(&items), 401, "api_key_forbidden"),
        ("GET /api/backend/item?table=api_keys", Some(&site.admin), 404, "unknown_table"),
        ("GET /api/backend/item?table=cms_api_keys", Some(&site.admin), 404, "unknown_table"),
        ("GET /api/backend/item?table=sqlite_master", Some(&site.admin), 404, "unknown_table"),
    ] {
        let ask = match key {
            Some(key) => site.ask(line).key(key),
            None => site.ask(line),
        };
        if status == 200 {
            ask.expect(200).await;
        } else {
            let refused = ask.refused(status, code).await;
            assert_eq!(refused.json()["status"], status);
            assert_eq!(refused.json()["request_id"], refused.header("x-request-id"));
            assert_eq!(refused.headers.contains_key("www-authenticate"), status == 401);
            assert_eq!(refused.headers.contains_key("allow"), status == 405);
        }
    }
    let named = site.ask(&format!("GET /api/pages?x-api-key={pages}"));
    let told = named.refused(400, "bad_query").await;
    assert!(!told.text().contains(&pages), "{}", told.text());
    for ask in [site.ask(&format!("{ITEM}&api_key={items}")), site.ask(ITEM).bearer(&items)] {
        ask.refused(401, "login_required").await;
    }
    site.ask(ITEM).key(&items).key(&items).refused(400, "bad_query").await;
}

#[tokio::test]
async fn a_mistyped_key_costs_no_query() {
    let site = Site::open().await;
    let long = "a".repeat(5000);
    let mistype = async || {
        for key in ["x", "cms_k1_", "cms_k1_0123456789012345678901234567890123", "", "ü", &long] {
            site.ask(ITEM).key(key).send().await;
        }
    };
    assert_eq!(site.statements(mistype).await, 0);
}

#[tokio::test]
async fn whatever_is_committed_counts_from_the_next_request_on() {
    let site = Site::open().await;
    let (id, key) = site.key_with(|_| {}, &[PAGES]).await;
    site.ask(PAGES).key(&key).expect(200).await;
    for (change, expected) in [
        ("active = false", Err("api_key_disabled")),
        ("active = true", Ok(())),
        ("expires_on = '2020-01-01'", Err("api_key_expired")),
        ("expires_on = null", Ok(())),
        ("rights = '[]'", Err("api_key_forbidden")),
    ] {
        // By SQL, past this process and all its counters.
        site.database.run(format!("update cms_api_keys set {change} where id = {id}")).await;
        for _ in 0..2 {
            match expected {
                Ok(()) => drop(site.ask(PAGES).key(&key).expect(200).await),
                Err(code) => drop(site.ask(PAGES).key(&key).refused(401, code).await),
            }
        }
    }
    site.database.run(format!("delete from cms_api_keys where id = {id}")).await;
    site.ask(PAGES).key(&key).refused(401, "api_key_invalid").await;
}

#[tokio::test]
async fn a_grace_that_has_ended_does_not_begin_again() {
    let site = Site::open().await;
    for seen in ["by a request", "by the removal of old rows"] {
        let (id, old) = site.key_with(|_| {}, &[PAGES]).await;
        let rotate = format!("/api/backend/keys/rotate?id={id}");
        site.post(&rotate, serde_json::json!({"grace_s": 60})).await;
        site.ask(PAGES).key(&old).expect(200).await;
        site.clock.advance(60_000);
        if seen == "by a request" {
            site.ask(PAGES).key(&old).refused(401, "api_key_invalid").await;
        } else {
            site.cms.expire().await.unwrap();
        }
        site.clock.advance(-30_000);
        site.ask(PAGES).key(&old).refused(401, "api_key_invalid").await;
        site.clock.advance(30_000);
    }
}

/// On PostgreSQL each holds its caller's key, and waits to change it.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_key_that_changes_itself_is_not_in_its_own_way() {
    let site = Site::open().await;
    let (id, key) = site.key_with(|_| {}, &["*"]).await;
    let line = format!("PATCH /api/backend/keys?id={id}");
    let patch = |n: usize| {
        let body = serde_json::json!({"name": format!("n{n}")});
        site.ask(&line).key(&key).json(body).expect(200)
    };
    for _ in 0..5 {
        futures_util::future::join_all((0..8).map(patch)).await;
    }
}
