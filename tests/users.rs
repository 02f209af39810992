//! Users and groups: what is refused, and that nobody gains rights or loses the last administrator.

use serde_json::{Value as Json, json};

use crate::support::{Site, people::PASSWORD};

#[tokio::test]
async fn users_and_groups_are_made_changed_and_removed() {
    let site = Site::open().await;
    let group = site
        .admin("POST /api/backend/user_groups")
        .json(json!({"name": "Editors"}))
        .expect(201)
        .await
        .data();
    assert_eq!(
        group,
        json!({"id": 1, "name": "Editors", "rights": [], "members": 0, "created_at": "2026-11-21T09:30:00Z"})
    );
    let new = json!({"username": "ana", "password": PASSWORD, "groups": ["editors", 1]});
    let user = site.admin("POST /api/backend/users").json(new.clone()).expect(201).await.data();
    let expected = json!({
        "id": 1, "username": "ana", "active": true, "groups": [{"id": 1, "name": "Editors"}], "two_factor": false,
        "recovery_codes": 0, "sessions": 0, "last_login_at": null, "created_at": "2026-11-21T09:30:00Z",
    });
    assert_eq!(user, expected);
    assert_eq!(site.admin("GET /api/backend/users?id=1").expect(200).await.data(), expected);
    assert_eq!(
        site.admin("GET /api/backend/users?username=ANA").expect(200).await.data(),
        expected
    );
    assert_eq!(site.admin("GET /api/backend/users").expect(200).await.data(), json!([expected]));
    site.admin("POST /api/backend/users")
        .json(json!({"username": "ANA", "password": PASSWORD, "groups": [1]}))
        .refused(409, "conflict")
        .await;
    site.admin("DELETE /api/backend/user_groups?id=1").refused(409, "conflict").await;
    let renamed = site
        .admin("PATCH /api/backend/users?id=1")
        .json(json!({"username": "Anna"}))
        .expect(200)
        .await
        .data();
    assert_eq!(renamed["username"], "Anna");
    site.admin("DELETE /api/backend/users?id=1").expect(204).await;
    site.admin("DELETE /api/backend/user_groups?id=1").expect(204).await;
    for line in [
        "GET /api/backend/users?id=1",
        "DELETE /api/backend/users?id=1",
        "GET /api/backend/user_groups?id=1",
    ] {
        site.admin(line).refused(404, "not_found").await;
    }
    let listed = site.admin("GET /api/backend/audit").expect(200).await.text();
    assert!(listed.contains("user_groups") && !listed.contains(PASSWORD));
    let tables = async |query: &str| -> Vec<String> {
        let rows = site.admin(&format!("GET /api/backend/audit?{query}")).expect(200).await.data();
        rows.as_array()
            .unwrap()
            .iter()
            .map(|row| format!("{} {}", row["action"], row["table"]).replace('"', ""))
            .collect()
    };
    assert_eq!(tables("table=user_groups").await, ["delete user_groups", "create user_groups"]);
    assert_eq!(
        tables("table=users,user_groups&limit=2").await,
        ["delete user_groups", "delete users"]
    );
    assert_eq!(tables("table=user,groups,user-groups,%25").await, [""; 0]);
}

#[tokio::test]
async fn wrong_users_and_groups_are_refused() {
    let site = Site::open().await;
    site.group("editors", json!([])).await;
    let user = |name: &str, password: &str, groups: Json| json!({"username": name, "password": password, "groups": groups});
    let before = site.traces().await;
    for (body, field) in [
        (user("", PASSWORD, json!(["editors"])), "username"),
        (user("12", PASSWORD, json!(["editors"])), "username"),
        (user("a:b", PASSWORD, json!(["editors"])), "username"),
        (user(" ana", PASSWORD, json!(["editors"])), "username"),
        (user("ana", "short", json!(["editors"])), "password"),
        (user("correct", PASSWORD, json!(["editors"])), "password"),
        (user("ana", PASSWORD, json!([])), "groups"),
        (user("ana", PASSWORD, json!(["nobody"])), "groups"),
        (user("ana", PASSWORD, json!([77])), "groups"),
    ] {
        let reply = site
            .admin("POST /api/backend/users")
            .json(body.clone())
            .refused(422, "validation_failed")
            .await;
        assert_eq!(reply.json()["errors"][0]["field"], field, "{body}");
        assert!(!reply.text().contains(PASSWORD), "{body}");
    }
    for body in [
        json!({"username": "ana"}),
        json!({"username": "ana", "password": 5, "groups": []}),
        json!({"x": 1}),
    ] {
        site.admin("POST /api/backend/users").json(body).refused(422, "validation_failed").await;
    }
    for body in [
        json!({"name": ""}),
        json!({"name": "x", "rights": ["*"]}),
        json!({"name": "x", "rights": "1"}),
        json!({"name": "x", "rights": 0}),
    ] {
        site.admin("POST /api/backend/user_groups")
            .json(body)
            .refused(422, "validation_failed")
            .await;
    }
    assert_eq!(site.traces().await, before);
}

