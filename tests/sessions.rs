//! Sessions: how long, for whom, and what a cookie may do.

use cms_core::settings::{LimiterStore, Settings};
use serde_json::json;

use crate::support::{
    Site,
    people::{PASSWORD, Person, code},
};

/// Whether the session of a token is open.
async fn is_open(site: &Site, token: &str) -> bool {
    let reply = site.ask("GET /api/backend/auth/me").bearer(token).send().await;
    match reply.status.as_u16() {
        200 => true,
        401 => {
            assert_eq!(reply.json()["error"], "login_required");
            false
        }
        other => panic!("{other}: {}", reply.text()),
    }
}

/// The token of one more session.
async fn again(site: &Site, person: &Person) -> String {
    site.log_in_again(person).await.data()["token"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_session_ends_when_it_is_idle_and_after_a_week() {
    let site = Site::open().await;
    let ana = site.person("ana", json!([])).await;
    let after = async |millis: i64, token: &str| {
        site.clock.advance(millis);
        is_open(&site, token).await
    };
    let hour = 3_600_000;
    assert!(after(7 * hour, &ana.token).await);
    assert!(after(8 * hour - 1, &ana.token).await);
    for _ in 0..21 {
        assert!(after(7 * hour, &ana.token).await);
    }
    // 7 + 8 + 21 * 7 = 162 hours; a week has 168.
    assert!(after(5 * hour, &ana.token).await);
    assert!(!after(hour, &ana.token).await, "absolute");

    site.log_in_again(&ana).await;
    let idle = again(&site, &ana).await;
    // Uses are noted once a minute, so a session may last a minute longer than set.
    assert!(after(59_999, &idle).await);
    assert!(after(8 * hour - 1, &idle).await, "never shorter than set");
    assert!(!after(8 * hour + 60_000, &idle).await, "idle");
    assert!(site.cms.expire().await.unwrap() > 0);
    assert_eq!(site.database.rows("cms_sessions").await, 0);
}

#[tokio::test]
async fn what_ends_sessions_is_in_force_on_the_next_request() {
    let site = Site::open().await;
    let ana = site.person("ana", json!(["keys_keys_view"])).await;
    let group = site.get("/api/backend/user_groups?limit=1").await[0]["id"].clone();
    let keys = || site.ask("GET /api/backend/keys").bearer(&ana.token);
    keys().expect(200).await;
    site.patch(&format!("/api/backend/user_groups?id={group}"), json!({"rights": []})).await;
    keys().refused(403, "permission_denied").await;
    let user = format!("/api/backend/users?id={}", ana.id);
    for (line, body) in [
        (format!("PATCH {user}"), Some(json!({"password": "another good one"}))),
        (format!("PATCH {user}"), Some(json!({"active": false}))),
        (format!("DELETE /api/backend/users/sessions?id={}", ana.id), None),
        (format!("DELETE {user}"), None),
    ] {
        site.patch(&user, json!({"password": PASSWORD, "active": true})).await;
        let token = again(&site, &ana).await;
        assert!(is_open(&site, &token).await);
        let ask = site.admin(&line);
        let reply = match body {
            Some(body) => ask.json(body).send().await,
            None => ask.send().await,
        };
        assert!(reply.status.is_success(), "{line}: {}", reply.text());
        assert!(!is_open(&site, &token).await, "{line}");
    }
}

#[tokio::test]
async fn a_user_who_is_switched_off_in_the_middle_of_a_login_does_not_get_in() {
    let site = Site::open().await;
    let ana = site.person("ana", json!([])).await;
    let pending = site.begin("ana", PASSWORD).await.data()["pending_token"].clone();
    site.patch(&format!("/api/backend/users?id={}", ana.id), json!({"active": false})).await;
    let proof = json!({"code": code(&ana.secret, site.clock.now())});
    assert_eq!(site.verify(&pending, proof).await.json()["error"], "pending_expired");
}

#[tokio::test]
async fn a_cookie_changes_things_only_for_pages_that_may_call() {
    let site = Site::open().await;
    let ana = site.person("ana", json!(["settings_settings_view", "settings_settings_edit"])).await;
    site.create("/api/backend/origins", json!({"origin": "https://admin.example.org"})).await;
    let cookie = format!("theme=dark; __Host-cms_session={}; x=y", ana.token);
    let by_cookie = |line: &str| site.ask(line).header("cookie", &cookie);
    let line = "POST /api/backend/item?table=settings";
    let write = || by_cookie(line).json(json!({"name": "claim", "value": 1}));
    by_cookie("GET /api/backend/item?table=settings").expect(200).await;
    write().refused(403, "csrf").await;
    write().header("origin", "null").refused(403, "origin_not_allowed").await;
    write().header("origin", "https://evil.example").refused(403, "origin_not_allowed").await;
    write().header("origin", "https://admin.example.org").expect(201).await;
    let delete = "DELETE /api/backend/item?table=settings&id=claim";
    by_cookie(delete).refused(403, "csrf").await;
    by_cookie("POST /api/backend/auth/logout").refused(403, "csrf").await;
    // A program sends its token by itself, so nobody else can send it for the program.
    site.ask(delete).bearer(&ana.token).expect(204).await;
    // With both, the token counts: the page could not have made the browser send it.
    write().bearer(&ana.token).expect(201).await;
}

#[tokio::test]
async fn nobody_is_told_to_send_a_key_where_none_is_taken() {
    let site = Site::open().await;
    for (line, advises) in [("GET /api/backend/auth/me", false), ("GET /api/backend/keys", true)] {
        let reply = site.ask(line).refused(401, "login_required").await;
        assert_eq!(reply.text().contains("X-Api-Key"), advises, "{line}: {}", reply.text());
    }
}

#[tokio::test]
async fn a_dead_session_reads_what_everybody_may_read() {
    let site = Site::open().await;
    for (name, value) in [
        ("cookie", "__Host-cms_session=gone"),
        ("authorization", "Bearer gone"),
        ("authorization", "Basic YTpi"),
    ] {
        site.ask("GET /api/settings").header(name, value).expect(200).await;
        site.ask("GET /api/backend/keys").header(name, value).refused(401, "login_required").await;
        site.ask("GET /api/nothing").header(name, value).refused(401, "api_key_missing").await;
    }
}

#[tokio::test]
async fn each_user_has_his_own_bucket() {
    let memory = |settings: &mut Settings| settings.limiter.store = LimiterStore::Memory;
    let site = Site::with(memory).await;
    let ana = site.person("ana", json!([])).await;
    let mine = site.ask("GET /api/backend/auth/me").bearer(&ana.token).expect(200).await;
    let bucket = ["x-ratelimit-limit", "x-ratelimit-remaining"].map(|name| mine.header(name));
    assert_eq!(bucket, ["250", "249"]);
    let dead = site.ask("GET /api/backend/auth/me").bearer("gone").expect(401).await;
    assert_eq!(dead.header("x-ratelimit-limit"), "100", "a dead session counts for the address");
}
