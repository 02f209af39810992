//! `/api/backend/auth/verify`: codes, recovery codes, and what is used up.

use serde_json::{Value as Json, json};

use crate::support::{
    Reply, Site,
    people::{PASSWORD, code},
};

/// The status and, of a refusal, its code.
fn told(reply: &Reply) -> (u16, String) {
    let code = reply.json_or_null()["error"].as_str().unwrap_or_default().to_owned();
    (reply.status.as_u16(), code)
}

fn refused(code: &str) -> (u16, String) {
    (401, code.to_owned())
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
        let pending = site.pending("ana").await;
        let proof = json!({"code": code(&ana.secret, site.clock.now() + moved)});
        let reply = site.verify(&pending, proof).await;
        let expected = if fine { 200 } else { 401 };
        // -30 s is within the tolerance, but the first login has used that step.
        assert_eq!(reply.status, expected, "{moved}: {}", reply.text());
    }
    site.clock.advance(30_000);
    let pending = site.pending("ana").await;
    let late = site.verify(&pending, site.shown(&ana.secret)).await;
    let used = "the step was used ahead of its time";
    assert_eq!(told(&late), refused("invalid_code"), "{used}");
}

#[tokio::test]
async fn two_requests_at_the_same_moment_cannot_both_use_a_code() {
    let site = Site::open().await;
    let ana = site.person("ana", json!([])).await;
    // A code, a recovery code, one login.
    for recovery in &ana.recovery_codes[..5] {
        for what in ["code", "recovery code", "login"] {
            let first = site.pending("ana").await;
            let second = if what == "login" { first.clone() } else { site.pending("ana").await };
            let proof = match what {
                "recovery code" => json!({"recovery_code": recovery}),
                _ => site.shown(&ana.secret),
            };
            let (a, b) =
                tokio::join!(site.verify(&first, proof.clone()), site.verify(&second, proof));
            let mut outcomes = [a.status.as_u16(), b.status.as_u16()];
            outcomes.sort_unstable();
            assert_eq!(outcomes, [200, 401], "{what}");
            if what != "recovery code" {
                site.clock.advance(30_000);
            }
        }
    }
}

#[tokio::test]
async fn a_begun_login_ends_by_time_by_use_and_by_wrong_codes() {
    let site = Site::open().await;
    let ana = site.person("ana", json!([])).await;
    let good = async |pending: &Json| told(&site.verify(pending, site.shown(&ana.secret)).await);
    let expired = refused("pending_expired");

    let pending = site.pending("ana").await;
    site.clock.advance(300_000);
    assert_eq!(good(&pending).await, expired);
    let pending = site.pending("ana").await;
    site.clock.advance(299_999);
    assert_eq!(good(&pending).await.0, 200);
    site.clock.advance(30_000);
    assert_eq!(good(&pending).await, expired, "used");

    let pending = site.pending("ana").await;
    for _ in 0..5 {
        let wrong = site.verify(&pending, site.not_shown(&ana.secret)).await;
        assert_eq!(told(&wrong), refused("invalid_code"));
    }
    assert_eq!(good(&pending).await, expired, "five wrong codes");
    assert_eq!(good(&json!("cms_p1_none")).await, expired);
    for proof in [json!({}), json!({"code": "1", "recovery_code": "2"})] {
        assert_eq!(site.verify(&pending, proof).await.status, 422);
    }
}

#[tokio::test]
async fn recovery_codes_work_once_each() {
    let site = Site::open().await;
    let ana = site.person("ana", json!([])).await;
    assert_eq!(ana.recovery_codes.len(), 8);
    for (n, recovery) in ana.recovery_codes.iter().enumerate() {
        let pending = site.pending("ana").await;
        let typed = recovery.to_lowercase().replace('-', " ");
        let reply = site.verify(&pending, json!({"recovery_code": typed})).await;
        assert_eq!(reply.status, 200, "{}", reply.text());
        let pending = site.pending("ana").await;
        let again = site.verify(&pending, json!({"recovery_code": recovery})).await;
        assert_eq!(told(&again), refused("invalid_code"), "used");
        let left = site.get(&format!("/api/backend/users?id={}", ana.id)).await;
        assert_eq!(left["recovery_codes"], 7 - n as i64);
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
    let recovery = json!({"recovery_code": ana.recovery_codes[0]});
    let old = site.verify(&first["pending_token"], recovery).await;
    assert_eq!(told(&old), refused("invalid_code"));
    let proof = |begun: &Json| site.shown(begun["setup"]["secret"].as_str().unwrap());
    assert_eq!(site.verify(&first["pending_token"], proof(&first)).await.status, 200);
    let second = site.verify(&second["pending_token"], proof(&second)).await;
    assert_eq!(told(&second), refused("pending_expired"));
}
