use serde_json::json;

use super::{BUILDER, site, titles};

#[tokio::test]
async fn a_draft_grows_node_by_node() {
    let site = site().await;
    let empty = site.draft(1).await;
    assert_eq!(
        empty.data(),
        json!({"page_id": 1, "rev": 0, "published": false, "revision": null, "changed": true,
               "publish_at": null, "take_off_at": null, "rows": []})
    );
    assert_eq!(empty.header("etag"), "\"1-0\"");
    let (row, col) = site.row(1).await;
    let reply = site
        .admin(&format!("POST {BUILDER}"))
        .json(json!({"kind": "widget", "parent": {"col_id": col}, "widget": "title",
                     "data": {"title": "Second", "level": "h2", "subtitle": ""}}))
        .expect(201)
        .await;
    let second = reply.data()["id"].clone();
    assert_eq!(
        reply.data(),
        json!({"kind": "widget", "id": second, "parent": {"col_id": col}, "position": 0,
               "widget": "title", "data": {"title": "Second", "level": "h2"}, "page_id": 1,
               "rev": 3})
    );
    assert_eq!(reply.header("etag"), "\"1-3\"");
    let first = json!({"kind": "widget", "parent": {"col_id": col}, "widget": "title",
                       "data": {"title": "First"}, "position": 0});
    site.add(first).await;
    let list = json!({"kind": "widget", "parent": {"col_id": col}, "widget": "uspIconList"});
    let list = site.add(list).await["id"].as_i64().unwrap();
    for text in ["a", "b"] {
        let item = json!({"kind": "item", "parent": {"widget_id": list}, "data": {"title": text},
                          "position": 0});
        site.add(item).await;
    }
    let draft = site.draft(1).await.data();
    assert_eq!(titles(&draft)[..2], ["First", "Second"]);
    let items = draft["rows"][0]["cols"][0]["widgets"][2]["items"].clone();
    assert_eq!(
        (&items[0]["data"]["title"], &items[1]["data"]["title"]),
        (&json!("b"), &json!("a"))
    );
    assert_eq!(items[0]["language_short"], "en");
    assert_eq!(items[0]["base_id"], items[0]["id"]);
    // Values change one by one; null empties one.
    let line = format!("PATCH {BUILDER}?widget_id={second}");
    let change = json!({"data": {"title": "2nd", "level": null}});
    let changed = site.admin(&line).json(change).expect(200).await.data();
    assert_eq!(changed["data"], json!({"title": "2nd"}));
    let item = items[0]["id"].as_i64().unwrap();
    let line = format!("PATCH {BUILDER}?item_id={item}");
    let changed = site.admin(&line).json(json!({"data": {"title": "c"}})).expect(200).await.data();
    assert_eq!((&changed["kind"], &changed["data"]), (&json!("item"), &json!({"title": "c"})));
    // Visitors see nothing of all this, and nobody is told.
    site.ask("GET /api/pages?id=1").refused(404, "not_found").await;
    assert_eq!(site.database.count("select count(*) from cms_events").await, 2, "the pages");
    // A row goes with all that stands in it.
    site.admin(&format!("DELETE {BUILDER}?kind=row&id={row}")).expect(204).await;
    assert_eq!(site.draft(1).await.data()["rows"], json!([]));
    assert_eq!(site.database.count("select count(*) from cms_page_widget_item").await, 0);
}

