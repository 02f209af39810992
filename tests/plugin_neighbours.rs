//! Plugins beside each other: they use each other's tables, some are part of the program, and
//! processes follow each other.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, Ordering},
    mpsc,
};

use cms_core::Cms;
use serde_json::{Value as Json, json};

use crate::support::{
    Site, TestDatabase, each,
    plugins::{columns, program, table},
    until,
};

/// A plugin with a table of its name, whose form has a select of another table's rows.
fn plugin(id: &str, uses: Option<&str>) -> Json {
    let table = table(id, "a text");
    let select = |table: &str| {
        let source = json!({"table": table, "value": "id", "title": "a"});
        let rows = json!([{"column": "a", "type": "select", "select_value": source}]);
        json!([{"button_id": "edit", "type": "edit", "editable_rows": rows}])
    };
    json!({"id": id, "tables": [table], "content_button": uses.map_or(json!([]), select)})
}

/// A site with these plugins in its folder: each with the table that it uses.
async fn site(database: TestDatabase, plugins: &[(&str, Option<&str>)]) -> Site {
    for (id, uses) in plugins {
        database.write_plugin(&plugin(id, *uses));
    }
    Site::on(database).open().await
}

fn is_well(site: &Site, ids: &[&str]) {
    for id in ids {
        assert!(site.state(id).problems.is_empty(), "{:?}", site.state(id));
    }
}

async fn tables(cms: &Cms) -> Vec<String> {
    let names = cms.db().table_names().await.unwrap();
    names.into_iter().filter(|name| name.len() == 1).collect()
}

/// The first by name uses a table of the last, which somebody else's table keeps from being made.
#[tokio::test]
async fn who_uses_a_table_of_a_plugin_that_is_refused_is_refused_with_the_reason() {
    let database = TestDatabase::new().await;
    database.run("create table c (id bigint primary key)").await;
    let plugins = [("a", Some("b")), ("b", Some("c")), ("c", None), ("d", None)];
    let site = site(database, &plugins).await;
    for (id, missing) in [("a", "b"), ("b", "c")] {
        let found = site.state(id);
        assert!(found.manifest.is_none(), "{found:?}");
        let problem = &found.problems[0];
        assert!(problem.pointer.ends_with("/select_value/table"), "{found:?}");
        let why = format!("the plugin {missing} is not in service");
        assert!(problem.line.is_some() && problem.remedy.contains(&why), "{problem}");
    }
    is_well(&site, &["d"]);
    assert_eq!(tables(&site.cms).await, ["c", "d"], "nothing is made of those refused");
    site.database.run("drop table c").await;
    site.cms.apply_plugins(None).await.unwrap();
    is_well(&site, &["a", "b", "c", "d"]);
    // What was in service stays, also without the other; its problem is told.
    let mut change = site.cms.change(cms_core::Actor::Operator).await.unwrap();
    site.cms.remove_plugin(&mut change, "b").await.unwrap();
    change.commit().await.unwrap();
    site.cms.refresh_plugins().await.unwrap();
    let found = site.state("a");
    assert!(found.is_earlier(), "{found:?}");
    assert!(found.problems[0].remedy.contains("the plugin b is not in service"), "{found:?}");
}

/// No order helps two that use each other's tables.
#[tokio::test]
async fn two_that_use_each_other_are_refused_together() {
    let database = TestDatabase::new().await;
    database.run("create table b (id bigint primary key)").await;
    let site = site(database, &[("a", Some("b")), ("b", Some("a")), ("c", Some("a"))]).await;
    for id in ["a", "b", "c"] {
        let found = site.state(id);
        assert!(found.manifest.is_none() && !found.problems.is_empty(), "{found:?}");
        site.admin(&format!("GET /api/backend/item?table={id}"))
            .refused(404, "unknown_table")
            .await;
    }
    site.database.run("drop table b").await;
    site.cms.apply_plugins(None).await.unwrap();
    is_well(&site, &["a", "b", "c"]);
    for id in ["a", "b", "c"] {
        site.items(id).await;
    }
}

/// A later plugin's table may be referred to: that plugin comes first.
#[tokio::test]
async fn a_reference_to_a_table_of_a_later_plugin_is_made() {
    let database = TestDatabase::new().await;
    let mut first = plugin("a", None);
    first["tables"][0]["columns"] = columns("a text, b integer references=b");
    database.write_plugin(&first);
    let site = site(database, &[("b", None)]).await;
    is_well(&site, &["a"]);
    let post = |table: &str, body: Json| {
        site.admin(&format!("POST /api/backend/item?table={table}")).json(body)
    };
    post("a", json!({"b": 1})).refused(409, "conflict").await;
    post("b", json!({"a": "x"})).expect(201).await;
    post("a", json!({"b": 1})).expect(201).await;
}

