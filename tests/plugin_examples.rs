//! The plugins that `cms serve --demo` shows: a blog in JSON only, and a shop in Rust.

#[path = "../cms-cli/src/shop.rs"]
mod shop;

use serde_json::{Value as Json, json};

use crate::support::{Site, with};

const BLOG: &str = include_str!("../cms-cli/demo/plugin.json");
const DAY: i64 = 24 * 3_600_000;

async fn add(site: &Site, table: &str, row: Json) {
    site.insert(table, row).await;
}

async fn count(site: &Site, what: &str) -> i64 {
    site.database.rows(what).await
}

#[tokio::test]
async fn a_blog_in_json_only() {
    let site = Site::builder().await.plugin(serde_json::from_str(BLOG).unwrap()).open().await;
    add(&site, "authors", json!({"name": "Ada", "email": "ada@example.org"})).await;
    add(&site, "blog_categories", json!({"title": "Tips", "slug": "tips"})).await;
    let post = json!({"title": "One", "slug": "one", "tags": ["a"], "language_short": "en"});
    add(&site, "blog", post).await;
    let comment =
        json!({"post_id": 1, "name": "Eve", "text": "!", "created_at": "2026-11-01T00:00:00Z"});
    add(&site, "blog_comments", comment).await;

    let public = site.ask("GET /api/blog_categories?fields=title").expect(200).await.data();
    assert_eq!(public, json!([{"title": "Tips"}]));
    site.ask("GET /api/backend/blog/authors").refused(401, "login_required").await;

    let rights =
        ["edit_view", "edit_edit", "comments_view", "approve_view", "approve_edit", "write_view"];
    let rights: Vec<_> = rights.iter().map(|right| format!("blog_{right}")).collect();
    let editor = site.person("editor", json!(rights)).await;
    let ask = |line: &str| site.ask(line).bearer(&editor.token);
    ask("GET /api/backend/blog/authors").expect(200).await;
    let shown = ask("GET /api/backend/plugins/buttons?plugin=blog&row=1").expect(200).await.data();
    let ids: Vec<_> = shown.as_array().unwrap().iter().map(|one| &one["button_id"]).collect();
    assert_eq!(ids, ["edit", "comments", "write"], "{shown}");
    let author = &shown[0]["editable_rows"][4];
    assert_eq!(author["options"], json!([{"value": 1, "title": "Ada"}]), "{author}");
    // The row is one of the buttons' own table, not of the plugin's first one.
    add(&site, "blog", json!({"title": "Two", "slug": "two", "language_short": "en"})).await;
    ask("GET /api/backend/plugins/buttons?plugin=blog&row=2").expect(200).await;
    ask("GET /api/backend/plugins/buttons?plugin=blog&row=3").refused(404, "not_found").await;
    for (row, comments) in [(1, 1), (2, 0)] {
        let line =
            format!("GET /api/backend/plugins/content?plugin=blog&button=comments&row={row}");
        let list = ask(&line).expect(200).await.data();
        assert_eq!(list["rows"].as_array().map(Vec::len), Some(comments), "{line} {list}");
    }

    ask("PATCH /api/backend/item?table=blog&id=1").json(json!({"author_id": 1})).expect(200).await;
    let german = json!({"base_id": 1, "language_short": "de", "title": "Eins", "slug": "eins"});
    ask("POST /api/backend/item?table=blog").json(german).expect(201).await;
    let approve = "PATCH /api/backend/item?table=blog_comments&id=1";
    ask(approve).json(json!({"approved": true})).expect(200).await;
    ask(approve).json(json!({"text": "?"})).refused(403, "permission_denied").await;
    ask("DELETE /api/backend/item?table=blog&id=1").refused(403, "permission_denied").await;

    let raise = json!({"event": "blog.newsletter_ready", "data": {}});
    site.create("/api/backend/webhooks/emit", raise).await;
}

async fn shop() -> Site {
    let kept = |settings: &mut cms_core::settings::Settings| {
        settings.cache.enabled = true;
        settings.cache.ttl_s = 300;
    };
    let builder = Site::builder().await.settings(kept);
    let site = builder.program(shop::Shop::new().unwrap()).open().await;
    add(&site, "products", json!({"name": "Bell", "price": "9.90", "kind": "part"})).await;
    let gone = json!({"name": "Old", "price": "1", "kind": "part", "on_sale": false});
    add(&site, "products", gone).await;
    site
}

