//! Plugins of a folder that change: what applying them would do, what is refused, which declaration
//! stays in service.

use cms_core::plugins::PluginState;
use serde_json::{Value as Json, json};

use crate::support::{Site, TestDatabase};

const DIFF: &str = "GET /api/backend/plugins/diff";
const APPLY: &str = "POST /api/backend/plugins/apply";
const REMOVE: &str = "POST /api/backend/plugins/remove";

fn write(database: &TestDatabase, id: &str, text: impl ToString) {
    let folder = database.folder().join("plugins").join(id);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("plugin.json"), text.to_string()).unwrap();
}

fn shop(columns: Json, more: Json) -> Json {
    let mut manifest = json!({
        "id": "shop", "version": "1", "tables": [{"name": "orders", "columns": columns}],
    });
    manifest.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    manifest
}

fn text(name: &str) -> Json {
    json!({"name": name, "type": "text"})
}

async fn reopen(site: Site) -> Site {
    site.cms.close().await;
    Site::on(site.database).open().await
}

fn state(site: &Site) -> PluginState {
    site.cms.plugins().states().iter().find(|state| state.id == "shop").unwrap().clone()
}

async fn post(site: &Site, body: Json, status: u16) {
    site.admin("POST /api/backend/item?table=orders").json(body).expect(status).await;
}

#[tokio::test]
async fn a_refused_declaration_leaves_the_one_before_in_service() {
    let database = TestDatabase::new().await;
    write(&database, "shop", shop(json!([text("a"), text("b")]), json!({})));
    let mut site = Site::on(database).open().await;
    post(&site, json!({"a": "x", "b": "y"}), 201).await;
    for (refused, told) in [
        (
            shop(json!([text("a")]), json!({"version": "2"})).to_string(),
            "b would be dropped (1 row",
        ),
        ("{".to_owned(), "line 1"),
        (shop(json!([text("a"), {"name": "b", "type": "integer"}]), json!({})).to_string(), "type"),
        (
            shop(json!([text("a"), text("b")]), json!({"content_button": "[{\"button_id\": 1}]"}))
                .to_string(),
            "button_id",
        ),
    ] {
        write(&site.database, "shop", &refused);
        site = reopen(site).await;
        let state = state(&site);
        assert!(state.is_earlier(), "{refused}");
        assert_eq!(state.manifest.unwrap().version, "1", "{refused}");
        let problems: Vec<_> = state.problems.iter().map(ToString::to_string).collect();
        assert!(problems.join("\n").contains(told), "{refused}: {problems:?}");
        post(&site, json!({"a": "x", "b": "y"}), 201).await;
        let diff = site.admin(DIFF).expect(200).await.data();
        assert_eq!(diff[0]["state"], "refused", "{diff}");
    }
    write(&site.database, "shop", shop(json!([text("a"), text("b"), text("c")]), json!({})));
    let site = reopen(site).await;
    assert!(state(&site).problems.is_empty());
    post(&site, json!({"c": "z"}), 201).await;
}

