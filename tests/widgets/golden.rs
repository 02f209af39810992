//! A golden file for each built-in widget: its menu, values that it takes, its content in two
//! languages. `tests/widgets/sample.json` has a value for each column. And every one of them on a
//! page: placed, edited, published, read back.

use cms_core::pages::widgets::{Menu, Widget, Widgets};
use serde_json::{Map, Value as Json, json};

use crate::{
    routes::pagebuilder::BUILDER,
    support::{Site, has, media::png},
};

/// A site with what widgets show: a picture, a menu, a form and a funnel.
async fn with_content() -> (Site, String) {
    let site = Site::open().await;
    let file = site.upload("a.png", &png(80, 50, 1)).await.data();
    let texts = json!({"alt": {"en": "A red bicycle", "de": "Ein rotes Fahrrad"}, "focal_x": 0.25});
    site.admin("PATCH /api/backend/media?id=1").json(texts).expect(200).await;
    let add = async |table: &str, row: Json| {
        site.create(&format!("/api/backend/item?table={table}"), row).await;
    };
    for (language, title) in [("en", "Imprint"), ("de", "Impressum")] {
        let item = json!({"menu": "footer", "title": title, "url": format!("/{language}/imprint"),
                          "language_short": language});
        add("menu_items", item).await;
    }
    let fields = json!([{"id": "mail", "type": "email", "label": "Mail", "required": true,
                         "blocked_domains": ["spam.example"]}]);
    let form = json!({"name": "contact", "title": "Write to us", "fields": fields, "active": true,
                      "recipients": ["office@example.org"]});
    add("forms", form).await;
    (site, file["path"].as_str().unwrap().to_owned())
}

/// A value for each column of a menu: that of the sample, or the last option.
fn filled(menu: &Menu, picture: &str) -> Map<String, Json> {
    let sample: Json = serde_json::from_str(include_str!("sample.json")).unwrap();
    let value = |row: &str, options: Option<Json>| match (row, options) {
        ("image" | "mobile_image", _) => json!(picture),
        (_, Some(last)) => last,
        (row, None) => sample[row].clone(),
    };
    let entries = menu.iter().map(|entry| {
        let last = entry.options.as_ref().and_then(|all| Some(all.last()?.id.clone()));
        (entry.row.clone(), value(&entry.row, last))
    });
    entries.collect()
}

async fn content(widgets: &Widgets, widget: &Widget, language: &str, picture: &str) -> Json {
    let data = filled(&widget.menu, picture);
    let items = match widget.is_repeater() {
        true => vec![filled(&widget.item_menu, picture), Map::new()],
        false => Vec::new(),
    };
    let placed = widgets.placed(1, &widget.name, language, data, items);
    widgets.contents(&[placed], false).await.0.remove(0)
}

#[tokio::test]
async fn every_built_in_widget_has_its_golden_file() {
    let (site, picture) = with_content().await;
    let widgets = site.cms.pages().widgets();
    let all = widgets.all();
    assert_eq!(all.len(), 42);
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("golden");
    settings.set_prepend_module_to_snapshot(false);
    for widget in all {
        let data = filled(&widget.menu, &picture);
        let taken = widgets.check(&widget.menu, &data).unwrap_or_else(|e| panic!("{e:?}"));
        assert_eq!(Json::from(taken), Json::from(data.clone()), "{}", widget.name);
        let of_item = filled(&widget.item_menu, &picture);
        widgets.check(&widget.item_menu, &of_item).unwrap_or_else(|e| panic!("{e:?}"));
        let golden = json!({
            "title": widget.title,
            "subtitle": widget.subtitle,
            "template": widget.template,
            "menu": widget.menu,
            "item_menu": widget.item_menu,
            "data": data,
            "item": of_item,
            "content": {
                "en": content(widgets, &widget, "en", &picture).await,
                "de": content(widgets, &widget, "de", &picture).await,
            },
            "tables": widgets.tables([widget.name.as_str()]),
        });
        settings.bind(|| insta::assert_json_snapshot!(widget.name.clone(), golden));
    }
}

#[tokio::test]
async fn every_built_in_widget_refuses_unknown_columns_and_invalid_values() {
    let site = Site::open().await;
    let widgets = site.cms.pages().widgets();
    for widget in widgets.all() {
        for menu in [&widget.menu, &widget.item_menu] {
            let invalid = menu.iter().map(|entry| (entry.row.clone(), json!({"no": "value"})));
            let mut data: Map<String, Json> = invalid.collect();
            data.insert("no_such_column".to_owned(), json!("x"));
            let refused = widgets.check(menu, &data).unwrap_err();
            // All at once.
            assert_eq!(refused.fields().len(), menu.len() + 1, "{}: {refused:?}", widget.name);
            for fault in refused.fields() {
                let is_unknown = fault.field == "no_such_column";
                let codes: &[&str] =
                    if is_unknown { &["unknown_column"] } else { &["type", "enum"] };
                assert!(codes.contains(&fault.code), "{}: {fault:?}", widget.name);
            }
        }
    }
}

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
        site.create("/api/backend/item?table=pages", page).await;
    }
    let widgets = site.cms.pages().widgets();
    let (_, col) = site.row(1).await;
    for widget in widgets.all() {
        let id = site.widget(col, &widget.name, json!({})).await;
        let data = json!({"data": filled(&widget.menu, &picture)});
        site.patch(&format!("{BUILDER}?widget_id={id}"), data).await;
        if widget.is_repeater() {
            for data in [Json::from(filled(&widget.item_menu, &picture)), json!({})] {
                site.item(id, data).await;
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
            has!(shown, {"widget": widget.name.as_str(), "template": widget.template.as_str()});
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
