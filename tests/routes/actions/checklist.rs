//! `/api/backend/actions/checklist`: lists in a column change as one step.

use serde_json::{Value as Json, json};

use crate::{
    routes::item::site,
    support::{Site, with},
};

#[tokio::test]
async fn checklists_change_as_one_step() {
    let site = site().await;
    site.insert("blog", json!({"title": "a", "tags": ["x"]})).await;
    let apply = |body: Json| site.admin("POST /api/backend/actions/checklist").json(body);
    let change =
        json!({"table": "blog", "column": "tags", "id": 1, "add": ["y", "x"], "remove": ["z"]});
    assert_eq!(apply(change).expect(200).await.text(), r#"{"data":["x","y"]}"#);
    let change = json!({"table": "blog", "column": "tags", "id": "1", "value": [1, {"a": 2}]});
    assert_eq!(apply(change).expect(200).await.text(), r#"{"data":[1,{"a":2}]}"#);
    let of = |table: &str, column: &str, more: Json| {
        with(json!({"table": table, "column": column, "id": 1, "add": ["y"]}), more)
    };
    for (body, status, code) in [
        (of("blog", "title", json!({})), 422, "validation_failed"),
        (of("blog", "nope", json!({})), 400, "database_error"),
        (of("blog", "tags", json!({"id": 9})), 404, "not_found"),
        (of("api_keys", "rights", json!({"add": ["*"]})), 404, "unknown_table"),
        (json!({"table": "blog", "column": "tags"}), 422, "validation_failed"),
        (of("blog", "tags", json!({"value": []})), 422, "validation_failed"),
    ] {
        apply(body).refused(status, code).await;
    }
    let narrow = site.key(&["POST /api/backend/actions/checklist?table=authors"]).await;
    let ask = site.ask("POST /api/backend/actions/checklist").key(&narrow);
    ask.json(of("blog", "tags", json!({}))).refused(401, "api_key_forbidden").await;
    assert_eq!(site.database.rows("cms_events where name = 'item.blog.updated'").await, 2);
}

#[tokio::test]
async fn an_array_hides_no_table_from_the_rights() {
    let site = site().await;
    site.insert("blog", json!({"title": "a", "tags": ["x"]})).await;
    let narrow = site.key(&["POST /api/backend/actions/checklist?table=authors"]).await;
    for (query, body) in [
        ("?table=authors", json!(["blog", "tags", 1, ["y"], [], null])),
        ("", json!(["authors", "tags", 1])),
        ("?table=authors", json!({"table": "blog", "column": "tags", "id": 1, "add": ["y"]})),
    ] {
        let ask = site.ask(&format!("POST /api/backend/actions/checklist{query}")).key(&narrow);
        let reply = ask.json(body.clone()).send().await;
        assert!([400, 401].contains(&reply.status.as_u16()), "{query} {body}: {}", reply.text());
    }
    let ask = site.admin("POST /api/backend/keys").json(json!(["name", null, true, []]));
    ask.refused(400, "bad_json").await;
    assert_eq!(site.items("blog&id=1&fields=tags").await["tags"], json!(["x"]));
    // Without a row for the action its body is not even read.
    let other = site.key(&["GET /api/pages"]).await;
    let ask = site.ask("POST /api/backend/actions/checklist").key(&other).body("{");
    ask.refused(401, "api_key_forbidden").await;
}

#[tokio::test]
async fn the_rights_of_a_group_are_a_checklist() {
    let site = Site::open().await;
    let group = site.group("editors", json!(["pages_pages_view"])).await;
    let apply = |body: Json| site.admin("POST /api/backend/actions/checklist").json(body);
    let change = json!({
        "table": "user_groups", "column": "rights", "id": group, "add": ["keys_keys_view"],
        "remove": ["pages_pages_view"],
    });
    assert_eq!(apply(change).expect(200).await.data(), json!(["keys_keys_view"]));
    let all = json!({
        "table": "user_groups", "column": "rights", "id": group.to_string(),
        "value": ["b_b_view", "a_a_edit"],
    });
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
    let none = json!({"table": "user_groups", "column": "rights", "id": group, "value": []});
    let other = "POST /api/backend/actions/checklist?table=pages";
    site.admin(other).json(none.clone()).refused(400, "bad_query").await;
    apply(none.clone()).header("if-match", "\"x\"").refused(412, "stale").await;
    apply(none).header("if-match", "*").expect(200).await;
}
