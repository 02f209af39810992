//! Widgets are registered when their plugin is installed, and again when it is applied.

use std::{fs, path::PathBuf};

use cms_core::{
    pages::widgets::WidgetAction,
    plugins::{Handlers, Manifest, Plugin, WIDGET_COLUMNS},
};
use serde_json::{Value as Json, json};

use crate::{
    routes::pagebuilder::{BUILDER, with_pages},
    support::{Site, TestDatabase, has, media::png, with},
};

/// A widget with one field.
fn widget(name: &str, row: &str) -> Json {
    json!({"widget_title": name, "widget_icon": "w.svg", "widget_template": name,
           "widget_menu": [{"row": row, "type": "text"}]})
}

/// Writes a plugin of the folder with these widgets, and their icons.
fn write(database: &TestDatabase, id: &str, widgets: Json) -> PathBuf {
    let manifest = json!({"id": id, "name": "Shop", "pagebuilder_widgets": widgets});
    database.write_plugin(&manifest);
    database.folder().join("plugins").join(id)
}

/// A site with these plugins in its folder.
async fn with_plugins<const N: usize>(plugins: [(&str, Json); N]) -> Site {
    let database = TestDatabase::new().await;
    for (id, widgets) in plugins {
        write(&database, id, widgets);
    }
    Site::on(database).open().await
}

async fn apply(site: &Site, plugin: &str) {
    site.post("/api/backend/plugins/apply", json!({"plugin": plugin})).await;
}

async fn remove(site: &Site, plugin: &str) {
    let body = json!({"plugin": plugin});
    site.admin("POST /api/backend/plugins/remove").json(body).expect(204).await;
}

/// How many columns widgets of plugins have.
fn columns(site: &Site) -> usize {
    site.cms.pages().widgets().columns().len() - 69
}

async fn reopen(site: Site) -> Site {
    site.cms.close().await;
    Site::on(site.database).open().await
}

/// Names of the widgets of plugins, with a blank between them.
fn of_plugins(site: &Site) -> String {
    let all = site.cms.pages().widgets().all();
    let names = all.iter().filter(|one| one.plugin.is_some()).map(|one| one.name.as_str());
    names.collect::<Vec<_>>().join(" ")
}

/// What applying would do, by widget.
async fn pending(site: &Site) -> Vec<(String, WidgetAction)> {
    let found = site.cms.plugin_differences(Some("shop")).await.unwrap();
    found[0].widgets.iter().map(|one| (one.widget.clone(), one.action)).collect()
}

#[tokio::test]
async fn every_site_has_the_built_in_widgets() {
    let site = Site::open().await;
    assert_eq!(site.database.rows("cms_page_widgets").await, 42);
    let widgets = site.cms.pages().widgets();
    assert_eq!(widgets.all().len(), 42);
    assert_eq!(widgets.columns(), WIDGET_COLUMNS);
    assert!(widgets.find("gallery").unwrap().is_repeater());
    assert!(widgets.find("Gallery").is_none());
    // What somebody changed by hand is put right by the next start.
    site.database.run("update cms_page_widgets set title = 'x' where name = 'html'").await;
    site.database.run("delete from cms_page_widgets where name = 'title'").await;
    let more = "insert into cms_page_widgets select 'old', plugin, widget_group, group_title, \
                title, subtitle, icon, template, menu, item_menu, version, sort_order \
                from cms_page_widgets where name = 'image'";
    site.database.run(more).await;
    let site = reopen(site).await;
    let widgets = site.cms.pages().widgets();
    assert_eq!(widgets.all().len(), 42);
    assert_eq!([0, 41].map(|at| widgets.all()[at].name.clone()), ["title", "form"]);
    assert_eq!(widgets.find("html").unwrap().title, "Text");
}

