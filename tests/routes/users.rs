//! `/api/backend/users` and `/api/backend/user_groups`: who works with the backend.

use serde_json::{Value as Json, json};

use crate::support::{Site, each, people::PASSWORD, with};

#[tokio::test]
async fn users_and_groups_are_made_changed_and_removed() {
    let site = Site::open().await;
    let group = site.create("/api/backend/user_groups", json!({"name": "Editors"})).await;
    let expected = json!({"id": 1, "name": "Editors", "rights": [], "members": 0,
                          "created_at": "2026-11-21T09:30:00Z"});
    assert_eq!(group, expected);
    let new = json!({"username": "ana", "password": PASSWORD, "groups": ["editors", 1]});
    let user = site.create("/api/backend/users", new.clone()).await;
    let expected = json!({
        "id": 1, "username": "ana", "active": true, "groups": [{"id": 1, "name": "Editors"}],
        "two_factor": false, "recovery_codes": 0, "sessions": 0, "last_login_at": null,
        "created_at": "2026-11-21T09:30:00Z",
    });
    assert_eq!(user, expected);
    assert_eq!(site.get("/api/backend/users?id=1").await, expected);
    assert_eq!(site.get("/api/backend/users?username=ANA").await, expected);
    assert_eq!(site.get("/api/backend/users").await, json!([expected]));
    let twice = json!({"username": "ANA", "password": PASSWORD, "groups": [1]});
    for (line, body, field) in [
        ("POST /api/backend/users", twice, "username"),
        ("POST /api/backend/user_groups", json!({"name": "EDITORS"}), "name"),
    ] {
        let refused = site.admin(line).json(body).refused(409, "conflict").await;
        assert_eq!(refused.json()["errors"][0]["field"], field, "{line}");
    }
    site.admin("DELETE /api/backend/user_groups?id=1").refused(409, "conflict").await;
    let renamed = site.patch("/api/backend/users?id=1", json!({"username": "Anna"})).await;
    assert_eq!(renamed["username"], "Anna");
    site.delete("/api/backend/users?id=1").await;
    site.delete("/api/backend/user_groups?id=1").await;
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
        let rows = site.get(&format!("/api/backend/audit?{query}")).await;
        let both = each(&rows, "action").into_iter().zip(each(&rows, "table"));
        both.map(|(action, table)| format!("{action} {table}").replace('"', "")).collect()
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
        with(json!({"username": name, "password": password}), json!({"groups": groups}))
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
        let ask = site.admin("POST /api/backend/users").json(body.clone());
        let reply = ask.refused(422, "validation_failed").await;
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
        site.invalid("POST /api/backend/user_groups", body).await;
    }
    assert_eq!(site.traces().await, before);
}

