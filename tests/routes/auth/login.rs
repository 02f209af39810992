//! `/api/backend/auth/login`: name and password.

use serde_json::json;

use crate::support::{Site, people::PASSWORD};

/// What a refusal says, without what differs by request.
fn told(reply: &crate::support::Reply) -> (u16, serde_json::Value, Vec<String>) {
    let mut body = reply.json();
    body.as_object_mut().unwrap().remove("request_id");
    let mut names: Vec<_> = reply.headers.keys().map(ToString::to_string).collect();
    names.sort();
    (reply.status.as_u16(), body, names)
}

#[tokio::test]
async fn nobody_learns_who_has_an_account() {
    let site = Site::open().await;
    site.group("editors", json!([])).await;
    site.user("ana", "editors").await;
    let off = site.user("off", "editors").await;
    site.patch(&format!("/api/backend/users?id={off}"), json!({"active": false})).await;
    let wrong = told(&site.begin("ana", "wrong password").await);
    assert_eq!(wrong.0, 401);
    assert_eq!(wrong.1["error"], "invalid_credentials");
    for (name, password) in [
        ("nobody", PASSWORD),
        ("off", PASSWORD),
        ("off", "wrong password"),
        ("", ""),
        ("ana", &"x".repeat(5000)),
        // Names that nobody can have.
        (":", PASSWORD),
        ("7", PASSWORD),
        ("", PASSWORD),
        ("a\u{7}b", PASSWORD),
    ] {
        assert_eq!(told(&site.begin(name, password).await), wrong, "{name:?}");
    }
    site.admin("GET /api/backend/users?username=%07").refused(404, "not_found").await;
}

#[tokio::test]
async fn another_salt_fails_every_login() {
    let site = Site::open().await;
    site.group("editors", json!([])).await;
    site.user("ana", "editors").await;
    assert_eq!(site.cms.accounts().salt_check().await.unwrap(), (1, 0));
    let database = site.database;
    site.cms.close().await;
    let salt = Some(cms_core::Secret::new("another salt"));
    let site = Site::on(database).settings(|all| all.password_salt = salt).open().await;
    assert_eq!(site.begin("ana", PASSWORD).await.json()["error"], "invalid_credentials");
    assert_eq!(site.cms.accounts().salt_check().await.unwrap(), (1, 1));
}

#[tokio::test]
async fn a_login_that_was_judged_by_an_old_password_does_not_begin() {
    let site = Site::open().await;
    site.group("editors", json!([])).await;
    let id = site.user("ana", "editors").await;
    let change = site.admin(&format!("PATCH /api/backend/users?id={id}"));
    let change = change.json(json!({"password": "quite another one"}));
    // Whichever comes first: the old password never leads to a login that can be completed
    // afterwards.
    let (begun, changed) = tokio::join!(site.begin("ana", PASSWORD), change.expect(200));
    drop(changed);
    if begun.status == 200 {
        let secret = begun.data()["setup"]["secret"].as_str().unwrap().to_owned();
        let reply = site.verify(&begun.data()["pending_token"], site.shown(&secret)).await;
        assert_eq!(reply.json()["error"], "pending_expired");
    }
    assert_eq!(site.begin("ana", "quite another one").await.status, 200);
}