#[tokio::test]
async fn widgets_change_only_when_their_plugin_is_installed_again() {
    let widgets = json!([widget("teaser", "title"), widget("basket", "voucher")]);
    let site = with_plugins([("shop", widgets)]).await;
    assert_eq!(of_plugins(&site), "teaser basket");
    assert_eq!(site.cms.pages().widgets().columns().last().unwrap(), "voucher");
    assert_eq!(pending(&site).await, []);

    let changed = with(widget("teaser", "title"), json!({"widget_title": "Changed"}));
    write(&site.database, "shop", json!([changed, widget("other", "title")]));
    let expected = [
        ("teaser".to_owned(), WidgetAction::Change),
        ("other".to_owned(), WidgetAction::Add),
        ("basket".to_owned(), WidgetAction::Remove),
    ];
    assert_eq!(pending(&site).await, expected);
    let site = reopen(site).await;
    let title = |site: &Site| site.cms.pages().widgets().find("teaser").unwrap().title.clone();
    assert_eq!((&*title(&site), &*of_plugins(&site)), ("teaser", "teaser basket"));
    assert_eq!(pending(&site).await, expected);
    let shown = site.get("/api/backend/plugins/diff").await;
    has!(shown[0], {"state": "pending", "/widgets/2": {"widget": "basket", "action": "remove"}});

    apply(&site, "shop").await;
    assert_eq!((&*title(&site), &*of_plugins(&site)), ("Changed", "teaser other"));
    assert_eq!(pending(&site).await, []);
    let audited = "cms_audit where action = 'register' and table_name = 'cms_page_widgets'";
    assert_eq!(site.database.rows(audited).await, 2);

    remove(&site, "shop").await;
    assert_eq!(of_plugins(&site), "");
    apply(&site, "shop").await;
    assert_eq!(of_plugins(&site), "teaser other");
}

#[tokio::test]
async fn new_rows_are_columns_of_placed_widgets_and_of_their_items() {
    let site = Site::open().await;
    for table in ["cms_page_row_col_widget", "cms_page_widget_item"] {
        if site.cms.db().columns_of(table).await.unwrap().is_empty() {
            site.database.run(format!("create table {table} (id bigint, title text)")).await;
        }
    }
    let items = json!({"widget_item_menu": [{"row": "voucher_code", "type": "text"}]});
    write(&site.database, "shop", json!([with(widget("teaser", "voucher"), items)]));
    site.post("/api/backend/plugins/apply", json!({})).await;
    for table in ["cms_page_row_col_widget", "cms_page_widget_item"] {
        let columns = site.cms.db().columns_of(table).await.unwrap();
        let has = |name: &str| columns.iter().any(|line| line.starts_with(name));
        assert!(has("voucher") && has("voucher_code"), "{table}: {columns:?}");
    }
    // Again: they are there already.
    write(&site.database, "shop", json!([widget("teaser", "voucher")]));
    site.post("/api/backend/plugins/apply", json!({})).await;
}

/// A widget with these columns, 100 in each of its menus at most.
fn wide(name: &str, rows: std::ops::Range<usize>) -> Json {
    let fields: Vec<_> = rows.map(|n| json!({"row": format!("row_{n}"), "type": "text"})).collect();
    let (menu, item_menu) = fields.split_at(fields.len().min(100));
    json!({"widget_title": name, "widget_icon": "w.svg", "widget_template": name,
           "widget_menu": menu, "widget_item_menu": item_menu})
}

/// Widgets with as many columns as those of plugins may have.
fn shop() -> [Json; 3] {
    [wide("teaser", 0..200), wide("basket", 200..400), wide("rack", 400..500)]
}

