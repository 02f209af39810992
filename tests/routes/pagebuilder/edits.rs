use serde_json::json;

use super::{BUILDER, site, titles};
use crate::support::{has, with};

#[tokio::test]
async fn a_draft_grows_node_by_node() {
    let site = site().await;
    let empty = site.draft(1).await;
    let expected = json!({"page_id": 1, "rev": 0, "published": false, "revision": null,
                          "changed": true, "publish_at": null, "take_off_at": null, "rows": []});
    assert_eq!(empty.data(), expected);
    assert_eq!(empty.header("etag"), "\"1-0\"");
    let (row, col) = site.row(1).await;
    let node = json!({"kind": "widget", "parent": {"col_id": col}, "widget": "title",
                      "data": {"title": "Second", "level": "h2", "subtitle": ""}});
    let reply = site.admin(&format!("POST {BUILDER}")).json(node.clone()).expect(201).await;
    let second = reply.data()["id"].clone();
    let stored = json!({"id": second, "position": 0, "data": {"title": "Second", "level": "h2"},
                        "page_id": 1, "rev": 3});
    assert_eq!(reply.data(), with(node, stored));
    assert_eq!(reply.header("etag"), "\"1-3\"");
    let first = json!({"kind": "widget", "parent": {"col_id": col}, "widget": "title",
                       "data": {"title": "First"}, "position": 0});
    site.add(first).await;
    let list = site.widget(col, "uspIconList", json!({})).await;
    for text in ["a", "b"] {
        let item = json!({"kind": "item", "parent": {"widget_id": list}, "data": {"title": text},
                          "position": 0});
        site.add(item).await;
    }
    let draft = site.draft(1).await.data();
    assert_eq!(titles(&draft)[..2], ["First", "Second"]);
    let items = draft["rows"][0]["cols"][0]["widgets"][2]["items"].clone();
    has!(items, {"/0/data/title": "b", "/1/data/title": "a", "/0/language_short": "en",
                 "/0/base_id": items[0]["id"]});
    // Values change one by one; null empties one.
    let change = json!({"data": {"title": "2nd", "level": null}});
    let changed = site.patch(&format!("{BUILDER}?widget_id={second}"), change).await;
    assert_eq!(changed["data"], json!({"title": "2nd"}));
    let line = format!("{BUILDER}?item_id={}", items[0]["id"]);
    let changed = site.patch(&line, json!({"data": {"title": "c"}})).await;
    has!(changed, {"kind": "item", "data": {"title": "c"}});
    // What names no value changes nothing: the tags of others hold.
    let tag = site.draft(1).await.header("etag").to_owned();
    let unchanged = site.patch(&line, json!({"data": {}})).await;
    assert_eq!(format!("\"1-{}\"", unchanged["rev"]), tag);
    assert_eq!(site.draft(1).await.header("etag"), tag);
    // Visitors see nothing of all this, and nobody is told.
    site.ask("GET /api/pages?id=1").refused(404, "not_found").await;
    assert_eq!(site.database.rows("cms_events").await, 2, "the pages");
    // A row goes with all that stands in it.
    site.delete(&format!("{BUILDER}?kind=row&id={row}")).await;
    assert_eq!(site.draft(1).await.data()["rows"], json!([]));
    assert_eq!(site.database.rows("cms_page_widget_item").await, 0);
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
        let body = with(json!({"kind": "widget", "id": id}), to);
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
    let step = format!("POST {BUILDER}?action=move");
    let patch = format!("PATCH {BUILDER}?widget_id={widget}");
    let title =
        |parent, data| json!({"kind": "widget", "parent": parent, "widget": "title", "data": data});
    let row_in = |page: i64| json!({"kind": "row", "parent": {"page_id": page}});
    let (here, moved) = (json!({"col_id": col}), json!({"kind": "widget", "id": widget}));
    for (line, body, status, told) in [
        (&*post, title(json!({"col_id": 999}), json!({})), 404, "col"),
        (&post, title(json!({"row_id": row}), json!({})), 422, "parent"),
        (&post, title(json!({}), json!({})), 422, "parent"),
        (&post, title(here.clone(), json!({"titel": "x"})), 422, "title"),
        (&post, title(here.clone(), json!({"title": 7})), 422, "title"),
        (&post, title(here.clone(), json!({"level": "h9"})), 422, "level"),
        (
            &post,
            json!({"kind": "widget", "parent": here, "widget": "nothing"}),
            422,
            "unknown_widget",
        ),
        (&post, json!({"kind": "widget", "parent": here}), 422, "widget"),
        (&post, with(row_in(1), json!({"data": {"a": 1}})), 422, "data"),
        (&post, with(row_in(1), json!({"position": 2})), 422, "position"),
        (&post, row_in(99), 404, "page"),
        (&post, json!({"kind": "item", "parent": {"widget_id": widget}}), 422, "no_repeater"),
        (&post, with(row_in(1), json!({"kind": "page"})), 422, "one of row, col, widget, item"),
        (&step, with(moved.clone(), json!({"parent": {"col_id": elsewhere}})), 422, "page"),
        (&step, json!({"kind": "row", "id": row, "parent": {"page_id": 2}}), 422, "page"),
        (&step, with(moved, json!({"position": 1})), 422, "position"),
        (&patch, json!({"data": {"title": "b", "sort_order": 1, "id": 2}}), 422, "sort_order"),
        (&patch, json!({"data": {"title": "a\u{0}b"}}), 422, "title"),
        (&format!("PATCH {BUILDER}?widget_id=99"), json!({"data": {}}), 404, "99"),
        (&format!("PATCH {BUILDER}"), json!({"data": {}}), 400, "widget_id"),
    ] {
        let code = match status {
            400 => "bad_query",
            404 => "not_found",
            _ => "validation_failed",
        };
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
    for _ in 0..11 {
        site.widget(col, "html", json!({"text": text})).await;
    }
    let long = json!({"kind": "widget", "parent": {"col_id": col}, "widget": "html",
                      "data": {"text": text}});
    let refused = site.admin(&post).json(long).refused(422, "validation_failed").await;
    assert_eq!(refused.json()["errors"][0]["field"], "data");
}

#[tokio::test]
async fn who_comes_second_learns_what_changed() {
    let site = site().await;
    let (_, widget) = site.headline(1, "a").await;
    let seen = site.draft(1).await.header("etag").to_owned();
    let line = format!("PATCH {BUILDER}?widget_id={widget}");
    // Only what differs is told.
    let first = json!({"data": {"title": "first", "subtitle": null}});
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
        has!(stale["errors"][0], {"field": format!("widget {widget}"), "code": "changed"});
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
    let (_, widget) = site.headline(1, "secret plan").await;
    let key = site.key(&[&format!("PATCH {BUILDER}"), &format!("POST {BUILDER}")]).await;
    let line = format!("PATCH {BUILDER}?widget_id={widget}");
    let mine = site.ask(&line).key(&key).json(json!({"data": {"align": "center"}}));
    let mine = mine.expect(200).await.text();
    assert!(!mine.contains("secret"), "{mine}");
    let first = site.ask(&line).key(&key).json(json!({"data": {}})).header("if-match", "\"1-1\"");
    let stale = first.refused(412, "stale").await.json();
    assert_eq!(stale["errors"], json!(null));
    let link =
        |key| site.ask(&format!("POST {BUILDER}?action=link")).key(key).json(json!({"page_id": 1}));
    link(&key).refused(401, "api_key_forbidden").await;
    let reader = site.key(&[&format!("GET {BUILDER}"), &format!("POST {BUILDER}")]).await;
    link(&reader).expect(200).await;
}

/// A page that is nearly full can be made smaller.
#[tokio::test]
async fn a_full_page_can_shrink() {
    let site = site().await;
    let (_, col) = site.row(1).await;
    let long = "x".repeat(100_000);
    let mut last = 0;
    for _ in 0..10 {
        last = site.widget(col, "html", json!({"text": long})).await;
    }
    let line = format!("{BUILDER}?widget_id={last}");
    site.patch(&line, json!({"data": {"text": "y".repeat(99_000)}})).await;
    site.patch(&line, json!({"data": {"text": null}})).await;
}
