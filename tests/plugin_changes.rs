//! Plugins of a folder that change: what applying them would do, what is refused, which declaration
//! stays in service.

use cms_core::plugins::PluginState;
use serde_json::{Value as Json, json};

use crate::support::{Site, TestDatabase, plugins::plugin, until, with};

const DIFF: &str = "/api/backend/plugins/diff";
const APPLY: &str = "POST /api/backend/plugins/apply";
const REMOVE: &str = "POST /api/backend/plugins/remove";

/// A plugin with these columns in its table `orders`.
fn shop(words: &str, more: Json) -> Json {
    with(with(plugin("shop", [("orders", words)]), json!({"version": "1"})), more)
}

fn plain(words: &str) -> Json {
    shop(words, json!({}))
}

/// A site with the plugin in its folder.
async fn site(shop: &Json) -> Site {
    let database = TestDatabase::new().await;
    database.write_plugin(shop);
    Site::on(database).open().await
}

fn state(site: &Site) -> PluginState {
    site.state("shop")
}

/// What applying the plugin of this id does, or all of them.
async fn apply(site: &Site, body: Json) -> Json {
    site.admin(APPLY).json(body).expect(200).await.data()
}

async fn post(site: &Site, body: Json, status: u16) {
    site.admin("POST /api/backend/item?table=orders").json(body).expect(status).await;
}

#[tokio::test]
async fn a_refused_declaration_leaves_the_one_before_in_service() {
    let mut site = site(&plain("a text, b text")).await;
    post(&site, json!({"a": "x", "b": "y"}), 201).await;
    for (refused, told) in [
        (shop("a text", json!({"version": "2"})).to_string(), "b would be dropped (1 row"),
        ("{".to_owned(), "line 1"),
        (plain("a text, b integer").to_string(), "type"),
        (
            shop("a text, b text", json!({"content_button": "[{\"button_id\": 1}]"})).to_string(),
            "button_id",
        ),
    ] {
        site.database.write_manifest("shop", &refused);
        site = site.reopen().await;
        let state = state(&site);
        assert!(state.is_earlier(), "{refused}");
        assert_eq!(state.manifest.unwrap().version, "1", "{refused}");
        let problems: Vec<_> = state.problems.iter().map(ToString::to_string).collect();
        assert!(problems.join("\n").contains(told), "{refused}: {problems:?}");
        post(&site, json!({"a": "x", "b": "y"}), 201).await;
        let diff = site.get(DIFF).await;
        assert_eq!(diff[0]["state"], "refused", "{diff}");
    }
    site.database.write_plugin(&plain("a text, b text, c text"));
    let site = site.reopen().await;
    assert!(state(&site).problems.is_empty());
    post(&site, json!({"c": "z"}), 201).await;
}

#[tokio::test]
async fn applying_changes_a_running_site_and_its_neighbours() {
    let site = site(&plain("a text")).await;
    assert_eq!(site.get(DIFF).await[0]["state"], "current");
    let neighbour = cms_core::Cms::open(site.database.settings()).await.unwrap();
    let events = json!({"webhook_events": [{"name": "shop.paid", "description": "First."}]});
    let mut grown = shop("a text, n integer", events);
    grown["tables"][0]["indexes"] = json!([["a", "-n"]]);
    site.database.write_plugin(&grown);
    let steps = json!([
        {"action": "add_column", "table": "orders", "columns": ["n"]},
        {"action": "create_index", "table": "orders", "columns": ["a", "-n"]},
    ]);
    let before = site.traces().await;
    let diff = site.get(DIFF).await;
    assert_eq!((&diff[0]["state"], &diff[0]["steps"]), (&json!("pending"), &steps), "{diff}");
    assert_eq!(diff[0]["events"], json!(["shop.paid"]));
    assert_eq!(site.traces().await, before, "a look changes nothing");
    post(&site, json!({"n": 1}), 400).await;
    let done = apply(&site, json!({})).await;
    assert_eq!((&done[0]["state"], &done[0]["steps"]), (&json!("applied"), &steps), "{done}");
    post(&site, json!({"a": "x", "n": 1}), 201).await;
    let indexes = site.get("/api/backend/tables?name=orders").await;
    assert_eq!(indexes["indexes"], json!([["a", "-n"]]));
    let again = apply(&site, json!({"plugin": "shop"})).await;
    assert_eq!(again[0]["state"], "current", "{again}");
    // The neighbour learns it from the database; its follower may have been quicker.
    neighbour.catch_up().await.unwrap();
    let known = || neighbour.tables().find("orders").unwrap().columns.iter().any(|c| c.name == "n");
    until("it learns", async || known()).await;
    neighbour.close().await;
    // Another description changes nothing that is registered.
    grown["webhook_events"][0]["description"] = json!("Second.");
    site.database.write_plugin(&grown);
    apply(&site, json!({})).await;
    let events = site.get("/api/backend/webhooks/events?limit=500").await;
    let paid = events.as_array().unwrap().iter().find(|event| event["event_name"] == "shop.paid");
    assert_eq!(paid.unwrap()["description"], "First.");
}