/// Names that look the same are one name, and what no name may hold today stays where it is.
#[tokio::test]
async fn names_are_composed_and_show_all_they_hold() {
    let site = Site::open().await;
    let group = site.group("Noe\u{308}ls", json!([])).await;
    let user = site.user("zoe\u{308}", "noe\u{308}ls").await;
    let key = site.create("/api/backend/keys", json!({"name": "zoe\u{308}", "rights": []})).await;
    assert_eq!(key["name"], "zo\u{eb}");
    let one = format!("/api/backend/users?id={user}");
    let shown = site.get(&one).await;
    assert_eq!(shown["username"], "zo\u{eb}");
    assert_eq!(shown["groups"], json!([{"id": group, "name": "No\u{eb}ls"}]));
    for name in ["ZO\u{cb}", "zoe\u{308}"] {
        assert_eq!(site.begin(name, PASSWORD).await.status, 200, "{name:?}");
    }
    let named = |name: &str| json!({"username": name, "password": PASSWORD, "groups": [group]});
    let hook =
        |name: &str| json!({"name": name, "url": "https://hooks.example.org/", "events": ["*"]});
    for (line, body) in [
        ("POST /api/backend/users", named("ZOE\u{308}")),
        ("POST /api/backend/user_groups", json!({"name": "noe\u{308}ls"})),
    ] {
        site.admin(line).json(body).refused(409, "conflict").await;
    }
    for name in ["bob\u{200b}", "\u{3164}", "\u{ad}", "\u{200d}bob"] {
        for (line, body) in [
            ("POST /api/backend/users", named(name)),
            ("POST /api/backend/user_groups", json!({"name": name})),
            ("POST /api/backend/keys", json!({"name": name, "rights": []})),
            ("POST /api/backend/webhooks", hook(name)),
        ] {
            let refused = site.admin(line).json(body).refused(422, "validation_failed").await;
            assert_eq!(refused.json()["errors"][0]["code"], "format", "{line} {name:?}");
        }
    }
    let webhook = site.create("/api/backend/webhooks", hook("bob")).await;
    let older = "e\u{308}d\u{200b}";
    for sql in [
        format!("update cms_webhook_subscriptions set name = '{older}'"),
        format!("update cms_users set username = '{older}', name_key = '{older}'"),
        format!("update cms_user_groups set name = '{older}', name_key = '{older}'"),
        format!("update cms_api_keys set name = '{older}' where id = {}", key["id"]),
    ] {
        site.database.run(sql).await;
    }
    let group = format!("/api/backend/user_groups?id={group}");
    let key = format!("/api/backend/keys?id={}", key["id"]);
    let webhook = format!("/api/backend/webhooks?id={}", webhook["id"]);
    for (path, body) in [
        (&webhook, json!({"name": older, "max_retries": 1})),
        (&one, json!({"active": true, "username": older, "groups": [older]})),
        (&group, json!({"name": older, "rights": ["pages_pages_view"]})),
        (&key, json!({"name": older, "active": true})),
    ] {
        let changed = site.patch(path, body).await;
        let name = changed.get("username").or(changed.get("name"));
        assert_eq!(name, Some(&json!(older)), "{path}");
    }
    assert_eq!(site.begin(older, PASSWORD).await.status, 200);
    let older = "zoe\u{308}";
    let sql = format!("update cms_users set username = '{older}', name_key = '{older}'");
    site.database.run(sql).await;
    for name in ["ZO\u{cb}", older] {
        assert_eq!(site.begin(name, PASSWORD).await.status, 200, "{name:?}");
    }
}

#[tokio::test]
async fn the_last_administrator_stays() {
    let site = Site::open().await;
    let root = site.person("root", json!("0")).await;
    let found = site.get("/api/backend/users?username=root").await;
    let group = found["groups"][0]["id"].clone();
    site.group("editors", json!([])).await;
    let as_root = |line: &str| site.ask(line).bearer(&root.token);
    let user = format!("/api/backend/users?id={}", root.id);
    let admins = format!("/api/backend/user_groups?id={group}");
    for (method, path, body) in [
        ("DELETE", &user, json!({})),
        ("PATCH", &user, json!({"active": false})),
        ("PATCH", &user, json!({"groups": ["editors"]})),
        ("PATCH", &admins, json!({"rights": []})),
        ("DELETE", &admins, json!({})),
    ] {
        as_root(&format!("{method} {path}")).json(body).refused(409, "conflict").await;
    }
    as_root("GET /api/backend/users").expect(200).await;

    // Two administrators who remove each other at the same moment: one stays.
    let second = site.person("second", json!("0")).await;
    let off = json!({"active": false});
    let (a, b) = tokio::join!(
        as_root(&format!("PATCH /api/backend/users?id={}", second.id)).json(off.clone()).send(),
        site.ask(&format!("PATCH {user}")).bearer(&second.token).json(off).send(),
    );
    let mut outcomes = [a.status.as_u16(), b.status.as_u16()];
    outcomes.sort_unstable();
    assert_eq!(outcomes[0], 200);
    assert!([401, 409].contains(&outcomes[1]), "{outcomes:?}");
    assert_eq!(site.database.rows("cms_users where active").await, 1);
}

#[tokio::test]
async fn sessions_are_shown_and_ended_one_by_one() {
    let site = Site::open().await;
    let ana = site.person("ana", json!([])).await;
    let second = site.log_in_again(&ana).await.data()["token"].as_str().unwrap().to_owned();
    let path = format!("/api/backend/users/sessions?id={}", ana.id);
    let open = site.get(&path).await;
    assert_eq!((open.as_array().unwrap().len(), &open[0]["address"]), (2, &json!("127.0.0.1")));
    assert!(!open.to_string().contains("hash"));
    site.delete(&format!("{path}&session={}", open[0]["id"])).await;
    site.ask("GET /api/backend/auth/me").bearer(&ana.token).refused(401, "login_required").await;
    site.ask("GET /api/backend/auth/me").bearer(&second).expect(200).await;
    site.admin(&format!("DELETE {path}&session={}", open[0]["id"])).refused(404, "not_found").await;
}
