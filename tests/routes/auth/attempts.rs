//! Wrong logins are counted: who is locked out, and how an administrator forgives.

use serde_json::json;

use crate::support::{
    Site,
    people::{PASSWORD, code, wrong_code},
};

#[tokio::test]
async fn the_sixteenth_attempt_is_refused_even_when_it_is_right() {
    let site = Site::open().await;
    let ana = site.person("ana", json!([])).await;
    let mut wrong = 0;
    let mut pending = site.begin("ana", PASSWORD).await.data()["pending_token"].clone();
    while wrong < 14 {
        if wrong % 3 == 0 {
            assert_eq!(
                site.begin("ana", "wrong password").await.json()["error"],
                "invalid_credentials"
            );
        } else {
            // A right password in between does not clear the counter.
            if wrong % 4 == 0 {
                pending = site.begin("ana", PASSWORD).await.data()["pending_token"].clone();
            }
            let code = json!({"code": wrong_code(&ana.secret, site.clock.now())});
            assert_eq!(
                site.verify(&pending, code).await.json()["error"],
                "invalid_code",
                "{wrong}"
            );
        }
        wrong += 1;
    }
    // A completed login clears it.
    assert_eq!(site.log_in_again(&ana).await.status, 200);
    pending = site.begin("ana", PASSWORD).await.data()["pending_token"].clone();
    for _ in 0..15 {
        assert_eq!(site.begin("nobody", PASSWORD).await.status, 401);
    }
    let locked = site.begin("ana", PASSWORD).await;
    assert_eq!(
        (locked.status.as_u16(), &locked.json()["error"], locked.header("retry-after")),
        (429, &json!("login_locked"), "3600")
    );
    let right = json!({"code": code(&ana.secret, site.clock.now())});
    assert_eq!(site.verify(&pending, right.clone()).await.json()["error"], "login_locked");
    site.ask("GET /api/backend/auth/me").bearer(&ana.token).expect(200).await;

    let elsewhere = cms_http::Peer("203.0.113.9:1".parse().unwrap());
    let body = json!({"username": "ana", "password": PASSWORD});
    site.ask("POST /api/backend/auth/login").peer(elsewhere).json(body.clone()).expect(200).await;
    let attempts = site.admin("GET /api/backend/loginattempts").expect(200).await.data();
    assert_eq!(
        (&attempts[0]["network"], &attempts[0]["attempts"], &attempts[0]["locked"]),
        (&json!("127.0.0.1"), &json!(15), &json!(true))
    );

    site.clock.advance(3_600_000 - 30_001);
    assert_eq!(
        site.begin("ana", PASSWORD).await.json()["error"],
        "login_locked",
        "the window slides"
    );
    site.clock.advance(60_000);
    assert_eq!(site.log_in_again(&ana).await.status, 200);

    for _ in 0..15 {
        site.begin("nobody", PASSWORD).await;
    }
    site.admin("DELETE /api/backend/loginattempts?address=127.0.0.1").expect(204).await;
    assert_eq!(site.log_in_again(&ana).await.status, 200, "an administrator has forgiven");
    let locks = site
        .database
        .count(
            "select count(*) from cms_audit where table_name = 'loginattempts' and action = 'lock'",
        )
        .await;
    assert_eq!(locks, 2);
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
    let from = |n: usize| cms_http::Peer(format!("203.0.113.{n}:1").parse().unwrap());
    let post = async |n: usize, path: &str, body: serde_json::Value| {
        site.ask(&format!("POST /api/backend/auth/{path}")).peer(from(n)).json(body).send().await
    };
    for n in 0..50 {
        let begun = post(n, "login", json!({"username": "ana", "password": PASSWORD})).await.data();
        let wrong = wrong_code(&ana.secret, site.clock.now());
        let reply =
            post(n, "verify", json!({"pending_token": begun["pending_token"], "code": wrong}))
                .await;
        assert_eq!(reply.json()["error"], "invalid_code", "{n}");
    }
    let begun = post(51, "login", json!({"username": "ana", "password": PASSWORD})).await.data();
    let right = json!({
        "pending_token": begun["pending_token"], "code": code(&ana.secret, site.clock.now()),
    });
    assert_eq!(post(51, "verify", right).await.json()["error"], "login_locked");
    site.clock.advance(3_600_000);
    assert_eq!(site.log_in_again(&ana).await.status, 200);
}

#[tokio::test]
async fn wrong_passwords_for_one_name_slow_each_network_and_lock_nobody_out() {
    let site = Site::open().await;
    let ana = site.person("ana", json!([])).await;
    for name in ["ana", "nobody"] {
        let attempt = async |from: usize, password: &str| {
            let peer =
                cms_http::Peer(format!("203.0.{}.{}:1", from / 200, from % 200).parse().unwrap());
            let body = json!({"username": name, "password": password});
            let ask = site.ask("POST /api/backend/auth/login").peer(peer).json(body);
            let reply = ask.send().await;
            let wait = reply
                .headers
                .get("retry-after")
                .map_or(0, |seconds| seconds.to_str().unwrap().parse::<i64>().unwrap());
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