/// Each process reads its own folder.
#[tokio::test]
async fn nodes_whose_folders_differ_are_told() {
    let database = TestDatabase::new().await;
    let declared = |version: &str| shop("a text", json!({"version": version}));
    database.write_plugin(&declared("1"));
    let site = Site::on(database).open().await;
    let mut settings = site.database.settings();
    settings.dirs.plugins = site.database.folder().join("elsewhere");
    let there = settings.dirs.plugins.join("shop");
    std::fs::create_dir_all(&there).unwrap();
    let write_there = |version: &str| {
        std::fs::write(there.join("plugin.json"), declared(version).to_string()).unwrap();
    };
    write_there("1");
    let other = cms_core::Cms::open(settings).await.unwrap();
    let check = async || {
        let found = other.status().await;
        let found = found.into_iter().find(|one| one.check == "plugin").unwrap();
        (found.level.as_str(), found.found)
    };

    site.database.write_plugin(&declared("2"));
    let record = json!([{"action": "record", "table": "", "columns": []}]);
    let diff = site.get(DIFF).await;
    assert_eq!((&diff[0]["state"], &diff[0]["steps"]), (&json!("pending"), &record), "{diff}");
    let done = site.admin(APPLY).json(json!({})).expect(200).await.data();
    assert_eq!(done[0]["state"], "applied", "{done}");
    let (level, found) = check().await;
    assert_eq!(level, "warning", "{found}");
    assert!(found.contains("not the one that was applied last"), "{found}");
    let diff = other.plugin_differences(None).await.unwrap();
    assert_eq!(diff[0].changes.steps[0].action.name(), "record");

    // With the same folders again, applying tells the others, also where nothing is new.
    write_there("2");
    let done = site.admin(APPLY).json(json!({})).expect(200).await.data();
    assert_eq!(done[0]["state"], "current", "{done}");
    until("it learns", async || check().await.0 == "ok").await;
    assert_eq!(check().await, ("ok", "shop".to_owned()));
    other.close().await;
}

#[tokio::test]
async fn what_would_lose_data_is_told_and_cannot_be_accepted_yet() {
    let site = site(&plain("a text, b text")).await;
    post(&site, json!({"a": "x", "b": "y"}), 201).await;
    site.database.write_plugin(&plain("a text"));
    let done = apply(&site, json!({})).await;
    assert_eq!(done[0]["state"], "refused", "{done}");
    assert_eq!(done[0]["losses"], json!([{"table": "orders", "column": "b", "rows": 1}]));
    let body = json!({"accept_loss": ["orders.b"]});
    site.admin(APPLY).json(body).refused(422, "validation_failed").await;
    let mut renamed = plain("a text, c text");
    renamed["tables"][0]["columns"][1]["renamed_from"] = json!("b");
    site.database.write_plugin(&renamed);
    let done = site.get(DIFF).await;
    assert!(done[0]["refused"][0].as_str().unwrap().contains("renamed to c yet"), "{done}");
    post(&site, json!({"b": "still"}), 201).await;
}

#[tokio::test]
async fn no_declaration_turns_a_password_into_text() {
    let database = TestDatabase::new().await;
    database.run("create table legacy (id integer primary key, pin text)").await;
    let password = |kind: &str| {
        let field = json!([{"row": "token", "type": kind}, {"row": "title", "type": "text"}]);
        let widget = json!({"widget_title": "A", "widget_icon": "a.svg",
            "widget_template": "shopA", "widget_menu": field, "widget_item_menu": field});
        let mut shop = shop(&format!("a text, code {kind}"), json!({"version": kind}));
        shop["tables"].as_array_mut().unwrap().push(json!({"name": "legacy", "adopt": true,
            "columns": [{"name": "id"}, {"name": "pin", "type": kind}]}));
        with(shop, json!({"pagebuilder_widgets": [widget]}))
    };
    database.write_plugin(&password("password"));
    let mut site = Site::on(database).open().await;
    assert_eq!(state(&site).problems, []);
    post(&site, json!({"code": "hunter2"}), 201).await;
    site.insert("legacy", json!({"id": 1, "pin": "4711"})).await;

    // A column that is left out of an adopted table of all columns is served as text.
    let mut whole = password("password");
    whole["tables"][1]["columns"] = json!([]);
    let places = [
        "/tables/0/columns/1/type",
        "/tables/1/columns/1/type",
        "/pagebuilder_widgets/0/widget_menu/0/type",
        "/pagebuilder_widgets/0/widget_item_menu/0/type",
    ];
    for (refused, places) in [(password("text"), &places[..]), (whole, &["/tables/1/columns"])] {
        site.database.write_plugin(&refused);
        site = site.reopen().await;
        let found = state(&site);
        assert!(found.is_earlier(), "{refused}");
        let told: Vec<_> = found.problems.iter().map(|one| one.pointer.as_str()).collect();
        assert_eq!(told, places, "{:?}", found.problems);
        assert!(found.problems.iter().all(|one| one.remedy.contains("sealed text")));
        assert!(!found.problems[0].remedy.contains("--accept-loss"));
        let diff = site.get(DIFF).await;
        assert_eq!(diff[0]["state"], "refused", "{diff}");
        apply(&site, json!({"plugin": "shop"})).await;
        for table in ["orders", "legacy"] {
            let rows = site.items(table).await.to_string();
            assert!(!rows.contains("v1."), "{rows}");
        }
    }
}

