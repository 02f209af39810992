//! Wrong logins are counted: who is locked out, and how an administrator forgives.

use serde_json::{Value as Json, json};

use cms_http::Peer;

use crate::support::{Reply, Site, has, people::PASSWORD, with};

#[tokio::test]
async fn the_sixteenth_attempt_is_refused_even_when_it_is_right() {
    let site = Site::open().await;
    let ana = site.person("ana", json!([])).await;
    let mut wrong = 0;
    let mut pending = site.pending("ana").await;
    while wrong < 14 {
        if wrong % 3 == 0 {
            let refused = site.begin("ana", "wrong password").await;
            assert_eq!(refused.json()["error"], "invalid_credentials");
        } else {
            // A right password in between does not clear the counter.
            if wrong % 4 == 0 {
                pending = site.pending("ana").await;
            }
            let refused = site.verify(&pending, site.not_shown(&ana.secret)).await;
            assert_eq!(refused.json()["error"], "invalid_code", "{wrong}");
        }
        wrong += 1;
    }
    // A completed login clears it.
    assert_eq!(site.log_in_again(&ana).await.status, 200);
    pending = site.pending("ana").await;
    for _ in 0..15 {
        assert_eq!(site.begin("nobody", PASSWORD).await.status, 401);
    }
    let locked = site.begin("ana", PASSWORD).await;
    let is_locked = |reply: &Reply| reply.json()["error"] == "login_locked";
    assert!(locked.status == 429 && is_locked(&locked), "{}", locked.text());
    assert_eq!(locked.header("retry-after"), "3600");
    assert!(is_locked(&site.verify(&pending, site.shown(&ana.secret)).await));
    site.ask("GET /api/backend/auth/me").bearer(&ana.token).expect(200).await;

    let elsewhere = Peer("203.0.113.9:1".parse().unwrap());
    let body = json!({"username": "ana", "password": PASSWORD});
    site.ask("POST /api/backend/auth/login").peer(elsewhere).json(body.clone()).expect(200).await;
    let attempts = site.get("/api/backend/loginattempts").await;
    has!(attempts[0], {"network": "127.0.0.1", "attempts": 15, "locked": true});

    site.clock.advance(3_600_000 - 30_001);
    assert!(is_locked(&site.begin("ana", PASSWORD).await), "the window slides");
    site.clock.advance(60_000);
    assert_eq!(site.log_in_again(&ana).await.status, 200);

    for _ in 0..15 {
        site.begin("nobody", PASSWORD).await;
    }
    site.delete("/api/backend/loginattempts?address=127.0.0.1").await;
    assert_eq!(site.log_in_again(&ana).await.status, 200, "an administrator has forgiven");
    let locks = "select count(*) from cms_audit where table_name = 'loginattempts' \
                 and action = 'lock'";
    assert_eq!(site.database.count(locks).await, 2);
}

#[tokio::test]
async fn guesses_at_the_same_moment_are_not_more_than_guesses_in_a_row() {
    let site = Site::open().await;
    site.group("editors", json!([])).await;
    site.user("ana", "editors").await;
    let guesses = (0..40).map(|n| {
        let site = &site;
        async move { site.begin("ana", &format!("wrong password {n}")).await.status.as_u16() }
    });
    let outcomes = futures_util::future::join_all(guesses).await;
    assert_eq!(outcomes.iter().filter(|status| **status == 401).count(), 15, "{outcomes:?}");
    assert_eq!(outcomes.iter().filter(|status| **status == 429).count(), 25);
}

