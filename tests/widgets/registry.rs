//! Widgets are registered when their plugin is installed, and again when it is applied.

use std::{fs, path::PathBuf};

use cms_core::pages::widgets::{COLUMNS, WidgetAction};
use serde_json::{Value as Json, json};

use crate::support::{Site, TestDatabase};

/// A widget with one field.
fn widget(name: &str, row: &str) -> Json {
    json!({"widget_title": name, "widget_icon": "w.svg", "widget_template": name,
           "widget_menu": [{"row": row, "type": "text"}]})
}

/// Writes a plugin of the folder with these widgets, and their icons.
fn write(database: &TestDatabase, id: &str, widgets: Json) -> PathBuf {
    let folder = database.folder.path().join("plugins").join(id);
    for widget in widgets.as_array().unwrap() {
        let own = folder.join("widgets").join(widget["widget_template"].as_str().unwrap());
        fs::create_dir_all(&own).unwrap();
        fs::write(own.join("w.svg"), "<svg/>").unwrap();
    }
    fs::create_dir_all(&folder).unwrap();
    let manifest = json!({"id": id, "name": "Shop", "pagebuilder_widgets": widgets});
    fs::write(folder.join("plugin.json"), manifest.to_string()).unwrap();
    folder
}

async fn reopen(site: Site) -> Site {
    site.cms.close().await;
    Site::on(site.database).open().await
}

/// Names of the widgets of plugins.
fn of_plugins(site: &Site) -> Vec<String> {
    let all = site.cms.pages().widgets().all();
    all.iter().filter(|one| one.plugin.is_some()).map(|one| one.name.clone()).collect()
}

/// What applying would do, by widget.
async fn pending(site: &Site) -> Vec<(String, WidgetAction)> {
    let found = site.cms.plugin_differences(Some("shop")).await.unwrap();
    found[0].widgets.iter().map(|one| (one.widget.clone(), one.action)).collect()
}

#[tokio::test]
async fn every_site_has_the_built_in_widgets() {
    let site = Site::open().await;
    assert_eq!(site.database.count("select count(*) from cms_page_widgets").await, 42);
    let widgets = site.cms.pages().widgets();
    assert_eq!(widgets.all().len(), 42);
    assert_eq!(widgets.columns(), COLUMNS);
    assert!(widgets.find("gallery").unwrap().is_repeater());
    assert!(widgets.find("Gallery").is_none());
    // What somebody changed by hand is put right by the next start.
    site.database.run("update cms_page_widgets set title = 'x' where name = 'html'".into()).await;
    site.database.run("delete from cms_page_widgets where name = 'title'".into()).await;
    let more = "insert into cms_page_widgets select 'old', plugin, widget_group, group_title, title, \
                subtitle, icon, template, menu, item_menu, version, sort_order \
                from cms_page_widgets where name = 'image'";
    site.database.run(more.to_owned()).await;
    let site = reopen(site).await;
    let widgets = site.cms.pages().widgets();
    assert_eq!(widgets.all().len(), 42);
    assert_eq!(
        (widgets.all()[0].name.as_str(), widgets.all()[41].name.as_str()),
        ("title", "form")
    );
    assert_eq!(widgets.find("html").unwrap().title, "Text");
}