#[tokio::test]
async fn widgets_of_plugins_have_so_many_columns() {
    let site = with_pages(with_plugins([("shop", json!(shop()))]).await).await;
    assert_eq!(columns(&site), 500);
    // All that reads and writes them goes on.
    let (_, col) = site.row(1).await;
    let file = site.upload("a.png", &png(8, 5, 1)).await.data();
    let data = json!({"row_7": "seven", "row_99": file["path"]});
    let widget = site.widget(col, "teaser", data).await;
    site.item(widget, json!({"row_150": "x"})).await;
    site.act("publish", json!({"page_id": 1})).await;
    site.act("copy", json!({"from_page_id": 1, "page_id": 2})).await;
    site.act("discard", json!({"page_id": 1})).await;
    let shown = site.ask("GET /api/pages?id=1").expect(200).await.data();
    assert_eq!(shown["rows"][0]["cols"][0]["widgets"][0]["data"]["row_7"], "seven");
    let line = format!("DELETE /api/backend/media?id={}", file["id"]);
    site.admin(&line).refused(409, "conflict").await;

    // One more is refused, of whichever plugin; columns that are there already are none.
    write(&site.database, "a_tour", json!([wide("tour", 499..501)]));
    write(&site.database, "tours", json!([wide("journey", 0..50)]));
    apply(&site, "tours").await;
    let site = reopen(site).await;
    assert_eq!(of_plugins(&site), "teaser basket rack journey");
    let states = site.cms.plugins().states();
    let refused = states.iter().find(|state| state.id == "a_tour").unwrap();
    let told = &refused.problems[0].remedy;
    assert!(told.contains("501 columns") && told.contains("500 are the most"), "{told}");
    assert_eq!(columns(&site), 500);
    // Alone, too.
    let rows: Vec<_> = (0..3).map(|n| wide(&format!("w{n}"), n * 200..n * 200 + 200)).collect();
    let folder = write(&site.database, "wide", json!(rows));
    let found = cms_core::plugins::check_folder(&folder).outcome.unwrap_err();
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].pointer, "/pagebuilder_widgets");
    assert!(found[0].remedy.contains("600 columns"), "{found:?}");
}

/// Registered widgets stay as they are until their plugin is applied: so do their columns.
#[tokio::test]
async fn what_a_changed_plugin_has_registered_counts_until_it_is_applied() {
    let site = with_pages(with_plugins([("a_shop", json!(shop()))]).await).await;
    assert_eq!(columns(&site), 500);
    write(&site.database, "a_shop", json!([wide("teaser", 0..1)]));
    let tours = [wide("tour", 500..700), wide("trip", 700..900), wide("walk", 900..999)];
    write(&site.database, "b_tour", json!(tours));
    // Who asks is told before anything is applied.
    let asked = site.cms.plugin_differences(Some("b_tour")).await.unwrap();
    let told = &asked[0].problems[0].remedy;
    assert!(told.contains("999 columns") && told.contains("cms plugins remove"), "{told}");
    let site = reopen(site).await;
    assert_eq!((&*of_plugins(&site), columns(&site)), ("teaser basket rack", 500));
    site.headline(1, "drafts can be read").await;
    site.act("publish", json!({"page_id": 1})).await;
    apply(&site, "a_shop").await;
    apply(&site, "b_tour").await;
    assert_eq!((of_plugins(&site).split(' ').count(), columns(&site)), (4, 500));
    site.draft(1).await;
}

/// What the database refuses of one plugin keeps no other from being served.
#[tokio::test]
async fn a_widget_that_cannot_be_registered_keeps_only_its_plugin_out() {
    let site = with_plugins([("a_shop", json!([widget("teaser", "title")]))]).await;
    let index =
        "create unique index one_title on cms_page_widgets (title) where plugin is not null";
    site.database.run(index).await;
    let same = with(widget("basket", "title"), json!({"widget_title": "teaser"}));
    write(&site.database, "b_tour", json!([same]));
    write(&site.database, "c_walk", json!([widget("walk", "voucher")]));
    let site = reopen(site).await;
    let refused = site.state("b_tour");
    assert!(refused.manifest.is_none() && refused.problems.len() == 1, "{refused:?}");
    assert_eq!(of_plugins(&site), "teaser walk");
    write(&site.database, "b_tour", json!([widget("basket", "title")]));
    apply(&site, "b_tour").await;
    assert_eq!(of_plugins(&site), "teaser basket walk");
}

