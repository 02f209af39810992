//! A login from the password to the session, and out again.

use serde_json::json;

use crate::support::{
    Site,
    people::{PASSWORD, code},
};

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
            "__Host-cms_session={token}; Max-Age=604800; Path=/; HttpOnly; Secure; SameSite=Strict"
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