#[tokio::test]
async fn widgets_change_only_when_their_plugin_is_installed_again() {
    let database = TestDatabase::new().await;
    write(&database, "shop", json!([widget("teaser", "title"), widget("basket", "voucher")]));
    let site = Site::on(database).open().await;
    assert_eq!(of_plugins(&site), ["teaser", "basket"]);
    assert_eq!(site.cms.pages().widgets().columns().last().unwrap(), "voucher");
    assert_eq!(pending(&site).await, []);

    let mut changed = widget("teaser", "title");
    changed["widget_title"] = json!("Changed");
    write(&site.database, "shop", json!([changed, widget("other", "title")]));
    let expected = [
        ("teaser".to_owned(), WidgetAction::Change),
        ("other".to_owned(), WidgetAction::Add),
        ("basket".to_owned(), WidgetAction::Remove),
    ];
    assert_eq!(pending(&site).await, expected);
    let site = reopen(site).await;
    let title = |site: &Site| site.cms.pages().widgets().find("teaser").unwrap().title.clone();
    assert_eq!(
        (title(&site).as_str(), of_plugins(&site)),
        ("teaser", vec!["teaser".into(), "basket".into()])
    );
    assert_eq!(pending(&site).await, expected);
    let shown = site.admin("GET /api/backend/plugins/diff").expect(200).await.data();
    assert_eq!(shown[0]["state"], "pending", "{shown}");
    assert_eq!(shown[0]["widgets"][2], json!({"widget": "basket", "action": "remove"}), "{shown}");

    site.admin("POST /api/backend/plugins/apply").json(json!({"plugin": "shop"})).expect(200).await;
    assert_eq!(
        (title(&site).as_str(), of_plugins(&site)),
        ("Changed", vec!["teaser".into(), "other".into()])
    );
    assert_eq!(pending(&site).await, []);
    let audited = "select count(*) from cms_audit where action = 'register' and table_name = \
                   'cms_page_widgets'";
    assert_eq!(site.database.count(audited).await, 2);

    site.admin("POST /api/backend/plugins/remove")
        .json(json!({"plugin": "shop"}))
        .expect(204)
        .await;
    assert_eq!(of_plugins(&site), Vec::<String>::new());
    site.admin("POST /api/backend/plugins/apply").json(json!({"plugin": "shop"})).expect(200).await;
    assert_eq!(of_plugins(&site), ["teaser", "other"]);
}

#[tokio::test]
async fn new_rows_are_columns_of_placed_widgets_and_of_their_items() {
    let database = TestDatabase::new().await;
    let site = Site::on(database).open().await;
    for table in ["cms_page_row_col_widget", "cms_page_widget_item"] {
        if site.cms.db().columns_of(table).await.unwrap().is_empty() {
            site.database.run(format!("create table {table} (id bigint, title text)")).await;
        }
    }
    let mut repeater = widget("teaser", "voucher");
    repeater["widget_item_menu"] = json!([{"row": "voucher_code", "type": "text"}]);
    write(&site.database, "shop", json!([repeater]));
    site.admin("POST /api/backend/plugins/apply").json(json!({})).expect(200).await;
    for table in ["cms_page_row_col_widget", "cms_page_widget_item"] {
        let columns = site.cms.db().columns_of(table).await.unwrap();
        let has = |name: &str| columns.iter().any(|line| line.starts_with(name));
        assert!(has("voucher") && has("voucher_code"), "{table}: {columns:?}");
    }
    // Again: they are there already.
    write(&site.database, "shop", json!([widget("teaser", "voucher")]));
    site.admin("POST /api/backend/plugins/apply").json(json!({})).expect(200).await;
}

#[tokio::test]
async fn a_name_belongs_to_one_plugin() {
    let database = TestDatabase::new().await;
    write(&database, "shop", json!([widget("teaser", "title")]));
    write(&database, "tours", json!([widget("teaser", "title")]));
    write(&database, "zoo", json!([widget("gallery", "title")]));
    let site = Site::on(database).open().await;
    assert_eq!(of_plugins(&site), ["teaser"]);
    let states = site.cms.plugins().states();
    let told: Vec<_> = states.iter().flat_map(|state| &state.problems).map(|p| &p.remedy).collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].contains("belongs to shop") && told[0].contains("tours_teaser"), "{told:?}");
    assert!(told[1].contains("zoo_gallery"), "{told:?}");
}

#[tokio::test]
async fn a_folder_without_a_widget_in_the_manifest_is_no_fault() {
    let database = TestDatabase::new().await;
    let folder = write(&database, "shop", json!([widget("teaser", "title")]));
    fs::create_dir_all(folder.join("widgets/email/template")).unwrap();
    fs::write(folder.join("widgets/email/template/index.vue"), "<template/>").unwrap();
    let site = Site::on(database).open().await;
    assert_eq!(of_plugins(&site), ["teaser"]);
}
