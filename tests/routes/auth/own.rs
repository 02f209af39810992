//! `/api/backend/auth/password`, `recovery-codes` and `sessions`: what users change by themselves.

use serde_json::{Value as Json, json};

use crate::support::{
    Reply, Site, has,
    people::{PASSWORD, Person, code},
};

const NEW: &str = "three men in a boat";

const ME: &str = "GET /api/backend/auth/me";

/// Asks as the person, from this network.
async fn post(site: &Site, by: &Person, path: &str, body: Json, network: usize) -> Reply {
    let peer = cms_http::Peer(format!("203.0.113.{network}:1").parse().unwrap());
    let ask = site.ask(&format!("POST /api/backend/auth/{path}")).bearer(&by.token);
    ask.peer(peer).json(body).send().await
}

async fn change(site: &Site, by: &Person, current: &str, new: &str) -> Reply {
    post(site, by, "password", json!({"current": current, "new": new}), 1).await
}

fn refusal(reply: &Reply) -> (u16, Json) {
    (reply.status.as_u16(), reply.json_or_null()["error"].clone())
}

#[tokio::test]
async fn a_user_changes_the_password_and_other_sessions_end() {
    let site = Site::open().await;
    let ana = site.person("ana", json!([])).await;
    let elsewhere = site.log_in_again(&ana).await.data()["token"].as_str().unwrap().to_owned();
    let begun = site.pending("ana").await;
    let other = site.person("eva", json!([])).await;
    let changed = change(&site, &ana, PASSWORD, NEW).await;
    assert_eq!(changed.status, 204, "{}", changed.text());
    site.ask(ME).bearer(&ana.token).expect(200).await;
    site.ask(ME).bearer(&other.token).expect(200).await;
    site.ask(ME).bearer(&elsewhere).refused(401, "login_required").await;
    let late = site.verify(&begun, site.shown(&ana.secret)).await;
    assert_eq!(refusal(&late), (401, json!("pending_expired")));
    assert_eq!(refusal(&site.begin("ana", PASSWORD).await), (401, json!("invalid_credentials")));
    assert_eq!(site.begin("ana", NEW).await.status, 200);
    let log = site.get("/api/backend/audit?table=users&limit=1").await;
    let row = ana.id.to_string();
    has!(log[0], {"/actor/id": ana.id, "row_id": row, "action": "update", "columns": ["password"]});
}

#[tokio::test]
async fn a_new_password_keeps_the_rules() {
    let site = Site::open().await;
    let ana = site.person("ana", json!([])).await;
    for new in ["short", "this is of ana", &"x".repeat(1025)] {
        let refused = change(&site, &ana, PASSWORD, new).await;
        assert_eq!(refusal(&refused), (422, json!("validation_failed")), "{new}");
        assert_eq!(refused.json()["errors"][0]["field"], "new");
    }
    for body in [json!({}), json!({"current": PASSWORD}), json!({"current": 1, "new": NEW})] {
        let refused = post(&site, &ana, "password", body, 1).await;
        assert_eq!(refusal(&refused), (422, json!("validation_failed")));
    }
    assert_eq!(site.database.rows("cms_login_attempts").await, 0, "none of these was a try");
    assert_eq!(site.log_in_again(&ana).await.status, 200);
}

/// Whoever sits at an open screen has no more tries than somebody who logs in.
#[tokio::test]
async fn wrong_passwords_count_as_at_a_login() {
    let site = Site::open().await;
    let ana = site.person("ana", json!([])).await;
    for _ in 0..15 {
        let wrong = change(&site, &ana, "wrong password", NEW).await;
        assert_eq!(refusal(&wrong), (401, json!("invalid_credentials")));
    }
    let locked = change(&site, &ana, PASSWORD, NEW).await;
    assert_eq!(refusal(&locked), (429, json!("login_locked")));
    assert_eq!(locked.header("retry-after"), "3600");
    let proof = json!({"password": PASSWORD});
    let locked = post(&site, &ana, "recovery-codes", proof, 1).await;
    assert_eq!(refusal(&locked), (429, json!("login_locked")));
    // From other networks the name is slowed, as at a login.
    for network in 2..=6 {
        let wrong = json!({"current": "wrong password", "new": NEW});
        let wrong = post(&site, &ana, "password", wrong, network).await;
        assert_eq!(refusal(&wrong), (401, json!("invalid_credentials")), "{network}");
    }
    let right = json!({"current": PASSWORD, "new": NEW});
    let paused = post(&site, &ana, "password", right.clone(), 7).await;
    assert_eq!(refusal(&paused), (429, json!("login_locked")));
    assert_eq!(paused.header("retry-after"), "1");
    let login = json!({"username": "ana", "password": PASSWORD});
    let peer = cms_http::Peer("203.0.113.8:1".parse().unwrap());
    site.ask("POST /api/backend/auth/login").peer(peer).json(login).expect(429).await;
    site.clock.advance(1000);
    assert_eq!(post(&site, &ana, "password", right, 7).await.status, 204);
    site.ask(ME).bearer(&ana.token).expect(200).await;
}