#[tokio::test]
async fn a_removed_plugin_comes_back_by_name_with_its_rows() {
    let database = TestDatabase::new().await;
    database.write_plugin(&plain("a text"));
    database.write_plugin(&plugin("blog", [("b", "a text")]));
    let site = Site::on(database).plugin(json!({"id": "given"})).open().await;
    post(&site, json!({"a": "x"}), 201).await;
    let remove = |plugin: &str| site.admin(REMOVE).json(json!({"plugin": plugin}));
    remove("nothing").refused(404, "not_found").await;
    remove("given").refused(409, "conflict").await;
    remove("shop").expect(204).await;
    site.admin("GET /api/backend/item?table=orders").refused(404, "unknown_table").await;
    site.items("b").await;
    let site = site.reopen().await;
    site.admin("GET /api/backend/item?table=orders").refused(404, "unknown_table").await;
    let told = state(&site).problems[0].to_string();
    assert!(told.contains("cms plugins apply shop"), "{told}");
    let done = apply(&site, json!({})).await;
    assert_eq!(done[1]["state"], "removed", "all but the removed: {done}");
    site.admin(APPLY).json(json!({"plugin": "nothing"})).refused(404, "not_found").await;
    let done = apply(&site, json!({"plugin": "shop"})).await;
    assert_eq!(done[0]["state"], "applied", "{done}");
    assert_eq!(site.items("orders").await, json!([{"id": 1, "a": "x"}]));
}