#[tokio::test]
async fn applying_changes_a_running_site_and_its_neighbours() {
    let database = TestDatabase::new().await;
    write(&database, "shop", shop(json!([text("a")]), json!({})));
    let site = Site::on(database).open().await;
    assert_eq!(site.admin(DIFF).expect(200).await.data()[0]["state"], "current");
    let neighbour = cms_core::Cms::open(site.database.settings()).await.unwrap();
    let events = json!({"webhook_events": [{"name": "shop.paid", "description": "First."}]});
    let mut grown = shop(json!([text("a"), {"name": "n", "type": "integer"}]), events);
    grown["tables"][0]["indexes"] = json!([["a", "-n"]]);
    write(&site.database, "shop", &grown);
    let steps = json!([
        {"action": "add_column", "table": "orders", "columns": ["n"]},
        {"action": "create_index", "table": "orders", "columns": ["a", "-n"]},
    ]);
    let before = site.traces().await;
    let diff = site.admin(DIFF).expect(200).await.data();
    assert_eq!((&diff[0]["state"], &diff[0]["steps"]), (&json!("pending"), &steps), "{diff}");
    assert_eq!(diff[0]["events"], json!(["shop.paid"]));
    assert_eq!(site.traces().await, before, "a look changes nothing");
    post(&site, json!({"n": 1}), 400).await;
    let done = site.admin(APPLY).json(json!({})).expect(200).await.data();
    assert_eq!((&done[0]["state"], &done[0]["steps"]), (&json!("applied"), &steps), "{done}");
    post(&site, json!({"a": "x", "n": 1}), 201).await;
    let indexes = site.admin("GET /api/backend/tables?name=orders").expect(200).await.data();
    assert_eq!(indexes["indexes"], json!([["a", "-n"]]));
    let again = site.admin(APPLY).json(json!({"plugin": "shop"})).expect(200).await.data();
    assert_eq!(again[0]["state"], "current", "{again}");
    // The neighbour learns it from the database; its follower may have been quicker.
    neighbour.catch_up().await.unwrap();
    let known = || neighbour.tables().find("orders").unwrap().columns.iter().any(|c| c.name == "n");
    for _ in 0..100 {
        if known() {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    assert!(known());
    neighbour.close().await;
    // Another description changes nothing that is registered.
    grown["webhook_events"][0]["description"] = json!("Second.");
    write(&site.database, "shop", &grown);
    site.admin(APPLY).json(json!({})).expect(200).await;
    let events = site.admin("GET /api/backend/webhooks/events?limit=500").expect(200).await.data();
    let paid = events.as_array().unwrap().iter().find(|event| event["event_name"] == "shop.paid");
    assert_eq!(paid.unwrap()["description"], "First.");
}

#[tokio::test]
async fn what_would_lose_data_is_told_and_cannot_be_accepted_yet() {
    let database = TestDatabase::new().await;
    write(&database, "shop", shop(json!([text("a"), text("b")]), json!({})));
    let site = Site::on(database).open().await;
    post(&site, json!({"a": "x", "b": "y"}), 201).await;
    write(&site.database, "shop", shop(json!([text("a")]), json!({})));
    let done = site.admin(APPLY).json(json!({})).expect(200).await.data();
    assert_eq!(done[0]["state"], "refused", "{done}");
    assert_eq!(done[0]["losses"], json!([{"table": "orders", "column": "b", "rows": 1}]));
    let body = json!({"accept_loss": ["orders.b"]});
    site.admin(APPLY).json(body).refused(422, "validation_failed").await;
    let mut renamed = shop(json!([text("a"), text("c")]), json!({}));
    renamed["tables"][0]["columns"][1]["renamed_from"] = json!("b");
    write(&site.database, "shop", renamed);
    let done = site.admin(DIFF).expect(200).await.data();
    assert!(done[0]["refused"][0].as_str().unwrap().contains("renamed to c yet"), "{done}");
    post(&site, json!({"b": "still"}), 201).await;
}

#[tokio::test]
async fn no_declaration_turns_a_password_into_text() {
    let database = TestDatabase::new().await;
    database.run("create table legacy (id integer primary key, pin text)".to_owned()).await;
    let password = |kind: &str| {
        let icon = "a.svg";
        let field = json!([{"row": "token", "type": kind}, {"row": "title", "type": "text"}]);
        let legacy = json!({"name": "legacy", "adopt": true, "columns": [
            {"name": "id"}, {"name": "pin", "type": kind}]});
        json!({
            "id": "shop", "version": kind,
            "tables": [{"name": "orders", "columns": [text("a"), {"name": "code", "type": kind}]},
                       legacy],
            "pagebuilder_widgets": [{"widget_title": "A", "widget_icon": icon,
                "widget_template": "shopA", "widget_menu": field, "widget_item_menu": field}],
        })
    };
    write(&database, "shop", password("password"));
    let icons = database.folder().join("plugins/shop/widgets/shopA");
    std::fs::create_dir_all(&icons).unwrap();
    std::fs::write(icons.join("a.svg"), "<svg/>").unwrap();
    let mut site = Site::on(database).open().await;
    assert_eq!(state(&site).problems, []);
    post(&site, json!({"code": "hunter2"}), 201).await;
    let pin = json!({"id": 1, "pin": "4711"});
    site.admin("POST /api/backend/item?table=legacy").json(pin).expect(201).await;

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
        write(&site.database, "shop", &refused);
        site = reopen(site).await;
        let found = state(&site);
        assert!(found.is_earlier(), "{refused}");
        let told: Vec<_> = found.problems.iter().map(|one| one.pointer.as_str()).collect();
        assert_eq!(told, places, "{:?}", found.problems);
        assert!(found.problems.iter().all(|one| one.remedy.contains("sealed text")));
        assert!(found.problems[0].remedy.contains("--accept-loss"));
        let diff = site.admin(DIFF).expect(200).await.data();
        assert_eq!(diff[0]["state"], "refused", "{diff}");
        site.admin(APPLY).json(json!({"plugin": "shop"})).expect(200).await;
        for table in ["orders", "legacy"] {
            let rows =
                site.admin(&format!("GET /api/backend/item?table={table}")).expect(200).await;
            assert!(!rows.text().contains("v1."), "{}", rows.text());
        }
    }
}

#[tokio::test]
async fn a_removed_plugin_comes_back_by_name_with_its_rows() {
    let database = TestDatabase::new().await;
    write(&database, "shop", shop(json!([text("a")]), json!({})));
    write(
        &database,
        "blog",
        json!({"id": "blog", "tables": [{"name": "b", "columns": [text("a")]}]}),
    );
    let site = Site::on(database).plugin(json!({"id": "given"})).open().await;
    post(&site, json!({"a": "x"}), 201).await;
    let remove = |plugin: &str| site.admin(REMOVE).json(json!({"plugin": plugin}));
    remove("nothing").refused(404, "not_found").await;
    remove("given").refused(409, "conflict").await;
    remove("shop").expect(204).await;
    site.admin("GET /api/backend/item?table=orders").refused(404, "unknown_table").await;
    site.admin("GET /api/backend/item?table=b").expect(200).await;
    let site = reopen(site).await;
    site.admin("GET /api/backend/item?table=orders").refused(404, "unknown_table").await;
    let told = state(&site).problems[0].to_string();
    assert!(told.contains("cms plugins apply shop"), "{told}");
    let done = site.admin(APPLY).json(json!({})).expect(200).await.data();
    assert_eq!(done[1]["state"], "removed", "all but the removed: {done}");
    site.admin(APPLY).json(json!({"plugin": "nothing"})).refused(404, "not_found").await;
    let done = site.admin(APPLY).json(json!({"plugin": "shop"})).expect(200).await.data();
    assert_eq!(done[0]["state"], "applied", "{done}");
    let rows = site.admin("GET /api/backend/item?table=orders").expect(200).await.data();
    assert_eq!(rows, json!([{"id": 1, "a": "x"}]));
}

#[tokio::test]
async fn only_the_named_plugin_changes_the_database() {
    let database = TestDatabase::new().await;
    let blog = |columns: Json| json!({"id": "blog", "tables": [{"name": "b", "columns": columns}]});
    write(&database, "shop", shop(json!([text("a")]), json!({})));
    write(&database, "blog", blog(json!([text("a")])));
    let site = Site::on(database).open().await;
    write(&site.database, "shop", shop(json!([text("a"), text("n")]), json!({})));
    write(&site.database, "blog", blog(json!([text("a"), text("n")])));
    site.admin(APPLY).json(json!({"plugin": "shop"})).expect(200).await;
    post(&site, json!({"n": "x"}), 201).await;
    let diff = site.admin(&format!("{DIFF}?plugin=blog")).expect(200).await.data();
    assert_eq!(diff[0]["state"], "pending", "{diff}");
    site.admin("POST /api/backend/item?table=b").json(json!({"a": "x"})).expect(201).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_processes_may_apply_together() {
    let database = TestDatabase::new().await;
    write(&database, "shop", shop(json!([text("a")]), json!({})));
    let site = Site::on(database).open().await;
    let other = cms_core::Cms::open(site.database.settings()).await.unwrap();
    let mut grown = shop(json!([text("a"), text("n")]), json!({}));
    grown["tables"][0]["indexes"] = json!([["n"], ["a", "-n"]]);
    write(&site.database, "shop", grown);
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
    let sql = "create table theirs (id bigint primary key, a text)";
    database.run(sql.to_owned()).await;
    let button = |column: &str| {
        json!({"content_button": [{"button_id": "edit", "type": "edit", "table": "theirs",
               "editable_rows": [{"column": column, "type": "text"}]}]})
    };
    let manifest = |column: &str| {
        let mut manifest = shop(json!([text("a")]), button(column));
        let tables = manifest["tables"].as_array_mut().unwrap();
        tables.push(json!({"name": "theirs", "adopt": true}));
        manifest
    };
    write(&database, "shop", manifest("b"));
    let site = Site::on(database).open().await;
    let found = state(&site);
    assert!(found.manifest.is_none() && found.problems[0].line.is_some(), "{found:?}");
    let names = site.cms.db().table_names().await.unwrap();
    assert!(!names.contains(&"orders".to_owned()), "{names:?}");
    write(&site.database, "shop", manifest("a"));
    let site = reopen(site).await;
    assert!(state(&site).problems.is_empty());
}

/// A form takes its options only from tables that are served.
#[tokio::test]
async fn tables_of_a_refused_plugin_are_not_known() {
    let database = TestDatabase::new().await;
    database.run("create table sizes (id bigint primary key)".to_owned()).await;
    let table = json!([{"name": "sizes", "columns": [text("name")]}]);
    write(&database, "first", json!({"id": "first", "tables": table}));
    let source = json!({"table": "sizes", "value": "id", "title": "name"});
    let rows = json!([{"column": "a", "type": "select", "select_value": source}]);
    let button = json!([{"button_id": "edit", "type": "edit", "editable_rows": rows}]);
    write(&database, "shop", shop(json!([text("a")]), json!({"content_button": button})));
    let site = Site::on(database).open().await;
    let found = state(&site);
    assert!(found.manifest.is_none(), "{found:?}");
    assert!(found.problems[0].pointer.ends_with("/select_value/table"), "{found:?}");
    site.database.run("drop table sizes".to_owned()).await;
    let site = reopen(site).await;
    assert!(state(&site).problems.is_empty(), "{:?}", state(&site));
}

/// Routes follow what is applied and removed, in a site that goes on running.
#[tokio::test]
async fn endpoints_come_and_go_without_a_restart() {
    let database = TestDatabase::new().await;
    write(&database, "shop", shop(json!([text("a")]), json!({})));
    let site = Site::on(database).open().await;
    post(&site, json!({"a": "x"}), 201).await;
    let endpoints = |path: &str| {
        let endpoint = json!({"modelPath": "orders", "endpoint": path, "public": true});
        shop(json!([text("a")]), json!({"endpoints": [endpoint]}))
    };
    site.admin("GET /api/shop_orders").refused(404, "not_found").await;
    write(&site.database, "shop", endpoints("shop-orders"));
    site.admin(APPLY).json(json!({})).expect(200).await;
    site.ask("GET /api/shop_orders").expect(200).await;
    let key = site.key(&["GET /api/shop_orders"]).await;
    site.ask("GET /api/shop_orders").key(&key).expect(200).await;
    let document = site.ask("GET /api/openapi.json").expect(200).await.text();
    assert!(document.contains("/api/shop_orders"));
    write(&site.database, "shop", endpoints("shop-sold"));
    site.admin(APPLY).json(json!({})).expect(200).await;
    site.admin("GET /api/shop_orders").refused(404, "not_found").await;
    site.ask("GET /api/shop_sold").expect(200).await;
    site.admin(REMOVE).json(json!({"plugin": "shop"})).expect(204).await;
    site.admin("GET /api/shop_sold").refused(404, "not_found").await;
}

/// On PostgreSQL loading may wait long, for an index. Here the removal comes from within.
#[tokio::test]
async fn a_removal_while_plugins_are_loaded_stays() {
    let database = TestDatabase::new().await;
    if database.is_postgres() {
        return;
    }
    write(&database, "shop", shop(json!([text("a")]), json!({})));
    let site = Site::on(database).open().await;
    let removal = "create trigger removal after update on cms_content_tables begin \
                   update cms_plugins set removed = true where id = 'shop'; end";
    site.database.run(removal.to_owned()).await;
    write(&site.database, "shop", shop(json!([text("a"), text("b")]), json!({})));
    let done = site.admin(APPLY).json(json!({})).expect(200).await.data();
    assert_eq!(done[0]["state"], "refused", "{done}");
    let told = state(&site).problems.iter().map(ToString::to_string).collect::<String>();
    assert!(told.contains("it was removed"), "{told}");
    post(&site, json!({"a": "x"}), 404).await;
    let removed = "select count(*) from cms_plugins where id = 'shop' and removed";
    assert_eq!(site.database.count(removed).await, 1);
}

/// As while another process makes an index: SQLite keeps its writer for it.
#[tokio::test]
async fn a_site_opens_while_its_plugins_cannot_be_recorded() {
    let database = TestDatabase::new().await;
    if database.is_postgres() {
        return;
    }
    let site = Site::on(database).open().await;
    write(&site.database, "plain", json!({"id": "plain"}));
    let mut held = site.database.sqlite_connection().await;
    sqlx::raw_sql("begin immediate").execute(&mut held).await.unwrap();
    let cms = cms_core::Cms::open(site.database.settings()).await.unwrap();
    let is_served =
        cms.plugins().states().iter().any(|one| one.id == "plain" && one.problems.is_empty());
    assert!(is_served);
    cms.close().await;
    sqlx::raw_sql("rollback").execute(&mut held).await.unwrap();
    let recorded = "select count(*) from cms_plugins where id = 'plain'";
    assert_eq!(site.database.count(recorded).await, 0);
    let site = reopen(site).await;
    assert_eq!(site.database.count(recorded).await, 1);
}
