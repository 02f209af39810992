//! A golden file for each built-in widget: its menu, values that it takes, its content in two
//! languages. `tests/widgets/sample.json` has a value for each column.

use cms_core::pages::widgets::{Menu, Widget, Widgets};
use serde_json::{Map, Value as Json, json};

use crate::support::{Site, media::png};

/// A site with what widgets show: a picture, a menu, a form and a funnel.
pub(super) async fn with_content() -> (Site, String) {
    let site = Site::open().await;
    let file = site.upload("a.png", &png(80, 50, 1)).await.data();
    let texts = json!({"alt": {"en": "A red bicycle", "de": "Ein rotes Fahrrad"}, "focal_x": 0.25});
    site.admin("PATCH /api/backend/media?id=1").json(texts).expect(200).await;
    let add = async |table: &str, row: Json| {
        site.admin(&format!("POST /api/backend/item?table={table}")).json(row).expect(201).await;
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
pub(super) fn filled(menu: &Menu, picture: &str) -> Map<String, Json> {
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

pub(super) async fn content(
    widgets: &Widgets,
    widget: &Widget,
    language: &str,
    picture: &str,
) -> Json {
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