/// What is compared follows the order of applying.
#[tokio::test]
async fn a_new_plugin_may_refer_to_another_new_one() {
    let site = site(TestDatabase::new().await, &[]).await;
    let mut first = plugin("a", None);
    first["tables"][0]["columns"] = columns("a text, b integer references=b");
    site.database.write_plugin(&first);
    site.database.write_plugin(&plugin("b", None));
    for (action, state) in [("diff", "pending"), ("apply", "applied"), ("apply", "current")] {
        let path = format!("/api/backend/plugins/{action}");
        let found = match action {
            "diff" => site.get(&path).await,
            _ => site.post(&path, json!({})).await,
        };
        assert_eq!(each(&found, "plugin"), ["a", "b"]);
        assert_eq!(each(&found, "state"), [state; 2], "{action}: {found}");
        assert_eq!(each(&found, "refused"), vec![json!([]); 2], "{action}: {found}");
    }
}

/// Tables of new plugins that refer to each other are refused with the circle.
#[tokio::test]
async fn a_circle_of_new_plugins_is_told() {
    let site = site(TestDatabase::new().await, &[("c", None)]).await;
    for (id, target) in [("a", "b"), ("b", "a")] {
        let mut one = plugin(id, None);
        one["tables"][0]["columns"] = columns(&format!("a text, r integer references={target}"));
        site.database.write_plugin(&one);
    }
    let diff = site.get("/api/backend/plugins/diff").await;
    assert_eq!(each(&diff, "state"), ["refused", "refused", "current"], "{diff}");
    site.cms.apply_plugins(None).await.unwrap();
    for id in ["a", "b"] {
        let told = site.state(id).problems[0].clone();
        assert_eq!(told.pointer, "/tables/0/columns/1/references", "{told}");
        assert!(told.line.is_some() && told.remedy.contains("a, b refer to each other"), "{told}");
    }
    is_well(&site, &["c"]);
}

/// A plugin of the program declares an index no longer: a start keeps it, applying drops it.
#[tokio::test]
async fn plugins_of_the_program_are_compared_and_applied_too() {
    let given = |indexes: Json| {
        let mut manifest = plugin("g", None);
        manifest["tables"][0]["indexes"] = indexes;
        manifest["webhook_events"] = json!([{"name": "g.done"}]);
        manifest
    };
    let database = TestDatabase::new().await;
    database.write_plugin(&plugin("a", None));
    let site = Site::on(database).plugin(given(json!([["a"]]))).open().await;
    let diff = site.get("/api/backend/plugins/diff").await;
    assert_eq!(
        (each(&diff, "plugin"), each(&diff, "state")),
        (vec![json!("a"), json!("g")], vec![json!("current"); 2]),
        "{diff}"
    );
    site.cms.close().await;
    let site = Site::on(site.database).plugin(given(json!([]))).open().await;
    let steps = json!([{"action": "drop_index", "table": "g", "columns": ["a"]}]);
    for (line, state) in [
        ("GET /api/backend/plugins/diff?plugin=g", "pending"),
        ("apply a", "current"),
        ("apply g", "applied"),
        ("apply g", "current"),
    ] {
        let reply = match line.strip_prefix("apply ") {
            None => site.admin(line).expect(200).await,
            Some(id) => {
                let ask = site.admin("POST /api/backend/plugins/apply");
                ask.json(json!({"plugin": id})).expect(200).await
            }
        };
        let found = reply.data()[0].clone();
        assert_eq!(found["state"], state, "{line}: {found}");
        let expected = if state == "current" { &json!([]) } else { &steps };
        assert_eq!(found["steps"], *expected, "{line}: {found}");
    }
    site.admin("GET /api/backend/plugins/diff?plugin=none").refused(404, "not_found").await;
}

/// While a process takes plugins into service, it still learns what others commit.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_process_follows_others_while_it_takes_plugins_into_service() {
    let site = site(TestDatabase::new().await, &[("a", None)]).await;
    let waits = Arc::new(AtomicBool::new(false));
    let ((enters, entered), (lets, goes_on)) = (mpsc::channel(), mpsc::channel());
    // A plugin of the program that keeps whoever loads it waiting.
    let (is_slow, enters, goes_on) = (waits.clone(), Mutex::new(enters), Mutex::new(goes_on));
    let slow = program(json!({"id": "slow"}), move |handlers| {
        if is_slow.swap(false, Ordering::SeqCst) {
            enters.lock().unwrap().send(()).unwrap();
            goes_on.lock().unwrap().recv().unwrap();
        }
        handlers
    });
    let builder = Cms::builder(site.database.settings());
    let neighbour = builder.plugin(slow).open().await.unwrap();
    waits.store(true, Ordering::SeqCst);
    let busy = neighbour.clone();
    let loading = tokio::spawn(async move { busy.refresh_plugins().await });
    tokio::task::spawn_blocking(move || entered.recv().unwrap()).await.unwrap();
    let mut grown = plugin("a", None);
    grown["tables"][0]["columns"] = columns("a text, more text");
    site.database.write_plugin(&grown);
    site.cms.apply_plugins(None).await.unwrap();
    let before = neighbour.db().epochs().of("a");
    site.insert("a", json!({"more": "x"})).await;
    let epochs = || neighbour.db().epochs().of("a");
    until("it follows meanwhile", async || epochs() != before).await;
    lets.send(()).unwrap();
    loading.await.unwrap().unwrap();
    let knows = || {
        let tables = neighbour.tables();
        tables.find("a").unwrap().columns.iter().any(|column| column.name == "more")
    };
    until("it takes the new declaration", async || knows()).await;
    neighbour.close().await;
}