#[tokio::test]
async fn nodes_move_within_their_page() {
    let site = site().await;
    let (row, left) = site.row(1).await;
    let right = site.add(json!({"kind": "col", "parent": {"row_id": row}})).await["id"].clone();
    let mut ids = Vec::new();
    for title in ["a", "b", "c", "d"] {
        ids.push(site.title(left, title).await);
    }
    let order = async || titles(&site.draft(1).await.data()).concat();
    for (id, to, expected) in [
        (ids[0], json!({"position": 2}), "bcad"),
        (ids[3], json!({"position": 0}), "dbca"),
        (ids[1], json!({}), "dcab"),
        (ids[1], json!({"position": 3}), "dcab"),
        (ids[2], json!({"parent": {"col_id": right}}), "dabc"),
        (ids[0], json!({"parent": {"col_id": right}, "position": 0}), "dbac"),
        (ids[2], json!({"parent": {"col_id": left}, "position": 1}), "dcba"),
    ] {
        let mut body = json!({"kind": "widget", "id": id});
        body.as_object_mut().unwrap().extend(to.as_object().unwrap().clone());
        let moved = site.act("move", body.clone()).await;
        assert_eq!(order().await, expected, "{body}: {moved}");
    }
    let places = "select count(*) from cms_page_row_col_widget w where w.sort_order >= (select \
                  count(*) from cms_page_row_col_widget o where o.col_id = w.col_id)";
    assert_eq!(site.database.count(places).await, 0, "places have no gaps");
    // Rows and columns move too.
    let (other, _) = site.row(1).await;
    site.act("move", json!({"kind": "row", "id": other, "position": 0})).await;
    assert_eq!(site.draft(1).await.data()["rows"][0]["id"], other);
    site.act("move", json!({"kind": "col", "id": right, "parent": {"row_id": other}})).await;
    assert_eq!(site.draft(1).await.data()["rows"][0]["cols"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn what_does_not_fit_is_refused_and_nothing_is_written() {
    let site = site().await;
    let (row, col) = site.row(1).await;
    let widget = site.title(col, "a").await;
    let (_, elsewhere) = site.row(2).await;
    let traces = (site.traces().await, site.draft(1).await.data());
    let post = format!("POST {BUILDER}");
    let title =
        |parent, data| json!({"kind": "widget", "parent": parent, "widget": "title", "data": data});
    let here = json!({"col_id": col});
    for (line, body, status, code, told) in [
        (post.as_str(), title(json!({"col_id": 999}), json!({})), 404, "not_found", "col"),
        (&post, title(json!({"row_id": row}), json!({})), 422, "validation_failed", "parent"),
        (&post, title(json!({}), json!({})), 422, "validation_failed", "parent"),
        (&post, title(here.clone(), json!({"titel": "x"})), 422, "validation_failed", "title"),
        (&post, title(here.clone(), json!({"title": 7})), 422, "validation_failed", "title"),
        (&post, title(here.clone(), json!({"level": "h9"})), 422, "validation_failed", "level"),
        (
            &post,
            json!({"kind": "widget", "parent": here, "widget": "nothing"}),
            422,
            "validation_failed",
            "unknown_widget",
        ),
        (&post, json!({"kind": "widget", "parent": here}), 422, "validation_failed", "widget"),
        (
            &post,
            json!({"kind": "row", "parent": {"page_id": 1}, "data": {"a": 1}}),
            422,
            "validation_failed",
            "data",
        ),
        (
            &post,
            json!({"kind": "row", "parent": {"page_id": 1}, "position": 2}),
            422,
            "validation_failed",
            "position",
        ),
        (&post, json!({"kind": "row", "parent": {"page_id": 99}}), 404, "not_found", "page"),
        (
            &post,
            json!({"kind": "item", "parent": {"widget_id": widget}}),
            422,
            "validation_failed",
            "no_repeater",
        ),
        (
            &post,
            json!({"kind": "page", "parent": {"page_id": 1}}),
            422,
            "validation_failed",
            "one of row, col, widget, item",
        ),
        (
            &format!("{post}?action=move"),
            json!({"kind": "widget", "id": widget, "parent": {"col_id": elsewhere}}),
            422,
            "validation_failed",
            "page",
        ),
        (
            &format!("{post}?action=move"),
            json!({"kind": "row", "id": row, "parent": {"page_id": 2}}),
            422,
            "validation_failed",
            "page",
        ),
        (
            &format!("{post}?action=move"),
            json!({"kind": "widget", "id": widget, "position": 1}),
            422,
            "validation_failed",
            "position",
        ),
        (
            &format!("PATCH {BUILDER}?widget_id={widget}"),
            json!({"data": {"title": "b", "sort_order": 1, "id": 2}}),
            422,
            "validation_failed",
            "sort_order",
        ),
        (&format!("PATCH {BUILDER}?widget_id=99"), json!({"data": {}}), 404, "not_found", "99"),
        (&format!("PATCH {BUILDER}"), json!({"data": {}}), 400, "bad_query", "widget_id"),
        (
            &format!("PATCH {BUILDER}?widget_id={widget}"),
            json!({"data": {"title": "a\u{0}b"}}),
            422,
            "validation_failed",
            "title",
        ),
    ] {
        let refusal = site.admin(line).json(body.clone()).refused(status, code).await;
        assert!(refusal.text().contains(told), "{line} {body}: {}", refusal.text());
    }
    site.admin(&format!("DELETE {BUILDER}?kind=widget&id=99")).refused(404, "not_found").await;
    site.admin(&format!("GET {BUILDER}?page_id=99")).refused(404, "not_found").await;
    assert_eq!((site.traces().await, site.draft(1).await.data()), traces);
}

#[tokio::test]
async fn a_page_has_bounds() {
    let site = site().await;
    let (row, col) = site.row(1).await;
    for _ in 1..12 {
        site.add(json!({"kind": "col", "parent": {"row_id": row}})).await;
    }
    let post = format!("POST {BUILDER}");
    let more = json!({"kind": "col", "parent": {"row_id": row}});
    let refused = site.admin(&post).json(more).refused(422, "validation_failed").await;
    assert_eq!(refused.json()["errors"][0]["code"], "range");
    // Twelve long texts are more than a mebibyte.
    let text = "x".repeat(95_000);
    let long = json!({"kind": "widget", "parent": {"col_id": col}, "widget": "html",
                      "data": {"text": text}});
    for _ in 0..11 {
        site.add(long.clone()).await;
    }
    let refused = site.admin(&post).json(long).refused(422, "validation_failed").await;
    assert_eq!(refused.json()["errors"][0]["field"], "data");
}

#[tokio::test]
async fn who_comes_second_learns_what_changed() {
    let site = site().await;
    let (_, col) = site.row(1).await;
    let widget = site.title(col, "a").await;
    let seen = site.draft(1).await.header("etag").to_owned();
    let line = format!("PATCH {BUILDER}?widget_id={widget}");
    let first = json!({"data": {"title": "first"}});
    let reply = site.admin(&line).json(first).header("if-match", &seen).expect(200).await;
    let after = reply.header("etag").to_owned();
    let second = json!({"data": {"title": "second"}});
    for (method, line) in [
        ("PATCH", format!("{BUILDER}?widget_id={widget}")),
        ("POST", format!("{BUILDER}?action=publish")),
        ("POST", format!("{BUILDER}?action=discard")),
        ("DELETE", format!("{BUILDER}?kind=widget&id={widget}")),
    ] {
        let ask = site.admin(&format!("{method} {line}")).header("if-match", &seen);
        let ask = match method {
            "PATCH" => ask.json(second.clone()),
            "POST" => ask.json(json!({"page_id": 1})),
            _ => ask,
        };
        let stale = ask.refused(412, "stale").await.json();
        assert_eq!(stale["errors"].as_array().unwrap().len(), 1);
        assert_eq!(stale["errors"][0]["field"], json!(format!("widget {widget}")));
        assert_eq!(stale["errors"][0]["code"], "changed");
        let told = stale["errors"][0]["message"].as_str().unwrap();
        assert!(told.contains("changed (title) by test at 2026-11-21T09:30:00Z"), "{told}");
    }
    assert_eq!(titles(&site.draft(1).await.data()), ["first"]);
    for good in [after.as_str(), "*", &format!("\"x\", {after}")] {
        let now = site.draft(1).await.header("etag").to_owned();
        let good = good.replace(after.as_str(), &now);
        site.admin(&line).json(second.clone()).header("if-match", good).expect(200).await;
    }
    let foreign = site.admin(&line).json(second).header("if-match", "\"2-1\"");
    let foreign = foreign.refused(412, "stale").await.json();
    assert_eq!(foreign["errors"], json!(null), "nothing is known of it");
}

/// Who may edit and not read learns nothing that is in a draft.
#[tokio::test]
async fn who_may_only_edit_does_not_see_the_draft() {
    let site = site().await;
    let (_, col) = site.row(1).await;
    let widget = site.title(col, "secret plan").await;
    let key = site.key(&[&format!("PATCH {BUILDER}"), &format!("POST {BUILDER}")]).await;
    let line = format!("PATCH {BUILDER}?widget_id={widget}");
    let mine = site.ask(&line).key(&key).json(json!({"data": {"align": "center"}}));
    let mine = mine.expect(200).await;
    assert!(!mine.text().contains("secret"), "{}", mine.text());
    let first = site.ask(&line).key(&key).json(json!({"data": {}})).header("if-match", "\"1-1\"");
    let stale = first.refused(412, "stale").await.json();
    assert_eq!(stale["errors"], json!(null));
    let link = site.ask(&format!("POST {BUILDER}?action=link")).key(&key);
    link.json(json!({"page_id": 1})).refused(401, "api_key_forbidden").await;
    let reader = site.key(&[&format!("GET {BUILDER}"), &format!("POST {BUILDER}")]).await;
    let link = site.ask(&format!("POST {BUILDER}?action=link")).key(&reader);
    link.json(json!({"page_id": 1})).expect(200).await;
}

/// A page that is nearly full can be made smaller.
#[tokio::test]
async fn a_full_page_can_shrink() {
    let site = site().await;
    let (_, col) = site.row(1).await;
    let long = "x".repeat(100_000);
    let mut last = json!(null);
    for _ in 0..10 {
        let node = json!({"kind": "widget", "parent": {"col_id": col}, "widget": "html",
                          "data": {"text": long}});
        last = site.add(node).await["id"].clone();
    }
    let line = format!("PATCH {BUILDER}?widget_id={last}");
    let shorter = json!({"data": {"text": "y".repeat(99_000)}});
    site.admin(&line).json(shorter).expect(200).await;
    site.admin(&line).json(json!({"data": {"text": null}})).expect(200).await;
}