/// What is refused is not recorded: no other process takes it into service, and the declaration
/// before goes on.
#[tokio::test]
async fn a_refused_widget_leaves_the_declaration_before_in_service() {
    let site = with_plugins([("a_shop", json!([widget("teaser", "title")]))]).await;
    let index =
        "create unique index one_title on cms_page_widgets (title) where plugin is not null";
    site.database.run(index).await;
    let other = cms_core::Cms::open(site.database.settings()).await.unwrap();
    let same = |name: &str| with(widget(name, "title"), json!({"widget_title": "teaser"}));
    write(&site.database, "b_tour", json!([same("basket")]));
    apply(&site, "b_tour").await;
    assert!(site.state("b_tour").manifest.is_none());
    assert_eq!(site.database.rows("cms_plugins where id = 'b_tour'").await, 0);
    other.refresh_plugins().await.unwrap();
    let states = other.plugins().states();
    let there = states.iter().find(|state| state.id == "b_tour").unwrap();
    assert!(there.manifest.is_none(), "{there:?}");

    let declare = |version: &str, widget: Json| {
        write(&site.database, "c_walk", json!([widget]));
        let table = json!({"name": "walks", "columns": [{"name": "a", "type": "text"}]});
        site.database.write_plugin(&json!({"id": "c_walk", "version": version,
            "tables": [table], "pagebuilder_widgets": [widget]}));
    };
    declare("1", widget("walk", "voucher"));
    apply(&site, "c_walk").await;
    site.insert("walks", json!({"a": "x"})).await;
    declare("2", same("walk"));
    for _ in 0..2 {
        apply(&site, "c_walk").await;
        let found = site.state("c_walk");
        assert!(found.is_earlier() && found.problems.len() == 1, "{found:?}");
        assert_eq!(found.manifest.unwrap().version, "1");
        assert_eq!(
            (&*of_plugins(&site), site.items("walks").await),
            ("teaser walk", json!([{"id": 1, "a": "x"}]))
        );
    }
    // So it goes on in other processes, and after a restart: until it is applied again.
    let walk = |cms: &cms_core::Cms| {
        let states = cms.plugins().states();
        let found = states.iter().find(|state| state.id == "c_walk").unwrap();
        (found.problems.len(), found.manifest.as_ref().unwrap().version.clone())
    };
    let refused = site.state("c_walk").problems;
    other.refresh_plugins().await.unwrap();
    assert_eq!(walk(&other), (1, "1".to_owned()));
    let site = reopen(site).await;
    assert_eq!(site.state("c_walk").problems, refused);
    assert_eq!(walk(&site.cms), (1, "1".to_owned()));
    assert_eq!(of_plugins(&site), "teaser walk");
    site.database.run("drop index one_title").await;
    apply(&site, "c_walk").await;
    other.refresh_plugins().await.unwrap();
    assert_eq!([&site.cms, &other].map(walk), [0, 0].map(|none| (none, "2".to_owned())));
    other.close().await;
    let site = reopen(site).await;
    assert_eq!(walk(&site.cms), (0, "2".to_owned()));
}

/// Where the widgets are refused, the tables stay as they were; what is wrong with both is told.
#[tokio::test]
async fn refused_widgets_leave_the_tables_as_they_were() {
    let site = with_plugins([("a_shop", json!([widget("teaser", "title")]))]).await;
    let index =
        "create unique index one_title on cms_page_widgets (title) where plugin is not null";
    site.database.run(index).await;
    let declare = async |columns: &[&str], widget: Json| {
        write(&site.database, "c_walk", json!([widget]));
        let columns: Vec<_> =
            columns.iter().map(|name| json!({"name": name, "type": "text"})).collect();
        let table = json!({"name": "walks", "columns": columns});
        site.database.write_plugin(&json!({"id": "c_walk", "tables": [table],
                                           "pagebuilder_widgets": [widget]}));
        apply(&site, "c_walk").await;
        let columns = site.cms.db().columns_of("walks").await.unwrap();
        (site.state("c_walk").problems.len(), columns.join(" "))
    };
    let same = || with(widget("walk", "title"), json!({"widget_title": "teaser"}));
    assert_eq!(declare(&["a"], same()).await, (1, String::new()));
    // A command that opens the site as it is leaves the plugin out.
    let mut settings = site.database.settings();
    settings.migrate = false;
    cms_core::Cms::open(settings).await.unwrap().close().await;
    assert_eq!(declare(&["a"], widget("walk", "voucher")).await, (0, "id a".to_owned()));
    site.insert("walks", json!({"a": "x"})).await;
    assert_eq!(declare(&["a", "b"], same()).await, (1, "id a".to_owned()));
    assert_eq!(declare(&["b"], same()).await, (2, "id a".to_owned()));
}