#[tokio::test]
async fn new_recovery_codes_need_a_code_or_the_password() {
    let site = Site::open().await;
    let ana = site.person("ana", json!([])).await;
    let renew = async |body: Json| post(&site, &ana, "recovery-codes", body, 1).await;
    for body in [json!({}), json!({"password": PASSWORD, "code": "123456"})] {
        assert_eq!(refusal(&renew(body).await), (422, json!("validation_failed")));
    }
    for (proof, code) in [
        (site.not_shown(&ana.secret), "invalid_code"),
        (json!({"password": "wrong password"}), "invalid_credentials"),
        // A recovery code replaces a lost authenticator at a login, not here.
        (json!({"code": ana.recovery_codes[0]}), "invalid_code"),
    ] {
        assert_eq!(refusal(&renew(proof.clone()).await), (401, json!(code)), "{proof}");
    }
    assert_eq!(site.database.rows("cms_login_attempts where network = '203.0.113.1'").await, 3);
    let now = code(&ana.secret, site.clock.now());
    let made = renew(json!({"code": now})).await;
    assert_eq!(made.status, 200, "{}", made.text());
    let codes: Vec<String> = serde_json::from_value(made.data()["recovery_codes"].clone()).unwrap();
    assert_eq!(codes.len(), 8);
    assert_eq!(refusal(&renew(json!({"code": now})).await), (401, json!("invalid_code")), "used");
    let use_one = async |recovery: &str| {
        let begun = site.pending("ana").await;
        site.verify(&begun, json!({"recovery_code": recovery})).await.status.as_u16()
    };
    assert_eq!(use_one(&ana.recovery_codes[0]).await, 401, "the old ones are gone");
    assert_eq!(use_one(&codes[0]).await, 200);
    assert_eq!(renew(json!({"password": PASSWORD})).await.status, 200);
    assert_eq!(use_one(&codes[1]).await, 401);
    assert_eq!(site.database.rows("cms_audit where action = 'new_recovery_codes'").await, 2);
    // A reply with codes is not kept for repetitions.
    let once = || {
        let ask = site.ask("POST /api/backend/auth/recovery-codes").bearer(&ana.token);
        ask.header("idempotency-key", "one").json(json!({"password": PASSWORD}))
    };
    once().expect(200).await;
    once().refused(409, "idempotency_spent").await;
}

#[tokio::test]
async fn a_user_lists_and_ends_own_sessions() {
    let site = Site::open().await;
    let ana = site.person("ana", json!([])).await;
    let eva = site.person("eva", json!([])).await;
    let mut others = Vec::new();
    for _ in 0..3 {
        let token = site.log_in_again(&ana).await.data()["token"].clone();
        others.push(token.as_str().unwrap().to_owned());
    }
    let listed = async |token: &str| {
        let ask = site.ask("GET /api/backend/auth/sessions").bearer(token);
        ask.expect(200).await.data().as_array().unwrap().clone()
    };
    let all = listed(&ana.token).await;
    let current: Vec<_> = all.iter().map(|one| one["current"].as_bool().unwrap()).collect();
    assert_eq!(current, [true, false, false, false]);
    let end = async |token: &str, query: &str| {
        let line = format!("DELETE /api/backend/auth/sessions{query}");
        site.ask(&line).bearer(token).send().await.status.as_u16()
    };
    let of_eva = listed(&eva.token).await[0]["id"].clone();
    assert_eq!(end(&ana.token, &format!("?session={of_eva}")).await, 404);
    assert_eq!(end(&ana.token, &format!("?session={}", all[1]["id"])).await, 204);
    site.ask(ME).bearer(&others[0]).refused(401, "login_required").await;
    assert_eq!(end(&ana.token, "").await, 204);
    assert_eq!(listed(&ana.token).await.len(), 1);
    assert_eq!(listed(&eva.token).await.len(), 1);
    assert_eq!(end(&ana.token, &format!("?session={}", all[0]["id"])).await, 204);
    site.ask(ME).bearer(&ana.token).refused(401, "login_required").await;
}

/// A login and a change of the password take the same locks in the same order.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn logins_and_changes_at_the_same_moment_end() {
    let site = Site::open().await;
    let ana = site.person("ana", json!([])).await;
    let (mut old, mut new) = (PASSWORD, NEW);
    for round in 0..4 {
        let login = || async {
            let ask = site.ask("POST /api/backend/auth/login");
            let peer = cms_http::Peer("203.0.113.1:1".parse().unwrap());
            ask.peer(peer).json(json!({"username": "ana", "password": old})).send().await
        };
        let all = async { tokio::join!(login(), change(&site, &ana, old, new), login()) };
        let all = tokio::time::timeout(std::time::Duration::from_secs(20), all).await;
        let (first, changed, second) = all.expect("in time");
        assert_eq!(changed.status, 204, "{round}: {}", changed.text());
        for login in [first, second] {
            assert!([200, 401].contains(&login.status.as_u16()), "{round}: {}", login.text());
        }
        std::mem::swap(&mut old, &mut new);
    }
}
