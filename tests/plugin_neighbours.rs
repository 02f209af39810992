//! Plugins beside each other: they use each other's tables, some are part of the program, and
//! processes follow each other.

use std::{
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    time::Duration,
};

use cms_core::{
    Cms,
    plugins::{Handlers, Manifest, Plugin, PluginState},
};
use serde_json::{Value as Json, json};

use crate::support::{Site, TestDatabase};

fn write(folder: &Path, id: &str, manifest: &Json) {
    let folder = folder.join("plugins").join(id);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("plugin.json"), manifest.to_string()).unwrap();
}

/// A plugin with a table of its name, whose form has a select of another table's rows.
fn plugin(id: &str, uses: Option<&str>) -> Json {
    let table = json!({"name": id, "columns": [{"name": "a", "type": "text"}]});
    let select = |table: &str| {
        let source = json!({"table": table, "value": "id", "title": "a"});
        let rows = json!([{"column": "a", "type": "select", "select_value": source}]);
        json!([{"button_id": "edit", "type": "edit", "editable_rows": rows}])
    };
    json!({"id": id, "tables": [table], "content_button": uses.map_or(json!([]), select)})
}

fn state(cms: &Cms, id: &str) -> PluginState {
    cms.plugins().states().iter().find(|state| state.id == id).unwrap().clone()
}

async fn tables(cms: &Cms) -> Vec<String> {
    let names = cms.db().table_names().await.unwrap();
    names.into_iter().filter(|name| name.len() == 1).collect()
}

/// The first by name uses a table of the last, which somebody else's table keeps from being made.
#[tokio::test]
async fn who_uses_a_table_of_a_plugin_that_is_refused_is_refused_with_the_reason() {
    let database = TestDatabase::new().await;
    database.run("create table c (id bigint primary key)".to_owned()).await;
    let folder = database.folder().to_owned();
    for (id, uses) in [("a", Some("b")), ("b", Some("c")), ("c", None), ("d", None)] {
        write(&folder, id, &plugin(id, uses));
    }
    let site = Site::on(database).open().await;
    for (id, missing) in [("a", "b"), ("b", "c")] {
        let found = state(&site.cms, id);
        assert!(found.manifest.is_none(), "{found:?}");
        let problem = &found.problems[0];
        assert!(problem.pointer.ends_with("/select_value/table"), "{found:?}");
        let why = format!("the plugin {missing} is not in service");
        assert!(problem.line.is_some() && problem.remedy.contains(&why), "{problem}");
    }
    assert!(state(&site.cms, "d").problems.is_empty());
    assert_eq!(tables(&site.cms).await, ["c", "d"], "nothing is made of those refused");
    site.database.run("drop table c".to_owned()).await;
    site.cms.apply_plugins(None).await.unwrap();
    for id in ["a", "b", "c", "d"] {
        assert!(state(&site.cms, id).problems.is_empty(), "{:?}", state(&site.cms, id));
    }
    // What was in service stays, also without the other; its problem is told.
    let mut change = site.cms.change(cms_core::Actor::Operator).await.unwrap();
    site.cms.remove_plugin(&mut change, "b").await.unwrap();
    change.commit().await.unwrap();
    site.cms.refresh_plugins().await.unwrap();
    let found = state(&site.cms, "a");
    assert!(found.is_earlier(), "{found:?}");
    assert!(found.problems[0].remedy.contains("the plugin b is not in service"), "{found:?}");
}

/// No order helps two that use each other's tables.
#[tokio::test]
async fn two_that_use_each_other_are_refused_together() {
    let database = TestDatabase::new().await;
    database.run("create table b (id bigint primary key)".to_owned()).await;
    let folder = database.folder().to_owned();
    for (id, uses) in [("a", Some("b")), ("b", Some("a")), ("c", Some("a"))] {
        write(&folder, id, &plugin(id, uses));
    }
    let site = Site::on(database).open().await;
    for id in ["a", "b", "c"] {
        let found = state(&site.cms, id);
        assert!(found.manifest.is_none() && !found.problems.is_empty(), "{found:?}");
        site.admin(&format!("GET /api/backend/item?table={id}"))
            .refused(404, "unknown_table")
            .await;
    }
    site.database.run("drop table b".to_owned()).await;
    site.cms.apply_plugins(None).await.unwrap();
    for id in ["a", "b", "c"] {
        assert!(state(&site.cms, id).problems.is_empty(), "{:?}", state(&site.cms, id));
        site.admin(&format!("GET /api/backend/item?table={id}")).expect(200).await;
    }
}

