//! `/api/menu`: trees.

use serde_json::{Value as Json, json};

use super::pages::filled;
use crate::support::{Site, has, with};

const ITEMS: &str = "/api/backend/item?table=menu_items";

/// Refused with this field and code; nothing is written.
async fn wrong(site: &Site, line: &str, body: Json, field: &str, code: &str) {
    let before = site.traces().await;
    let reply = site.admin(line).json(body.clone()).refused(422, "validation_failed").await;
    has!(reply.json()["errors"][0], {"field": field, "code": code}, "{body}");
    assert_eq!(site.traces().await, before, "{body}");
}

#[tokio::test]
async fn menus_are_trees() {
    let site = filled().await;
    let menu = site.ask("GET /api/menu").expect(200).await.data();
    has!(menu, {"/0/title": "first", "/1/title": "second", "/1/children/0/title": "below",
                "/0": {"id": 2, "title": "first", "url": "/x", "target": "_self", "children": []}});
    assert_eq!(site.ask("GET /api/menu?name=footer").expect(200).await.data(), json!([]));
}

#[tokio::test]
async fn an_item_without_a_language_takes_the_first_one() {
    let site = Site::open().await;
    let made = site.create(ITEMS, json!({"menu": "main", "title": "t", "url": "/x"})).await;
    assert_eq!(made["language_short"], "en");
    let menu = site.ask("GET /api/menu?name=main").expect(200).await.data();
    has!(menu, {"/0/title": "t"});
}

/// The table would take the items below away: without events, and without anybody's right.
#[tokio::test]
async fn an_item_goes_after_those_below_it() {
    let site = filled().await;
    let delete = |id: i64| site.admin(&format!("DELETE {ITEMS}&id={id}"));
    let before = site.traces().await;
    let told = delete(1).refused(409, "conflict").await.json()["detail"].clone();
    assert_eq!(told, "1 item stands below this one (parent_id 1): delete or move it first.");
    let more = json!({"id": 4, "menu": "main", "parent_id": 1, "title": "t", "url": "/x",
                      "language_short": "en"});
    assert_eq!(site.traces().await, before);
    site.create(ITEMS, more).await;
    let told = delete(1).refused(409, "conflict").await.json()["detail"].clone();
    assert_eq!(told, "2 items stand below this one (parent_id 1): delete or move them first.");
    site.patch(&format!("{ITEMS}&id=4"), json!({"parent_id": 2})).await;
    delete(3).expect(204).await;
    delete(1).expect(204).await;
    assert_eq!(site.database.rows("cms_events where name = 'item.menu_items.deleted'").await, 2);
    // As it may have been written before: below itself.
    site.database.run("update cms_menu_items set parent_id = 4 where id = 4").await;
    delete(4).expect(204).await;
}

#[tokio::test]
async fn an_item_stands_in_the_menu_of_its_parent_and_not_below_itself() {
    let site = filled().await;
    let (post, patch) = (format!("POST {ITEMS}"), |id: i64| format!("PATCH {ITEMS}&id={id}"));
    let item = json!({"id": 9, "menu": "main", "parent_id": 1, "title": "t", "url": "/x",
                      "language_short": "en"});
    for (change, code) in [
        (json!({"menu": "footer"}), "unknown"),
        (json!({"language_short": "de"}), "unknown"),
        (json!({"parent_id": 9}), "loop"),
    ] {
        wrong(&site, &post, with(item.clone(), change), "parent_id", code).await;
    }
    for (change, field, code) in [
        (json!({"target": "_evil"}), "target", "enum"),
        (json!({"language_short": ""}), "language_short", "format"),
        (json!({"language_short": "<x>"}), "language_short", "format"),
        (json!({"language_short": "DE"}), "language_short", "format"),
        (json!({"language_short": "pt-br"}), "language_short", "format"),
    ] {
        let alone = with(item.clone(), json!({"parent_id": null}));
        wrong(&site, &post, with(alone, change), field, code).await;
    }
    for (id, parent) in [(1, 1), (1, 3)] {
        wrong(&site, &patch(id), json!({"parent_id": parent}), "parent_id", "loop").await;
    }
    site.admin(&patch(2)).json(json!({"parent_id": 3})).expect(200).await;
    wrong(&site, &patch(1), json!({"parent_id": 2}), "parent_id", "loop").await;
    wrong(&site, &patch(2), json!({"menu": "footer"}), "parent_id", "unknown").await;
    wrong(&site, &patch(1), json!({"menu": "footer"}), "menu", "refused").await;
    wrong(&site, &patch(1), json!({"language_short": "de"}), "language_short", "refused").await;
    // Alone an item moves wherever it likes.
    site.admin(&patch(2)).json(json!({"menu": "footer", "parent_id": null})).expect(200).await;
    let menu = site.ask("GET /api/menu?name=footer").expect(200).await.data();
    assert_eq!(menu[0]["title"], "first");
    // Items in a circle, as they may have been written before: they change, and leave it.
    let circle = "update cms_menu_items set parent_id = 4 - id where id in (1, 3)";
    site.database.run(circle).await;
    site.admin(&patch(3)).json(json!({"title": "still"})).expect(200).await;
    site.admin(&patch(1)).json(json!({"parent_id": null})).expect(200).await;
    let menu = site.ask("GET /api/menu").expect(200).await.data();
    assert_eq!(menu[0]["children"][0]["title"], "still");
}
