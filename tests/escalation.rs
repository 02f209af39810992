//! Nobody gains rights: not by keys, not by users, not by groups.

use serde_json::json;

use crate::support::{Site, people::PASSWORD};

#[tokio::test]
async fn nobody_gains_rights() {
    let site = Site::open().await;
    let root = site.person("root", json!("0")).await;
    let ana = site
        .person("ana", json!(["keys_keys_view", "keys_keys_edit", "settings_settings_view"]))
        .await;
    let before = site.database.count("select count(*) from cms_users").await;
    let as_ana = |line: &str| site.ask(line).bearer(&ana.token);
    let key = |right: &str| {
        let right = cms_core::access::Right::parse(right).unwrap();
        json!({"name": "x", "rights": [right]})
    };

    for right in [
        "*",
        "GET /api/backend/users",
        "POST /api/backend/user_groups",
        "GET /api/backend/item",
        "GET /api/backend/item?table=pages",
        "PATCH /api/backend/item?table=settings",
        "POST /api/backend/actions/checklist?table=user_groups",
    ] {
        as_ana("POST /api/backend/keys").json(key(right)).refused(403, "permission_denied").await;
    }
    for right in [
        "GET /api/backend/item?table=settings",
        "GET,POST,PATCH,DELETE /api/backend/keys",
        "GET /api/pages",
    ] {
        as_ana("POST /api/backend/keys").json(key(right)).expect(201).await;
    }
    // A key that may do more than she may: not hers to change.
    let (strong, _) = site.key_with(|_| {}, &["*"]).await;
    as_ana(&format!("POST /api/backend/keys/rotate?id={strong}"))
        .json(json!({}))
        .refused(403, "permission_denied")
        .await;
    as_ana(&format!("PATCH /api/backend/keys?id={strong}"))
        .json(json!({"name": "y"}))
        .refused(403, "permission_denied")
        .await;
    as_ana(&format!("DELETE /api/backend/keys?id={strong}"))
        .refused(403, "permission_denied")
        .await;

    let own = site.admin(&format!("GET /api/backend/users?id={}", ana.id)).expect(200).await.data()
        ["groups"][0]["id"]
        .clone();
    for (line, body) in [
        (format!("PATCH /api/backend/user_groups?id={own}"), json!({"rights": "0"})),
        (format!("PATCH /api/backend/users?id={}", ana.id), json!({"groups": ["group of root"]})),
        (
            format!("PATCH /api/backend/users?id={}", root.id),
            json!({"password": "mine now, thanks"}),
        ),
        (
            "POST /api/backend/users".to_owned(),
            json!({"username": "eve", "password": PASSWORD, "groups": ["group of root"]}),
        ),
        (
            "POST /api/backend/actions/checklist".to_owned(),
            json!({
                "table": "user_groups", "column": "rights", "id": own, "add": ["users_users_edit"],
            }),
        ),
    ] {
        as_ana(&line).json(body).refused(403, "permission_denied").await;
    }

    // A key with rows for users and groups, but not for everything, holds no permission that it
    // could give.
    let clerk = site
        .key(&[
            "GET,POST,PATCH,DELETE /api/backend/users",
            "GET,POST,PATCH,DELETE /api/backend/user_groups",
            "POST /api/backend/actions/checklist?table=user_groups",
            "DELETE /api/backend/users/sessions",
        ])
        .await;
    for (line, body) in [
        (
            format!("PATCH /api/backend/users?id={}", root.id),
            json!({"password": "mine now, thanks"}),
        ),
        (format!("PATCH /api/backend/users?id={}", root.id), json!({"active": false})),
        (format!("DELETE /api/backend/users?id={}", root.id), json!(null)),
        (format!("DELETE /api/backend/users/sessions?id={}", root.id), json!(null)),
        (
            "POST /api/backend/users".to_owned(),
            json!({"username": "eve", "password": PASSWORD, "groups": ["group of root"]}),
        ),
        ("POST /api/backend/user_groups".to_owned(), json!({"name": "x", "rights": "0"})),
        (
            "POST /api/backend/user_groups".to_owned(),
            json!({"name": "x", "rights": ["keys_keys_view"]}),
        ),
        (
            "POST /api/backend/actions/checklist".to_owned(),
            json!({
                "table": "user_groups", "column": "rights", "id": own, "add": ["keys_keys_view"],
            }),
        ),
    ] {
        site.ask(&line).key(&clerk).json(body).refused(403, "permission_denied").await;
    }
    assert_eq!(site.database.count("select count(*) from cms_users").await, before);
    site.ask("GET /api/backend/auth/me").bearer(&root.token).expect(200).await;
}
