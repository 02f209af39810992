//! `/api/backend/users` and `/api/backend/user_groups`: who works with the backend.

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
        json!({
            "id": 1, "name": "Editors", "rights": [], "members": 0,
            "created_at": "2026-11-21T09:30:00Z",
        })
    );
    let new = json!({"username": "ana", "password": PASSWORD, "groups": ["editors", 1]});
    let user = site.admin("POST /api/backend/users").json(new.clone()).expect(201).await.data();
    let expected = json!({
        "id": 1, "username": "ana", "active": true, "groups": [{"id": 1, "name": "Editors"}],
        "two_factor": false,
        "recovery_codes": 0, "sessions": 0, "last_login_at": null,
        "created_at": "2026-11-21T09:30:00Z",
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
    let user = |name: &str, password: &str, groups: Json| {
        json!({
            "username": name, "password": password, "groups": groups,
        })
    };
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
    let found = site.admin("GET /api/backend/users?username=root").expect(200).await.data();
    let group = found["groups"][0]["id"].clone();
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
async fn sessions_are_shown_and_ended_one_by_one() {
    let site = Site::open().await;
    let ana = site.person("ana", json!([])).await;
    let second = site.log_in_again(&ana).await.data()["token"].as_str().unwrap().to_owned();
    let path = format!("/api/backend/users/sessions?id={}", ana.id);
    let open = site.admin(&format!("GET {path}")).expect(200).await.data();
    assert_eq!((open.as_array().unwrap().len(), &open[0]["address"]), (2, &json!("127.0.0.1")));
    assert!(!open.to_string().contains("hash"));
    site.admin(&format!("DELETE {path}&session={}", open[0]["id"])).expect(204).await;
    site.ask("GET /api/backend/auth/me").bearer(&ana.token).refused(401, "login_required").await;
    site.ask("GET /api/backend/auth/me").bearer(&second).expect(200).await;
    site.admin(&format!("DELETE {path}&session={}", open[0]["id"])).refused(404, "not_found").await;
}
