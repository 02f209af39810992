//! `/api/backend/auth/verify`: codes, recovery codes, and what is used up.

use serde_json::json;

use crate::support::{
    Site,
    people::{PASSWORD, code, wrong_code},
};

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
    let proof = |begun: &serde_json::Value| {
        json!({
            "code": code(begun["setup"]["secret"].as_str().unwrap(), now),
        })
    };
    assert_eq!(site.verify(&first["pending_token"], proof(&first)).await.status, 200);
    assert_eq!(
        site.verify(&second["pending_token"], proof(&second)).await.json()["error"],
        "pending_expired"
    );
}