#[tokio::test]
async fn the_last_administrator_stays() {
    let site = Site::open().await;
    let root = site.person("root", json!("0")).await;
    let group = site.admin("GET /api/backend/users?username=root").expect(200).await.data()["groups"][0]["id"].clone();
    site.group("editors", json!([])).await;
    let as_root = |line: &str| site.ask(line).bearer(&root.token);
    let user = format!("/api/backend/users?id={}", root.id);
    as_root(&format!("DELETE {user}")).refused(409, "conflict").await;
    as_root(&format!("PATCH {user}")).json(json!({"active": false})).refused(409, "conflict").await;
    as_root(&format!("PATCH {user}"))
        .json(json!({"groups": ["editors"]}))
        .refused(409, "conflict")
        .await;
    as_root(&format!("PATCH /api/backend/user_groups?id={group}"))
        .json(json!({"rights": []}))
        .refused(409, "conflict")
        .await;
    as_root(&format!("DELETE /api/backend/user_groups?id={group}")).refused(409, "conflict").await;
    as_root("GET /api/backend/users").expect(200).await;

    // Two administrators who remove each other at the same moment: one stays.
    let second = site.person("second", json!("0")).await;
    let (a, b) = tokio::join!(
        as_root(&format!("PATCH /api/backend/users?id={}", second.id))
            .json(json!({"active": false}))
            .send(),
        site.ask(&format!("PATCH {user}"))
            .bearer(&second.token)
            .json(json!({"active": false}))
            .send(),
    );
    let mut outcomes = [a.status.as_u16(), b.status.as_u16()];
    outcomes.sort_unstable();
    assert_eq!(outcomes[0], 200);
    assert!([401, 409].contains(&outcomes[1]), "{outcomes:?}");
    let left = "select count(*) from cms_users where active";
    assert_eq!(site.database.count(left).await, 1);
}

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
        let right = cms_core::keys::Right::parse(right).unwrap();
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
            json!({"table": "user_groups", "column": "rights", "id": own, "add": ["users_users_edit"]}),
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
            json!({"table": "user_groups", "column": "rights", "id": own, "add": ["keys_keys_view"]}),
        ),
    ] {
        site.ask(&line).key(&clerk).json(body).refused(403, "permission_denied").await;
    }
    assert_eq!(site.database.count("select count(*) from cms_users").await, before);
    site.ask("GET /api/backend/auth/me").bearer(&root.token).expect(200).await;
}

#[tokio::test]
async fn the_rights_of_a_group_are_a_checklist() {
    let site = Site::open().await;
    let group = site.group("editors", json!(["pages_pages_view"])).await;
    let apply = |body: Json| site.admin("POST /api/backend/actions/checklist").json(body);
    let change = json!({"table": "user_groups", "column": "rights", "id": group, "add": ["keys_keys_view"], "remove": ["pages_pages_view"]});
    assert_eq!(apply(change).expect(200).await.data(), json!(["keys_keys_view"]));
    let all = json!({"table": "user_groups", "column": "rights", "id": group.to_string(), "value": ["b_b_view", "a_a_edit"]});
    assert_eq!(apply(all).expect(200).await.data(), json!(["a_a_edit", "b_b_view"]));
    for (body, status) in [
        (json!({"table": "user_groups", "column": "name", "id": group, "add": ["x"]}), 422),
        (json!({"table": "user_groups", "column": "rights", "id": group, "add": ["*"]}), 422),
        (json!({"table": "user_groups", "column": "rights", "id": group, "add": [5]}), 422),
        (json!({"table": "user_groups", "column": "rights", "id": 77, "add": []}), 404),
        (json!({"table": "users", "column": "password", "id": 1, "add": []}), 404),
    ] {
        apply(body).expect(status).await;
    }
}
