//! Logging in: password, then code; what is refused, what is used up, who is locked out.

use serde_json::json;

use crate::support::{
    Site,
    people::{PASSWORD, code, wrong_code},
};

/// What a refusal says, without what differs by request.
fn told(reply: &crate::support::Reply) -> (u16, serde_json::Value, Vec<String>) {
    let mut body = reply.json();
    body.as_object_mut().unwrap().remove("request_id");
    let mut names: Vec<_> = reply.headers.keys().map(ToString::to_string).collect();
    names.sort();
    (reply.status.as_u16(), body, names)
}

#[tokio::test]
async fn a_first_login_sets_the_second_factor_up_and_later_ones_need_it() {
    let site = Site::open().await;
    site.group("editors", json!(["pages_pages_view"])).await;
    site.user("Ana", "EDITORS").await;
    let begun = site.begin("ana", PASSWORD).await;
    assert_eq!(begun.header("cache-control"), "no-store");
    let begun = begun.data();
    assert_eq!(
        (begun["status"].as_str(), begun["expires_in"].as_i64()),
        (Some("totp_setup_required"), Some(300))
    );
    let secret = begun["setup"]["secret"].as_str().unwrap();
    assert!(begun["setup"]["otpauth_url"].as_str().unwrap().starts_with("otpauth://totp/"));
    assert!(begun["setup"]["qr_svg"].as_str().unwrap().contains("<svg"));

    let reply =
        site.verify(&begun["pending_token"], json!({"code": code(secret, site.clock.now())})).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    let cookie = reply.header("set-cookie").to_owned();
    let done = reply.data();
    let token = done["token"].as_str().unwrap();
    assert_eq!(
        cookie,
        format!(
            "cms_session={token}; Max-Age=604800; Path=/api; HttpOnly; Secure; SameSite=Strict"
        )
    );
    assert_eq!(
        (&done["user"]["username"], &done["expires_at"]),
        (&json!("Ana"), &json!("2026-11-28T09:30:00Z"))
    );
    assert_eq!(done["recovery_codes"].as_array().unwrap().len(), 8);
    let me = site
        .ask("GET /api/backend/auth/me")
        .header("authorization", format!("Bearer {token}"))
        .expect(200)
        .await
        .data();
    assert_eq!((&me["rights"], &me["recovery_codes"]), (&json!(["pages_pages_view"]), &json!(8)));

    site.clock.advance(30_000);
    let again = site.begin("ANA", PASSWORD).await.data();
    assert_eq!((again["status"].as_str(), again.get("setup")), (Some("totp_required"), None));
    let done = site
        .verify(&again["pending_token"], json!({"code": code(secret, site.clock.now())}))
        .await
        .data();
    assert!(done["token"].is_string() && done.get("recovery_codes").is_none());
    let events =
        site.database.count("select count(*) from cms_events where name = 'auth.login'").await;
    assert_eq!(events, 2);
    site.ask("POST /api/backend/auth/logout")
        .header("authorization", format!("Bearer {token}"))
        .expect(204)
        .await;
    site.ask("GET /api/backend/auth/me")
        .header("authorization", format!("Bearer {token}"))
        .refused(401, "login_required")
        .await;
    assert_eq!(
        site.database.count("select count(*) from cms_events where name = 'auth.logout'").await,
        1
    );
}

#[tokio::test]
async fn nobody_learns_who_has_an_account() {
    let site = Site::open().await;
    site.group("editors", json!([])).await;
    site.user("ana", "editors").await;
    let off = site.user("off", "editors").await;
    site.admin(&format!("PATCH /api/backend/users?id={off}"))
        .json(json!({"active": false}))
        .expect(200)
        .await;
    let wrong = told(&site.begin("ana", "wrong password").await);
    assert_eq!(wrong.0, 401);
    assert_eq!(wrong.1["error"], "invalid_credentials");
    for (name, password) in [
        ("nobody", PASSWORD),
        ("off", PASSWORD),
        ("off", "wrong password"),
        ("", ""),
        ("ana", &"x".repeat(5000)),
    ] {
        assert_eq!(told(&site.begin(name, password).await), wrong, "{name}");
    }
}