/// A later plugin's table may be referred to: that plugin comes first.
#[tokio::test]
async fn a_reference_to_a_table_of_a_later_plugin_is_made() {
    let database = TestDatabase::new().await;
    let folder = database.folder().to_owned();
    let mut first = plugin("a", None);
    let refers = json!({"name": "b", "type": "integer", "references": "b"});
    first["tables"][0]["columns"].as_array_mut().unwrap().push(refers);
    write(&folder, "a", &first);
    write(&folder, "b", &plugin("b", None));
    let site = Site::on(database).open().await;
    assert!(state(&site.cms, "a").problems.is_empty(), "{:?}", state(&site.cms, "a"));
    let post = |table: &str, body: Json| {
        site.admin(&format!("POST /api/backend/item?table={table}")).json(body)
    };
    post("a", json!({"b": 1})).refused(409, "conflict").await;
    post("b", json!({"a": "x"})).expect(201).await;
    post("a", json!({"b": 1})).expect(201).await;
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
    write(database.folder(), "a", &plugin("a", None));
    let site = Site::on(database).plugin(given(json!([["a"]]))).open().await;
    let diff = site.admin("GET /api/backend/plugins/diff").expect(200).await.data();
    let told: Vec<_> = diff.as_array().unwrap().iter().map(|one| &one["plugin"]).collect();
    assert_eq!(told, ["a", "g"], "{diff}");
    assert!(diff.as_array().unwrap().iter().all(|one| one["state"] == "current"), "{diff}");
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

/// A plugin of the program that keeps whoever loads it waiting.
struct Slow {
    waits: Arc<AtomicBool>,
    entered: Mutex<mpsc::Sender<()>>,
    goes_on: Mutex<mpsc::Receiver<()>>,
}

impl Plugin for Slow {
    fn manifest(&self) -> Manifest {
        serde_json::from_value(json!({"id": "slow"})).unwrap()
    }

    fn handlers(&self) -> Handlers {
        if self.waits.swap(false, Ordering::SeqCst) {
            self.entered.lock().unwrap().send(()).unwrap();
            self.goes_on.lock().unwrap().recv().unwrap();
        }
        Handlers::default()
    }
}

/// While a process takes plugins into service, it still learns what others commit.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_process_follows_others_while_it_takes_plugins_into_service() {
    let database = TestDatabase::new().await;
    let folder = database.folder().to_owned();
    write(&folder, "a", &plugin("a", None));
    let site = Site::on(database).open().await;
    let waits = Arc::new(AtomicBool::new(false));
    let ((enters, entered), (lets, goes_on)) = (mpsc::channel(), mpsc::channel());
    let slow = Slow { waits: waits.clone(), entered: enters.into(), goes_on: Mutex::new(goes_on) };
    let builder = Cms::builder(site.database.settings());
    let neighbour = builder.plugin(slow).open().await.unwrap();
    waits.store(true, Ordering::SeqCst);
    let busy = neighbour.clone();
    let loading = tokio::spawn(async move { busy.refresh_plugins().await });
    tokio::task::spawn_blocking(move || entered.recv().unwrap()).await.unwrap();
    let mut grown = plugin("a", None);
    let more = json!({"name": "more", "type": "text"});
    grown["tables"][0]["columns"].as_array_mut().unwrap().push(more);
    write(&folder, "a", &grown);
    site.cms.apply_plugins(None).await.unwrap();
    let before = neighbour.db().epochs().of("a");
    site.admin("POST /api/backend/item?table=a").json(json!({"more": "x"})).expect(201).await;
    let followed = async {
        while neighbour.db().epochs().of("a") == before {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let patience = Duration::from_secs(30);
    tokio::time::timeout(patience, followed).await.expect("it follows meanwhile");
    lets.send(()).unwrap();
    loading.await.unwrap().unwrap();
    let knows = || {
        let tables = neighbour.tables();
        tables.find("a").unwrap().columns.iter().any(|column| column.name == "more")
    };
    let known = async {
        while !knows() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(patience, known).await.expect("it takes the new declaration");
    neighbour.close().await;
}