const ORDER: &str = "POST /api/bikeshop_purchase";

#[tokio::test]
async fn a_visitor_of_the_shop_orders_what_is_on_sale() {
    let site = shop().await;
    let offers = async || {
        let reply = site.ask("GET /api/bikeshop-products?kind=part").expect(200).await;
        let names: Vec<_> =
            reply.data().as_array().unwrap().iter().map(|one| one["name"].clone()).collect();
        (reply.header("x-cache").to_owned(), names)
    };
    assert_eq!(offers().await, ("MISS".to_owned(), vec![json!("Bell")]));
    assert_eq!(offers().await, ("HIT".to_owned(), vec![json!("Bell")]));
    let sold = json!({"on_sale": true});
    site.update("products&id=2", sold).await;
    assert_eq!(offers().await, ("MISS".to_owned(), vec![json!("Bell"), json!("Old")]));

    let order = json!({"product_id": 1, "mail": "eve@example.org", "amount": 2});
    let before = site.traces().await;
    for (changed, status, code) in [
        (json!({"amount": 0}), 422, "validation_failed"),
        (json!({"product_id": 9}), 404, "not_found"),
        (json!({"mail": null}), 422, "validation_failed"),
    ] {
        site.ask(ORDER).json(with(order.clone(), changed)).refused(status, code).await;
    }
    assert_eq!(site.traces().await, before, "nothing of a refused order");
    let made = site.ask(ORDER).json(order).expect(200).await.data();
    assert_eq!(made, json!({"purchase": 1}));
    assert_eq!(count(&site, "cms_events where name = 'bikeshop.purchased'").await, 1);
    let audit = "cms_audit where table_name = 'purchases' and actor_kind = 'visitor'";
    assert_eq!(count(&site, audit).await, 1);
}

#[tokio::test]
async fn the_shop_is_managed_by_its_buttons() {
    let site = shop().await;
    for mail in ["eve@example.org", "=1+1"] {
        let order = json!({"product_id": 1, "mail": mail, "amount": 3});
        site.ask(ORDER).json(order).expect(200).await;
    }
    let rights = ["purchases_view", "pay_view", "pay_edit", "export_edit", "turnover_view"];
    let rights: Vec<_> = rights.iter().map(|right| format!("bikeshop_{right}")).collect();
    let clerk = site.person("clerk", json!(rights)).await;
    let ask = |line: &str| site.ask(line).bearer(&clerk.token);
    let press = json!({"plugin": "bikeshop", "button_id": "export"});
    let csv = ask("POST /api/backend/actions/script").json(press).expect(200).await.text();
    let lines: Vec<_> = csv.lines().collect();
    assert_eq!(lines[0], "id,purchased_at,mail,amount,status");
    assert!(lines[1].contains(",'=1+1,3,0"), "{csv}");
    let line = "GET /api/backend/plugins/content?plugin=bikeshop&button=turnover&row=1";
    let shown = ask(line).expect(200).await.text();
    assert!(shown.contains("\"bought\":6"), "{shown}");
    let list = "GET /api/backend/plugins/content?plugin=bikeshop&button=purchases&row=1";
    let paid = "PATCH /api/backend/item?table=purchases&id=1";
    assert!(ask(list).expect(200).await.text().contains("\"pay\""));
    ask(paid).json(json!({"status": 7})).refused(422, "validation_failed").await;
    ask(paid).json(json!({"status": 1})).expect(200).await;

    let mut scheduler = site.cms.tasks().scheduler();
    let open = "purchases where status = 0";
    assert_eq!((scheduler.step().await.unwrap(), count(&site, open).await), (1, 1));
    site.clock.advance(DAY);
    assert_eq!((scheduler.step().await.unwrap(), count(&site, open).await), (1, 0));
    assert_eq!(count(&site, "purchases where status = 2").await, 1, "what was paid stays");
    let run = site.get("/api/backend/tasks/history?name=cancel").await;
    assert_eq!(run[0]["outcome"], "done", "{run}");

    let manifest = site.admin("GET /api/backend/plugins?id=bikeshop").expect(200).await.text();
    assert!(manifest.contains("\"widget_template\":\"product\""), "{manifest}");
}