#[tokio::test]
async fn a_step_is_used_once_and_codes_of_other_times_are_wrong() {
    let site = Site::open().await;
    let ana = site.person("ana", json!([])).await;
    for (moved, fine) in [
        (-60_000, false),
        (-30_000, false),
        (0, true),
        (0, false),
        (30_000, true),
        (60_000, false),
        (-30_000, false),
    ] {
        let pending = site.begin("ana", PASSWORD).await.data()["pending_token"].clone();
        let reply = site
            .verify(&pending, json!({"code": code(&ana.secret, site.clock.now() + moved)}))
            .await;
        let expected = if fine { 200 } else { 401 };
        // -30 s is within the tolerance, but the first login has used that step.
        assert_eq!(reply.status, expected, "{moved}: {}", reply.text());
    }
    site.clock.advance(30_000);
    let pending = site.begin("ana", PASSWORD).await.data()["pending_token"].clone();
    let late = site.verify(&pending, json!({"code": code(&ana.secret, site.clock.now())})).await;
    assert_eq!(late.json()["error"], "invalid_code", "the step was used ahead of its time");
}

#[tokio::test]
async fn two_requests_at_the_same_moment_cannot_both_use_a_code() {
    let site = Site::open().await;
    let ana = site.person("ana", json!([])).await;
    for round in 0..5 {
        let first = site.begin("ana", PASSWORD).await.data()["pending_token"].clone();
        let second = site.begin("ana", PASSWORD).await.data()["pending_token"].clone();
        let proof = json!({"code": code(&ana.secret, site.clock.now())});
        let (a, b) =
            tokio::join!(site.verify(&first, proof.clone()), site.verify(&second, proof.clone()));
        let mut outcomes = [a.status.as_u16(), b.status.as_u16()];
        outcomes.sort_unstable();
        assert_eq!(outcomes, [200, 401]);
        site.clock.advance(30_000);
        // Nor a recovery code.
        let first = site.begin("ana", PASSWORD).await.data()["pending_token"].clone();
        let second = site.begin("ana", PASSWORD).await.data()["pending_token"].clone();
        let proof = json!({"recovery_code": ana.recovery_codes[round]});
        let (a, b) = tokio::join!(site.verify(&first, proof.clone()), site.verify(&second, proof));
        let mut outcomes = [a.status.as_u16(), b.status.as_u16()];
        outcomes.sort_unstable();
        assert_eq!(outcomes, [200, 401]);
        // Nor one login.
        let pending = site.begin("ana", PASSWORD).await.data()["pending_token"].clone();
        let proof = json!({"code": code(&ana.secret, site.clock.now())});
        let (a, b) =
            tokio::join!(site.verify(&pending, proof.clone()), site.verify(&pending, proof));
        let mut outcomes = [a.status.as_u16(), b.status.as_u16()];
        outcomes.sort_unstable();
        assert_eq!(outcomes, [200, 401]);
        site.clock.advance(30_000);
    }
}

#[tokio::test]
async fn a_begun_login_ends_by_time_by_use_and_by_wrong_codes() {
    let site = Site::open().await;
    let ana = site.person("ana", json!([])).await;
    let good = |site: &Site| json!({"code": code(&ana.secret, site.clock.now())});

    let pending = site.begin("ana", PASSWORD).await.data()["pending_token"].clone();
    site.clock.advance(300_000);
    assert_eq!(site.verify(&pending, good(&site)).await.json()["error"], "pending_expired");
    let pending = site.begin("ana", PASSWORD).await.data()["pending_token"].clone();
    site.clock.advance(299_999);
    assert_eq!(site.verify(&pending, good(&site)).await.status, 200);
    site.clock.advance(30_000);
    assert_eq!(site.verify(&pending, good(&site)).await.json()["error"], "pending_expired", "used");

    let pending = site.begin("ana", PASSWORD).await.data()["pending_token"].clone();
    for _ in 0..5 {
        let wrong = json!({"code": wrong_code(&ana.secret, site.clock.now())});
        assert_eq!(site.verify(&pending, wrong).await.json()["error"], "invalid_code");
    }
    assert_eq!(
        site.verify(&pending, good(&site)).await.json()["error"],
        "pending_expired",
        "five wrong codes"
    );
    assert_eq!(
        site.verify(&json!("cms_p1_none"), good(&site)).await.json()["error"],
        "pending_expired"
    );
    assert_eq!(site.verify(&pending, json!({})).await.status, 422);
    assert_eq!(site.verify(&pending, json!({"code": "1", "recovery_code": "2"})).await.status, 422);
}