/// Two processes that apply at once: who owns the name has the widget.
#[tokio::test]
async fn a_widget_belongs_to_the_owner_of_its_name() {
    let site = Site::open().await;
    let other = cms_core::Cms::open(site.database.settings()).await.unwrap();
    for id in ["a_shop", "b_tour"] {
        write(&site.database, id, json!([widget("teaser", "title")]));
    }
    let here = site.cms.apply_plugins(Some("a_shop"));
    let (here, there) = tokio::join!(here, other.apply_plugins(Some("b_tour")));
    let told = [here.unwrap(), there.unwrap()].concat();
    assert_eq!(told.iter().filter(|one| one.problems.is_empty()).count(), 1, "{told:?}");
    let owned = "cms_page_widgets w join cms_plugin_names n on n.name = w.name \
                 and n.plugin_id = w.plugin where n.kind = 'widget'";
    assert_eq!(site.database.rows(owned).await, 1);
    assert_eq!(site.database.rows("cms_plugin_names where kind = 'widget'").await, 1);
    other.close().await;
}

/// Each new plugin is compared with what those before it will have registered.
#[tokio::test]
async fn new_plugins_that_have_too_many_columns_together_are_told() {
    let site = Site::open().await;
    write(&site.database, "a_shop", json!([wide("teaser", 0..200), wide("basket", 200..400)]));
    write(&site.database, "b_tour", json!([wide("tour", 400..600)]));
    let found = site.get("/api/backend/plugins/diff").await;
    assert_eq!((&found[0]["state"], &found[1]["state"]), (&json!("pending"), &json!("refused")));
    assert!(found[1].to_string().contains("600 columns"), "{found}");
}

/// A plugin of the program whose widget has so many columns of its own.
struct OfProgram(std::ops::Range<usize>);

impl Plugin for OfProgram {
    fn manifest(&self) -> Manifest {
        let widgets = json!([wide("banner", self.0.clone())]);
        let manifest = json!({"id": "program", "name": "Program", "pagebuilder_widgets": widgets});
        serde_json::from_value(manifest).unwrap()
    }

    fn handlers(&self) -> Handlers {
        Handlers::default().icon("w.svg", b"<svg/>")
    }
}

/// What is in the folder, or was once, keeps no site from opening.
#[tokio::test]
async fn columns_of_the_program_come_before_those_of_the_folder() {
    let site = with_pages(with_plugins([("a_shop", json!(shop()))]).await).await;
    let (_, col) = site.row(1).await;
    site.widget(col, "teaser", json!({"row_7": "seven"})).await;
    let again = async |site: Site| {
        site.cms.close().await;
        Site::on(site.database).program(OfProgram(1_000..1_010)).open().await
    };
    let site = again(site).await;
    assert_eq!((&*of_plugins(&site), columns(&site)), ("banner", 500));
    let states = site.cms.plugins().states();
    let shop = states.iter().find(|state| state.id == "a_shop").unwrap();
    assert!(shop.problems[0].remedy.contains("510 columns"), "{:?}", shop.problems);
    assert_eq!(shop.problems.len(), 1, "{:?}", shop.problems);
    let draft = site.draft(1).await.data();
    assert_eq!(draft["rows"][0]["cols"][0]["widgets"][0]["data"]["row_7"], "seven");
    // Who removes it makes room, also after a start.
    remove(&site, "a_shop").await;
    write(&site.database, "b_tour", json!([wide("tour", 400..600)]));
    let site = again(site).await;
    assert_eq!((&*of_plugins(&site), columns(&site)), ("tour banner", 500));
    // It takes no room from those that are in service.
    let apply = site.admin("POST /api/backend/plugins/apply").json(json!({"plugin": "a_shop"}));
    let applied = apply.expect(200).await.text();
    assert!(applied.contains("610 columns"), "{applied}");
    let site = again(site).await;
    assert_eq!(of_plugins(&site), "tour banner");
    site.draft(1).await;
}

