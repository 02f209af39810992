//! Nobody gains rights: not by keys, not by users, not by groups.

use serde_json::json;

use crate::support::{Site, people::PASSWORD, with};

#[tokio::test]
async fn nobody_gains_rights() {
    let site = Site::open().await;
    let root = site.person("root", json!("0")).await;
    let rights = json!(["keys_keys_view", "keys_keys_edit", "settings_settings_view"]);
    let ana = site.person("ana", rights).await;
    let before = site.database.rows("cms_users").await;
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
    let own = site.get(&format!("/api/backend/users?id={}", ana.id)).await;
    let own = &own["groups"][0]["id"];
    let root_user = format!("/api/backend/users?id={}", root.id);
    let user = "POST /api/backend/users".to_owned();
    let eve = json!({"username": "eve", "password": PASSWORD, "groups": ["group of root"]});
    let password = json!({"password": "mine now, thanks"});
    let checklist = "POST /api/backend/actions/checklist".to_owned();
    let add = |right: &str| {
        let list = json!({"table": "user_groups", "column": "rights", "id": own});
        with(list, json!({"add": [right]}))
    };
    for (line, body) in [
        (format!("POST /api/backend/keys/rotate?id={strong}"), json!({})),
        (format!("PATCH /api/backend/keys?id={strong}"), json!({"name": "y"})),
        (format!("DELETE /api/backend/keys?id={strong}"), json!(null)),
        (format!("PATCH /api/backend/user_groups?id={own}"), json!({"rights": "0"})),
        (format!("PATCH /api/backend/users?id={}", ana.id), json!({"groups": ["group of root"]})),
        (format!("PATCH {root_user}"), password.clone()),
        (user.clone(), eve.clone()),
        (checklist.clone(), add("users_users_edit")),
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
    let group = "POST /api/backend/user_groups".to_owned();
    for (line, body) in [
        (format!("PATCH {root_user}"), password),
        (format!("PATCH {root_user}"), json!({"active": false})),
        (format!("DELETE {root_user}"), json!(null)),
        (format!("DELETE /api/backend/users/sessions?id={}", root.id), json!(null)),
        (user, eve),
        (group.clone(), json!({"name": "x", "rights": "0"})),
        (group, json!({"name": "x", "rights": ["keys_keys_view"]})),
        (checklist, add("keys_keys_view")),
    ] {
        site.ask(&line).key(&clerk).json(body).refused(403, "permission_denied").await;
    }
    assert_eq!(site.database.rows("cms_users").await, before);
    site.ask("GET /api/backend/auth/me").bearer(&root.token).expect(200).await;
}