#[tokio::test]
async fn only_the_named_plugin_changes_the_database() {
    let database = TestDatabase::new().await;
    let declare = |database: &TestDatabase, words: &str| {
        database.write_plugin(&plain(words));
        database.write_plugin(&plugin("blog", [("b", words)]));
    };
    declare(&database, "a text");
    let site = Site::on(database).open().await;
    declare(&site.database, "a text, n text");
    apply(&site, json!({"plugin": "shop"})).await;
    post(&site, json!({"n": "x"}), 201).await;
    let diff = site.get(&format!("{DIFF}?plugin=blog")).await;
    assert_eq!(diff[0]["state"], "pending", "{diff}");
    site.insert("b", json!({"a": "x"})).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_processes_may_apply_together() {
    let site = site(&plain("a text")).await;
    let other = cms_core::Cms::open(site.database.settings()).await.unwrap();
    let mut grown = plain("a text, n text");
    grown["tables"][0]["indexes"] = json!([["n"], ["a", "-n"]]);
    site.database.write_plugin(&grown);
    let (one, two, three) = tokio::join!(
        site.cms.apply_plugins(None),
        other.apply_plugins(None),
        site.cms.apply_plugins(Some("shop"))
    );
    for done in [one, two, three] {
        let done = done.unwrap();
        assert!(done[0].problems.is_empty(), "{:?}", done[0]);
    }
    assert!(!state(&site).is_earlier());
    other.close().await;
}

/// What only the database shows is compared before a table or an index is made.
#[tokio::test]
async fn nothing_is_made_of_a_plugin_that_is_refused() {
    let database = TestDatabase::new().await;
    database.run("create table theirs (id bigint primary key, a text)").await;
    let button = |column: &str| {
        json!({"content_button": [{"button_id": "edit", "type": "edit", "table": "theirs",
               "editable_rows": [{"column": column, "type": "text"}]}]})
    };
    let manifest = |column: &str| {
        let mut manifest = shop("a text", button(column));
        let theirs = json!({"name": "theirs", "adopt": true});
        manifest["tables"].as_array_mut().unwrap().push(theirs);
        manifest
    };
    database.write_plugin(&manifest("b"));
    let site = Site::on(database).open().await;
    let found = state(&site);
    assert!(found.manifest.is_none() && found.problems[0].line.is_some(), "{found:?}");
    let names = site.cms.db().table_names().await.unwrap();
    assert!(!names.contains(&"orders".to_owned()), "{names:?}");
    site.database.write_plugin(&manifest("a"));
    let site = site.reopen().await;
    assert!(state(&site).problems.is_empty());
}

/// A form takes its options only from tables that are served.
#[tokio::test]
async fn tables_of_a_refused_plugin_are_not_known() {
    let database = TestDatabase::new().await;
    database.run("create table sizes (id bigint primary key)").await;
    database.write_plugin(&plugin("first", [("sizes", "name text")]));
    let source = json!({"table": "sizes", "value": "id", "title": "name"});
    let rows = json!([{"column": "a", "type": "select", "select_value": source}]);
    let button = json!([{"button_id": "edit", "type": "edit", "editable_rows": rows}]);
    database.write_plugin(&shop("a text", json!({"content_button": button})));
    let site = Site::on(database).open().await;
    let found = state(&site);
    assert!(found.manifest.is_none(), "{found:?}");
    assert!(found.problems[0].pointer.ends_with("/select_value/table"), "{found:?}");
    site.database.run("drop table sizes").await;
    let site = site.reopen().await;
    assert!(state(&site).problems.is_empty(), "{:?}", state(&site));
}

/// Routes follow what is applied and removed, in a site that goes on running.
#[tokio::test]
async fn endpoints_come_and_go_without_a_restart() {
    let site = site(&plain("a text")).await;
    post(&site, json!({"a": "x"}), 201).await;
    let endpoints = |path: &str| {
        let endpoint = json!({"modelPath": "orders", "endpoint": path, "public": true});
        shop("a text", json!({"endpoints": [endpoint]}))
    };
    site.admin("GET /api/shop_orders").refused(404, "not_found").await;
    site.database.write_plugin(&endpoints("shop-orders"));
    apply(&site, json!({})).await;
    site.ask("GET /api/shop_orders").expect(200).await;
    let key = site.key(&["GET /api/shop_orders"]).await;
    site.ask("GET /api/shop_orders").key(&key).expect(200).await;
    let document = site.ask("GET /api/openapi.json").expect(200).await.text();
    assert!(document.contains("/api/shop_orders"));
    site.database.write_plugin(&endpoints("shop-sold"));
    apply(&site, json!({})).await;
    site.admin("GET /api/shop_orders").refused(404, "not_found").await;
    site.ask("GET /api/shop_sold").expect(200).await;
    site.admin(REMOVE).json(json!({"plugin": "shop"})).expect(204).await;
    site.admin("GET /api/shop_sold").refused(404, "not_found").await;
}

/// On PostgreSQL loading may wait long, for an index. Here the removal comes from within.
#[tokio::test]
async fn a_removal_while_plugins_are_loaded_stays() {
    let site = site(&plain("a text")).await;
    if site.database.is_postgres() {
        return;
    }
    let removal = "create trigger removal after update on cms_content_tables begin \
                   update cms_plugins set removed = true where id = 'shop'; end";
    site.database.run(removal).await;
    site.database.write_plugin(&plain("a text, b text"));
    let done = apply(&site, json!({})).await;
    assert_eq!(done[0]["state"], "refused", "{done}");
    let told = state(&site).problems.iter().map(ToString::to_string).collect::<String>();
    assert!(told.contains("it was removed"), "{told}");
    post(&site, json!({"a": "x"}), 404).await;
    assert_eq!(site.database.rows("cms_plugins where id = 'shop' and removed").await, 1);
}

/// As while another process makes an index: SQLite keeps its writer for it.
#[tokio::test]
async fn a_site_opens_while_its_plugins_cannot_be_recorded() {
    let site = Site::open().await;
    if site.database.is_postgres() {
        return;
    }
    site.database.write_plugin(&json!({"id": "plain"}));
    let mut held = site.database.sqlite_connection().await;
    sqlx::raw_sql("begin immediate").execute(&mut held).await.unwrap();
    let cms = cms_core::Cms::open(site.database.settings()).await.unwrap();
    let states = cms.plugins().states();
    assert!(states.iter().any(|one| one.id == "plain" && one.problems.is_empty()));
    cms.close().await;
    sqlx::raw_sql("rollback").execute(&mut held).await.unwrap();
    let recorded = "cms_plugins where id = 'plain'";
    assert_eq!(site.database.rows(recorded).await, 0);
    let site = site.reopen().await;
    assert_eq!(site.database.rows(recorded).await, 1);
}