/// What is published while its plugin is away keeps the types of its fields.
#[tokio::test]
async fn values_keep_their_types_while_their_plugin_is_away() {
    let menu = json!([{"row": "wa_new", "type": "number"}, {"row": "wp_on", "type": "checkbox"}]);
    let teaser = json!([with(widget("teaser", "title"), json!({"widget_menu": menu}))]);
    let site = with_pages(with_plugins([("shop", teaser)]).await).await;
    let (_, col) = site.row(1).await;
    let data = json!({"wa_new": 1.5, "wp_on": false});
    site.widget(col, "teaser", data.clone()).await;
    remove(&site, "shop").await;
    site.act("publish", json!({"page_id": 1})).await;
    let site = reopen(site).await;
    let shown = site.ask("GET /api/pages?id=1").expect(200).await.data();
    assert_eq!(shown["rows"][0]["cols"][0]["widgets"][0]["data"], data);
}

/// What a widget no longer has is named when it is not put back.
#[tokio::test]
async fn a_restored_value_without_a_column_is_named() {
    let teaser = |rows: &[&str]| {
        let menu: Vec<_> = rows.iter().map(|row| json!({"row": row, "type": "text"})).collect();
        json!([with(widget("teaser", "title"), json!({"widget_menu": menu}))])
    };
    let site = with_pages(with_plugins([("shop", teaser(&["title", "promo"]))]).await).await;
    let (_, col) = site.row(1).await;
    let data = json!({"title": "Hello", "promo": "today"});
    let widget = site.widget(col, "teaser", data).await;
    site.act("publish", json!({"page_id": 1})).await;
    write(&site.database, "shop", teaser(&["title"]));
    site.post("/api/backend/plugins/apply", json!({})).await;
    let replaced = site.act("restore", json!({"page_id": 1, "revision": 1})).await;
    let left_out = json!([{"kind": "widget", "id": widget, "column": "promo"}]);
    assert_eq!(replaced["left_out"], left_out);
}

/// What was frozen as text is not written into a column that holds passwords meanwhile.
#[tokio::test]
async fn a_restored_value_is_no_password() {
    let teaser = |kind: &str| {
        let menu = json!([{"row": "title", "type": "text"}, {"row": "token", "type": kind}]);
        let menus = json!({"widget_menu": menu, "widget_item_menu": menu});
        json!([with(widget("teaser", "title"), menus)])
    };
    let site = with_pages(with_plugins([("shop", teaser("text"))]).await).await;
    let (_, col) = site.row(1).await;
    let data = json!({"title": "Hello", "token": "written as text"});
    let widget = site.widget(col, "teaser", data.clone()).await;
    let item = site.item(widget, data).await;
    site.act("publish", json!({"page_id": 1})).await;
    write(&site.database, "shop", teaser("password"));
    site.post("/api/backend/plugins/apply", json!({})).await;
    let left_out = json!([{"kind": "widget", "id": widget, "column": "token"},
                          {"kind": "item", "id": item, "column": "token"}]);
    for (action, body) in
        [("restore", json!({"page_id": 1, "revision": 1})), ("discard", json!({"page_id": 1}))]
    {
        let replaced = site.act(action, body).await;
        assert_eq!(replaced["left_out"], left_out, "{action}");
        for table in ["cms_page_row_col_widget", "cms_page_widget_item"] {
            for (held, rows) in [("token is not null", 0), ("title = 'Hello'", 1)] {
                let of = format!("{table} where {held}");
                assert_eq!(site.database.rows(&of).await, rows, "{action}: {of}");
            }
        }
    }
    // Who may not read drafts is not told what is in one.
    let key = site.key(&[&format!("POST {BUILDER}")]).await;
    let blind = site.ask(&format!("POST {BUILDER}?action=discard")).key(&key);
    let blind = blind.json(json!({"page_id": 1})).expect(200).await.data();
    assert_eq!(blind["left_out"], json!(null));
}

#[tokio::test]
async fn a_name_belongs_to_one_plugin() {
    let site = with_plugins([
        ("shop", json!([widget("teaser", "title")])),
        ("tours", json!([widget("teaser", "title")])),
        ("zoo", json!([widget("gallery", "title")])),
    ])
    .await;
    assert_eq!(of_plugins(&site), "teaser");
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
    assert_eq!(of_plugins(&site), "teaser");
}
