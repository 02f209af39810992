//! `/api/backend/pagebuilder/widgets`, `icon` and `components`: what an editor sees of widgets.

use std::fs;

use serde_json::json;

use crate::support::{Site, TestDatabase, has};

const WIDGETS: &str = "GET /api/backend/pagebuilder/widgets";
const COMPONENTS: &str = "GET /api/backend/pagebuilder/components";

/// A site with a plugin in its folder.
async fn site() -> Site {
    let database = TestDatabase::new().await;
    let folder = database.folder().join("plugins/shop");
    for (name, has_component) in [("teaser", true), ("basket", false)] {
        let own = folder.join("widgets").join(name);
        fs::create_dir_all(own.join("template")).unwrap();
        fs::write(own.join("w.png"), b"\x89PNG\r\n\x1a\n").unwrap();
        if has_component {
            fs::write(own.join("template/index.vue"), "<template/>").unwrap();
        }
    }
    let widget = |name: &str| {
        json!({"widget_title": name, "widget_icon": "w.png", "widget_template": name,
            "widget_menu": [
            {"row": "kind", "type": "select", "value": "id", "title": "title",
             "options": [{"id": 1, "title": "One"}]},
            {"row": "form", "type": "select", "title": "Which form",
             "select_value": {"table": "forms", "value": "name", "title": "title"}},
        ]})
    };
    let manifest = json!({"id": "shop", "name": "Shop", "version": "2.1",
                          "pagebuilder_widgets": [widget("teaser"), widget("basket")]});
    fs::write(folder.join("plugin.json"), manifest.to_string()).unwrap();
    let site = Site::on(database).open().await;
    let form = json!({"name": "contact", "title": "Write to us", "fields": [], "active": true});
    site.create("/api/backend/item?table=forms", form).await;
    site
}

#[tokio::test]
async fn an_editor_sees_all_widgets_and_the_options_of_tables_that_he_may_read() {
    let site = site().await;
    let all = site.admin(WIDGETS).expect(200).await;
    let all = all.json();
    assert_eq!(all["data"].as_array().unwrap().len(), 44);
    has!(all, {"meta": {"limit": 50, "next": null}, "/data/0/name": "title",
               "/data/43/name": "basket"});
    let first = site.admin(&format!("{WIDGETS}?limit=43")).expect(200).await.json();
    let cursor = first["meta"]["next"].as_str().unwrap();
    let rest = site.admin(&format!("{WIDGETS}?limit=43&cursor={cursor}")).expect(200).await.json();
    assert_eq!((rest["data"].as_array().unwrap().len(), &rest["meta"]["next"]), (1, &json!(null)));

    let teaser = site.admin(&format!("{WIDGETS}?widget=teaser")).expect(200).await.data();
    assert_eq!(
        teaser,
        json!({
            "name": "teaser", "plugin": "shop", "group": "shop", "group_title": "Shop",
            "title": "teaser", "subtitle": null, "template": "teaser", "version": "2.1",
            "icon": "/api/backend/pagebuilder/icon?widget=teaser", "has_content": false,
            "pending": null, "item_menu": [],
            "menu": [
                {"row": "kind", "type": "select", "label": "kind",
                 "options": [{"value": 1, "title": "One"}]},
                {"row": "form", "type": "select", "label": "Which form", "table": "forms",
                 "options": [{"value": "contact", "title": "Write to us"}]},
            ],
        })
    );
    site.admin(&format!("{WIDGETS}?widget=none")).refused(404, "not_found").await;

    let editor = site.person("editor", json!(["pages_pages_view"])).await;
    let ask = |line: &str| site.ask(line).bearer(&editor.token);
    let teaser = ask(&format!("{WIDGETS}?widget=teaser")).expect(200).await.data();
    has!(teaser["menu"], {"/1/options": null, "/0/options/0/value": 1});
    let other = site.person("other", json!(["forms_forms_view"])).await;
    for line in [WIDGETS, COMPONENTS, "GET /api/backend/pagebuilder/icon?widget=title"] {
        site.ask(line).refused(401, "login_required").await;
        site.ask(line).bearer(&other.token).refused(403, "permission_denied").await;
        if !line.contains('?') {
            ask(line).expect(200).await;
        }
    }
}

#[tokio::test]
async fn icons_run_nothing() {
    let site = site().await;
    for (name, kind) in [("gallery", "image/svg+xml"), ("teaser", "image/png")] {
        let line = format!("GET /api/backend/pagebuilder/icon?widget={name}");
        let icon = site.admin(&line).expect(200).await;
        assert_eq!(icon.header("content-type"), kind);
        assert_eq!(icon.header("x-content-type-options"), "nosniff");
        assert!(icon.header("content-disposition").starts_with("attachment"), "{name}");
        assert!(icon.header("content-security-policy").contains("sandbox"), "{name}");
        let tag = icon.header("etag").to_owned();
        site.admin(&line).header("if-none-match", &tag).expect(304).await;
    }
    for widget in site.cms.pages().widgets().all() {
        let line = format!("GET /api/backend/pagebuilder/icon?widget={}", widget.name);
        site.admin(&line).expect(200).await;
    }
}

#[tokio::test]
async fn components_are_those_that_are_there_now() {
    let site = site().await;
    let found = site.admin(COMPONENTS).expect(200).await.data();
    let components = found["components"].as_object().unwrap();
    assert_eq!(components.len(), 43);
    assert_eq!(components["gallery"], "gallery/widgets/gallery/template/index.vue");
    assert_eq!(components["teaser"], "shop/widgets/teaser/template/index.vue");
    assert_eq!(found["missing"], json!(["basket"]));
    let folder = site.database.folder().join("plugins/shop/widgets/basket/template");
    fs::write(folder.join("index.vue"), "<template/>").unwrap();
    let found = site.admin(COMPONENTS).expect(200).await.data();
    assert_eq!(found["missing"], json!([]));
}

#[tokio::test]
async fn a_widget_that_was_declared_anew_says_so() {
    let site = site().await;
    let file = site.database.folder().join("plugins/shop/plugin.json");
    fs::write(&file, fs::read_to_string(&file).unwrap().replace("Which form", "A form")).unwrap();
    site.cms.close().await;
    let site = Site::on(site.database).open().await;
    let teaser = site.admin(&format!("{WIDGETS}?widget=teaser")).expect(200).await.data();
    has!(teaser, {"pending": "change", "/menu/1/label": "Which form"});
    site.post("/api/backend/plugins/apply", json!({"plugin": "shop"})).await;
    let teaser = site.admin(&format!("{WIDGETS}?widget=teaser")).expect(200).await.data();
    has!(teaser, {"pending": null, "/menu/1/label": "A form"});
}