#[tokio::test]
async fn recovery_codes_work_once_each() {
    let site = Site::open().await;
    let ana = site.person("ana", json!([])).await;
    assert_eq!(ana.recovery_codes.len(), 8);
    for (n, recovery) in ana.recovery_codes.iter().enumerate() {
        let pending = site.begin("ana", PASSWORD).await.data()["pending_token"].clone();
        let typed = recovery.to_lowercase().replace('-', " ");
        let reply = site.verify(&pending, json!({"recovery_code": typed})).await;
        assert_eq!(reply.status, 200, "{}", reply.text());
        let pending = site.begin("ana", PASSWORD).await.data()["pending_token"].clone();
        assert_eq!(
            site.verify(&pending, json!({"recovery_code": recovery})).await.json()["error"],
            "invalid_code",
            "used"
        );
        let left = site
            .admin(&format!("GET /api/backend/users?id={}", ana.id))
            .expect(200)
            .await
            .data()["recovery_codes"]
            .clone();
        assert_eq!(left, 7 - n as i64);
    }
}

#[tokio::test]
async fn a_recovery_code_does_not_get_around_the_set_up() {
    let site = Site::open().await;
    let ana = site.person("ana", json!([])).await;
    let mut change = site.cms.change(cms_core::Actor::Operator).await.unwrap();
    site.cms.accounts().reset_second_factor(&mut change, ana.id).await.unwrap();
    change.commit().await.unwrap();
    site.ask("GET /api/backend/auth/me").bearer(&ana.token).refused(401, "login_required").await;
    // Two logins set a second factor up at the same time: the first to be completed wins.
    let (first, second) =
        (site.begin("ana", PASSWORD).await.data(), site.begin("ana", PASSWORD).await.data());
    assert_eq!(first["status"], "totp_setup_required");
    let old =
        site.verify(&first["pending_token"], json!({"recovery_code": ana.recovery_codes[0]})).await;
    assert_eq!(old.json()["error"], "invalid_code");
    let now = site.clock.now();
    let proof = |begun: &serde_json::Value| json!({"code": code(begun["setup"]["secret"].as_str().unwrap(), now)});
    assert_eq!(site.verify(&first["pending_token"], proof(&first)).await.status, 200);
    assert_eq!(
        site.verify(&second["pending_token"], proof(&second)).await.json()["error"],
        "pending_expired"
    );
}

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
async fn another_salt_fails_every_login() {
    let site = Site::open().await;
    site.group("editors", json!([])).await;
    site.user("ana", "editors").await;
    assert_eq!(site.cms.accounts().salt_check().await.unwrap(), (1, 0));
    let database = site.database;
    site.cms.close().await;
    let site = Site::on(database)
        .settings(|settings| {
            settings.password_salt = Some(cms_core::settings::Secret::new("another salt"))
        })
        .open()
        .await;
    assert_eq!(site.begin("ana", PASSWORD).await.json()["error"], "invalid_credentials");
    assert_eq!(site.cms.accounts().salt_check().await.unwrap(), (1, 1));
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
    let right = json!({"pending_token": begun["pending_token"], "code": code(&ana.secret, site.clock.now())});
    assert_eq!(post(51, "verify", right).await.json()["error"], "login_locked");
    site.clock.advance(3_600_000);
    assert_eq!(site.log_in_again(&ana).await.status, 200);
}

#[tokio::test]
async fn a_name_that_nobody_can_have_is_unknown() {
    let site = Site::open().await;
    for name in ["\u{0}", "a\u{0}b", ":", "7", ""] {
        assert_eq!(
            site.begin(name, PASSWORD).await.json()["error"],
            "invalid_credentials",
            "{name:?}"
        );
    }
    site.admin("GET /api/backend/users?username=%00").refused(404, "not_found").await;
}

#[tokio::test]
async fn a_login_that_was_judged_by_an_old_password_does_not_begin() {
    let site = Site::open().await;
    site.group("editors", json!([])).await;
    let id = site.user("ana", "editors").await;
    let change = site
        .admin(&format!("PATCH /api/backend/users?id={id}"))
        .json(json!({"password": "quite another one"}));
    // Whichever comes first: the old password never leads to a login that can be completed
    // afterwards.
    let (begun, changed) = tokio::join!(site.begin("ana", PASSWORD), change.expect(200));
    drop(changed);
    if begun.status == 200 {
        let secret = begun.data()["setup"]["secret"].as_str().unwrap().to_owned();
        let proof = json!({"code": code(&secret, site.clock.now())});
        let reply = site.verify(&begun.data()["pending_token"], proof).await;
        assert_eq!(reply.json()["error"], "pending_expired");
    }
    assert_eq!(site.begin("ana", "quite another one").await.status, 200);
}