#[tokio::test]
async fn wrong_codes_for_one_user_are_bounded_wherever_they_come_from() {
    let site = Site::open().await;
    let ana = site.person("ana", json!([])).await;
    let from = |n: usize| Peer(format!("203.0.113.{n}:1").parse().unwrap());
    let post = async |n: usize, path: &str, body: Json| {
        site.ask(&format!("POST /api/backend/auth/{path}")).peer(from(n)).json(body).send().await
    };
    let begin = async |n: usize| {
        let body = json!({"username": "ana", "password": PASSWORD});
        post(n, "login", body).await.data()["pending_token"].take()
    };
    let verify = async |n: usize, pending: Json, proof: Json| {
        let body = with(proof, json!({"pending_token": pending}));
        post(n, "verify", body).await.json()["error"].take()
    };
    for n in 0..50 {
        let told = verify(n, begin(n).await, site.not_shown(&ana.secret)).await;
        assert_eq!(told, "invalid_code", "{n}");
    }
    let right = async || verify(51, begin(51).await, site.shown(&ana.secret)).await;
    assert_eq!(right().await, "login_locked");
    site.clock.advance(3_600_000);
    assert_eq!(site.log_in_again(&ana).await.status, 200);

    // An operator who resets the second factor, or a new password, ends the wait.
    let lock = async || {
        for n in 0..50 {
            verify(n, begin(n).await, site.not_shown(&ana.secret)).await;
        }
        assert_eq!(right().await, "login_locked");
    };
    lock().await;
    // An account that is switched off and on again is still locked.
    for active in [false, true] {
        let path = format!("/api/backend/users?id={}", ana.id);
        site.patch(&path, json!({"active": active})).await;
    }
    assert_eq!(right().await, "login_locked");
    let password = json!({"password": PASSWORD});
    site.patch(&format!("/api/backend/users?id={}", ana.id), password).await;
    site.clock.advance(30_000);
    assert_eq!(site.log_in_again(&ana).await.status, 200);
    lock().await;
    let mut change = site.cms.change(cms_core::Actor::Operator).await.unwrap();
    site.cms.accounts().reset_second_factor(&mut change, ana.id).await.unwrap();
    change.commit().await.unwrap();
    let begun = site.begin("ana", PASSWORD).await.data();
    let secret = begun["setup"]["secret"].as_str().unwrap();
    assert_eq!(site.verify(&begun["pending_token"], site.shown(secret)).await.status, 200);
}

#[tokio::test]
async fn wrong_passwords_for_one_name_slow_each_network_and_lock_nobody_out() {
    let site = Site::open().await;
    let ana = site.person("ana", json!([])).await;
    for name in ["ana", "nobody"] {
        let attempt = async |from: usize, password: &str| {
            let peer = format!("203.0.{}.{}:1", from / 200, from % 200).parse().unwrap();
            let body = json!({"username": name, "password": password});
            let ask = site.ask("POST /api/backend/auth/login").peer(Peer(peer)).json(body);
            let reply = ask.send().await;
            let seconds = |value: &http::HeaderValue| value.to_str().unwrap().parse().unwrap();
            let wait: i64 = reply.headers.get("retry-after").map_or(0, seconds);
            (reply.status.as_u16(), wait)
        };
        for from in 0..20 {
            assert_eq!(attempt(from, "wrong password").await, (401, 0), "{name} {from}");
        }
        // Each further network waits before it is judged, and the pauses grow.
        let mut pauses = Vec::new();
        for from in 20..60 {
            let (status, wait) = attempt(from, "wrong password").await;
            assert_eq!(status, 429, "{name} {from}");
            assert_eq!(attempt(from, "wrong password").await, (429, wait), "no way round");
            site.clock.advance(wait * 1000);
            assert_eq!(attempt(from, "wrong password").await, (401, 0), "{name} {from}");
            pauses.push(wait);
        }
        assert!(pauses.is_sorted() && pauses[0] == 1 && pauses[39] == 60, "{pauses:?}");

        // The right password waits as well, from a network that others do not count for.
        let expected = if name == "ana" { 200 } else { 401 };
        let home = 1000;
        assert_eq!(attempt(home, PASSWORD).await, (429, 60));
        for from in 2000..2010 {
            assert_eq!(attempt(from, "wrong password").await, (429, 60), "strangers go on");
        }
        site.clock.advance(59_000);
        assert_eq!(attempt(home, PASSWORD).await, (429, 1));
        site.clock.advance(1000);
        assert_eq!(attempt(home, PASSWORD).await, (expected, 0), "{name}");
    }
    // A complete login clears the counter.
    let begun = site.begin("ana", PASSWORD).await;
    let wait = begun.header("retry-after").parse::<i64>().unwrap();
    site.clock.advance(wait * 1000);
    assert_eq!(site.log_in_again(&ana).await.status, 200);
    assert_eq!(site.begin("ana", "wrong password").await.status, 401);
    assert_eq!(site.begin("ana", PASSWORD).await.status, 200);
}
