//! Every built-in widget on a page: placed, edited, published, read back in two languages.

use cms_core::pages::widgets::Menu;
use serde_json::{Value as Json, json};

use super::golden::{content, filled, with_content};
use crate::routes::pagebuilder::BUILDER;

/// As it is read: what has no value is left out.
fn set(menu: &Menu, picture: &str) -> Json {
    filled(menu, picture).into_iter().filter(|(_, value)| !value.is_null()).collect()
}

#[tokio::test]
async fn every_built_in_widget_is_read_back_in_two_languages() {
    let (site, picture) = with_content().await;
    for (id, language, url) in [(1, "en", "/"), (2, "de", "/de")] {
        let page = json!({"id": id, "base_id": 1, "language_short": language, "url_rewrite": url,
                          "title": "Home", "view": "home"});
        site.admin("POST /api/backend/item?table=pages").json(page).expect(201).await;
    }
    let widgets = site.cms.pages().widgets();
    let (_, col) = site.row(1).await;
    for widget in widgets.all() {
        let node = json!({"kind": "widget", "parent": {"col_id": col}, "widget": widget.name});
        let id = site.add(node).await["id"].clone();
        let data = json!({"data": filled(&widget.menu, &picture)});
        let edit = format!("PATCH {BUILDER}?widget_id={id}");
        site.admin(&edit).json(data).expect(200).await;
        if widget.is_repeater() {
            for data in [Json::from(filled(&widget.item_menu, &picture)), json!({})] {
                let item = json!({"kind": "item", "parent": {"widget_id": id}, "data": data});
                site.add(item).await;
            }
        }
    }
    site.act("publish", json!({"page_id": 1})).await;
    site.act("copy", json!({"from_page_id": 1, "page_id": 2})).await;
    site.act("publish", json!({"page_id": 2})).await;
    for language in ["en", "de"] {
        let line = format!("GET /api/pages?view=home&language={language}");
        let page = site.ask(&line).expect(200).await.data();
        let shown = page["rows"][0]["cols"][0]["widgets"].as_array().unwrap();
        assert_eq!(shown.len(), 42);
        for (shown, widget) in shown.iter().zip(widgets.all()) {
            assert_eq!(shown["widget"], widget.name.as_str());
            assert_eq!(shown["template"], widget.template.as_str());
            let mut data = shown["data"].clone();
            let items = data.as_object_mut().unwrap().remove("items");
            assert_eq!(data, set(&widget.menu, &picture), "{}", widget.name);
            let mut items = items.unwrap_or(json!([]));
            assert_eq!(items.as_array().unwrap().len(), 2 * usize::from(widget.is_repeater()));
            if let Some(first) = items.get_mut(0) {
                first.as_object_mut().unwrap().remove("id");
                assert_eq!(*first, set(&widget.item_menu, &picture), "{}", widget.name);
            }
            let content = content(widgets, &widget, language, &picture).await;
            assert_eq!(shown["content"], content, "{} {language}", widget.name);
        }
    }
}
