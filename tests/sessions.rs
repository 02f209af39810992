//! Sessions: how long, for whom, and what a cookie may do.

use serde_json::json;

use crate::support::{
    Site,
    people::{PASSWORD, Person, code},
};

async fn is_open(site: &Site, person: &Person) -> bool {
    let reply = site.ask("GET /api/backend/auth/me").bearer(&person.token).send().await;
    match reply.status.as_u16() {
        200 => true,
        401 => {
            assert_eq!(reply.json()["error"], "login_required");
            false
        }
        other => panic!("{other}: {}", reply.text()),
    }
}

#[tokio::test]
async fn a_session_ends_when_it_is_idle_and_after_a_week() {
    let site = Site::open().await;
    let ana = site.person("ana", json!([])).await;
    let hours = |n: i64| n * 3_600_000;
    site.clock.advance(hours(7));
    assert!(is_open(&site, &ana).await);
    site.clock.advance(hours(8) - 1);
    assert!(is_open(&site, &ana).await);
    for _ in 0..21 {
        site.clock.advance(hours(7));
        assert!(is_open(&site, &ana).await);
    }
    // 7 + 8 + 21 * 7 = 162 hours; a week has 168.
    site.clock.advance(hours(5));
    assert!(is_open(&site, &ana).await);
    site.clock.advance(hours(1));
    assert!(!is_open(&site, &ana).await, "absolute");

    site.log_in_again(&ana).await;
    let idle = Person {
        token: site.log_in_again(&ana).await.data()["token"].as_str().unwrap().to_owned(),
        ..ana
    };
    // Uses are noted once a minute, so a session may last a minute longer than set.
    site.clock.advance(59_999);
    assert!(is_open(&site, &idle).await);
    site.clock.advance(hours(8) - 1);
    assert!(is_open(&site, &idle).await, "never shorter than set");
    site.clock.advance(hours(8) + 60_000);
    assert!(!is_open(&site, &idle).await, "idle");
    assert!(site.cms.expire().await.unwrap() > 0);
    assert_eq!(site.database.count("select count(*) from cms_sessions").await, 0);
}

#[tokio::test]
async fn what_ends_sessions_is_in_force_on_the_next_request() {
    let site = Site::open().await;
    let ana = site.person("ana", json!(["keys_keys_view"])).await;
    let group =
        site.admin("GET /api/backend/user_groups?limit=1").expect(200).await.data()[0]["id"]
            .clone();
    site.ask("GET /api/backend/keys").bearer(&ana.token).expect(200).await;
    site.admin(&format!("PATCH /api/backend/user_groups?id={group}"))
        .json(json!({"rights": []}))
        .expect(200)
        .await;
    site.ask("GET /api/backend/keys").bearer(&ana.token).refused(403, "permission_denied").await;
    let user = format!("/api/backend/users?id={}", ana.id);
    for (line, body) in [
        (format!("PATCH {user}"), Some(json!({"password": "another good one"}))),
        (format!("PATCH {user}"), Some(json!({"active": false}))),
        (format!("DELETE /api/backend/users/sessions?id={}", ana.id), None),
        (format!("DELETE {user}"), None),
    ] {
        site.admin(&format!("PATCH {user}"))
            .json(json!({"password": PASSWORD, "active": true}))
            .expect(200)
            .await;
        let token = site.log_in_again(&ana).await.data()["token"].as_str().unwrap().to_owned();
        let again = Person {
            token,
            name: ana.name.clone(),
            id: ana.id,
            secret: ana.secret.clone(),
            recovery_codes: Vec::new(),
        };
        assert!(is_open(&site, &again).await);
        let ask = site.admin(&line);
        let reply = match body {
            Some(body) => ask.json(body).send().await,
            None => ask.send().await,
        };
        assert!(reply.status.is_success(), "{line}: {}", reply.text());
        assert!(!is_open(&site, &again).await, "{line}");
    }
}

#[tokio::test]
async fn a_user_who_is_switched_off_in_the_middle_of_a_login_does_not_get_in() {
    let site = Site::open().await;
    let ana = site.person("ana", json!([])).await;
    let pending = site.begin("ana", PASSWORD).await.data()["pending_token"].clone();
    site.admin(&format!("PATCH /api/backend/users?id={}", ana.id))
        .json(json!({"active": false}))
        .expect(200)
        .await;
    let proof = json!({"code": code(&ana.secret, site.clock.now())});
    assert_eq!(site.verify(&pending, proof).await.json()["error"], "pending_expired");
}

#[tokio::test]
async fn a_cookie_changes_things_only_for_pages_that_may_call() {
    let site = Site::open().await;
    let ana = site.person("ana", json!(["settings_settings_view", "settings_settings_edit"])).await;
    site.admin("POST /api/backend/origins")
        .json(json!({"origin": "https://admin.example.org"}))
        .expect(201)
        .await;
    let cookie = format!("theme=dark; __Host-cms_session={}; x=y", ana.token);
    let body = json!({"name": "claim", "value": 1});
    let write = || {
        site.ask("POST /api/backend/item?table=settings")
            .header("cookie", &cookie)
            .json(body.clone())
    };
    site.ask("GET /api/backend/item?table=settings").header("cookie", &cookie).expect(200).await;
    write().refused(403, "csrf").await;
    write().header("origin", "null").refused(403, "origin_not_allowed").await;
    write().header("origin", "https://evil.example").refused(403, "origin_not_allowed").await;
    write().header("origin", "https://admin.example.org").expect(201).await;
    site.ask("DELETE /api/backend/item?table=settings&id=claim")
        .header("cookie", &cookie)
        .refused(403, "csrf")
        .await;
    site.ask("POST /api/backend/auth/logout").header("cookie", &cookie).refused(403, "csrf").await;
    // A program sends its token by itself, so nobody else can send it for the program.
    site.ask("DELETE /api/backend/item?table=settings&id=claim")
        .bearer(&ana.token)
        .expect(204)
        .await;
    // With both, the token counts: the page could not have made the browser send it.
    site.ask("POST /api/backend/item?table=settings")
        .header("cookie", &cookie)
        .bearer(&ana.token)
        .json(body.clone())
        .expect(201)
        .await;
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
    let site = Site::builder()
        .await
        .settings(|settings| settings.limiter.store = cms_core::settings::LimiterStore::Memory)
        .open()
        .await;
    let ana = site.person("ana", json!([])).await;
    let mine = site.ask("GET /api/backend/auth/me").bearer(&ana.token).expect(200).await;
    assert_eq!(
        (mine.header("x-ratelimit-limit"), mine.header("x-ratelimit-remaining")),
        ("250", "249")
    );
    let dead = site.ask("GET /api/backend/auth/me").bearer("gone").expect(401).await;
    assert_eq!(dead.header("x-ratelimit-limit"), "100", "a dead session counts for the address");
}
