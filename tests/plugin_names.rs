//! Names of plugins belong to the plugin that was in service first, permission keys among them:
//! what is in service stays, and nobody's rights move to a stranger's table.

use std::fs;

use cms_core::plugins::PluginState;
use serde_json::{Value as Json, json};

use crate::support::{Site, TestDatabase};

const APPLY: &str = "POST /api/backend/plugins/apply";
const PLUGINS: &str = "/api/backend/plugins";

/// The kinds of name that two plugins can share, beside tables.
const KINDS: [&str; 4] = ["event", "endpoint", "widget", "permission"];

fn write(database: &TestDatabase, manifest: &Json) {
    let id = manifest["id"].as_str().unwrap();
    let folder = database.folder().join("plugins").join(id);
    for widget in manifest["pagebuilder_widgets"].as_array().into_iter().flatten() {
        let own = folder.join("widgets").join(widget["widget_template"].as_str().unwrap());
        fs::create_dir_all(&own).unwrap();
        fs::write(own.join("w.svg"), "<svg/>").unwrap();
    }
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("plugin.json"), manifest.to_string()).unwrap();
}

/// A plugin `a` or `a_b` with a table of its own. It shares names of `kinds` with the other one:
/// `a_b_c_edit` is the key of the button `b_c` of `a`, and of the button `c` of `a_b`.
fn plugin(id: &str, kinds: &[&str]) -> Json {
    let name = |kind: &str, shared: &str, own: String| {
        if kinds.contains(&kind) { shared.to_owned() } else { own }
    };
    let shared = if id == "a" { "b_c" } else { "c" };
    let widget = json!({
        "widget_title": "Pay", "widget_icon": "w.svg",
        "widget_template": name("widget", "payslip", format!("{id}_slip")),
        "widget_menu": [{"row": "title", "type": "text"}],
    });
    json!({
        "id": id,
        "tables": [{"name": table(id), "columns": [{"name": "salary", "type": "integer"}]}],
        "content_button": [{
            "button_id": name("permission", shared, "own".to_owned()), "type": "edit",
            "editable_rows": [{"column": "salary", "type": "number"}],
        }],
        "webhook_events": [{"name": name("event", "pay.done", format!("{id}.done"))}],
        "endpoints": [{
            "modelPath": table(id), "endpoint": name("endpoint", "pay/list", format!("{id}/list")),
        }],
        "pagebuilder_widgets": [widget],
    })
}

fn table(id: &str) -> String {
    format!("payroll_of_{id}")
}

/// The permission keys of a plugin's button.
fn keys(manifest: &Json) -> Json {
    let id = manifest["id"].as_str().unwrap();
    let button = manifest["content_button"][0]["button_id"].as_str().unwrap();
    json!([format!("{id}_{button}_view"), format!("{id}_{button}_edit")])
}

fn state(site: &Site, id: &str) -> PluginState {
    site.cms.plugins().states().iter().find(|state| state.id == id).unwrap().clone()
}

async fn reopen(site: Site) -> Site {
    site.cms.close().await;
    Site::on(site.database).open().await
}

/// Takes what lies in the folder into service: in a process that runs on, or in a new one.
async fn load(site: Site, anew: bool) -> Site {
    if anew {
        return reopen(site).await;
    }
    site.admin(APPLY).json(json!({})).expect(200).await;
    site
}

async fn apply(site: &Site, id: &str) -> Json {
    site.admin(APPLY).json(json!({"plugin": id})).expect(200).await.data()[0].clone()
}

async fn remove(site: &Site, id: &str) {
    let remove = site.admin(&format!("POST {PLUGINS}/remove"));
    remove.json(json!({"plugin": id})).expect(204).await;
}

/// Whether a user reads, changes and deletes rows of a plugin's table: all, or nothing.
async fn reaches(site: &Site, token: &str, id: &str, expected: bool) {
    let line = format!("/api/backend/item?table={}", table(id));
    let reads = site.ask(&format!("GET {line}")).bearer(token).send().await;
    let change = site.ask(&format!("PATCH {line}&id=1")).bearer(token).json(json!({"salary": 1}));
    let change = change.send().await;
    let delete = site.ask(&format!("DELETE {line}&id=1")).bearer(token).send().await;
    let found = (reads.status.as_u16(), change.status.as_u16(), delete.status.as_u16());
    // No button deletes.
    assert_eq!(found, if expected { (200, 200, 403) } else { (403, 403, 403) }, "{id}");
}

async fn post(site: &Site, id: &str) {
    let line = format!("POST /api/backend/item?table={}", table(id));
    site.admin(&line).json(json!({"salary": 9000})).expect(201).await;
}

/// All pairs of kinds, in both orders of the alphabet, one of them met by a new process and the
/// other by one that runs on: what is in service stays, the newcomer is refused with both ids, and
/// rights that were given before or after open no table of the newcomer.
#[tokio::test]
async fn what_is_in_service_stays_whatever_comes() {
    for (i, first) in KINDS.iter().enumerate() {
        for (j, second) in KINDS.iter().enumerate().skip(i) {
            let anew = (i + j) % 2 == 0;
            stays(&[first, second], ("a", "a_b"), anew).await;
            stays(&[first, second], ("a_b", "a"), !anew).await;
        }
    }
}

async fn stays(kinds: &[&str], (owner, newcomer): (&str, &str), anew: bool) {
    let case = format!("{kinds:?}: {owner} before {newcomer}, anew: {anew}");
    let database = TestDatabase::new().await;
    write(&database, &plugin(owner, kinds));
    let site = Site::on(database).open().await;
    post(&site, owner).await;
    let bob = site.person("bob", keys(&plugin(owner, kinds))).await;
    reaches(&site, &bob.token, owner, true).await;

    write(&site.database, &plugin(newcomer, kinds));
    let site = load(site, anew).await;
    assert!(state(&site, owner).problems.is_empty(), "{case}: {:?}", state(&site, owner));
    let refused = state(&site, newcomer);
    assert!(refused.manifest.is_none() && !refused.problems.is_empty(), "{case}: {refused:?}");
    let both = format!("{owner} already, so {newcomer} is refused");
    for problem in &refused.problems {
        let told = problem.remedy.contains(&both) && problem.line.is_some();
        assert!(told || problem.remedy.contains(&format!("a button of {both}")), "{problem}");
    }
    let diff = site.admin(&format!("GET {PLUGINS}/diff?plugin={newcomer}")).expect(200).await;
    assert_eq!(diff.data()[0]["state"], "refused", "{case}");
    assert!(diff.text().contains(&both), "{case}: {}", diff.text());
    let shown = site.admin(&format!("GET {PLUGINS}?id={newcomer}")).expect(200).await;
    assert!(shown.text().contains(&both), "{case}: {}", shown.text());
    reaches(&site, &bob.token, owner, true).await;

    // On purpose the names go to the other; what bob holds does not.
    remove(&site, owner).await;
    assert_eq!(apply(&site, newcomer).await["state"], "applied", "{case}");
    post(&site, newcomer).await;
    reaches(&site, &bob.token, newcomer, false).await;
    let site = load(site, anew).await;
    reaches(&site, &bob.token, newcomer, false).await;
    let carl = site.person("carl", keys(&plugin(newcomer, kinds))).await;
    reaches(&site, &carl.token, newcomer, true).await;
    assert_eq!(apply(&site, owner).await["state"], "refused", "{case}");
    reaches(&site, &carl.token, newcomer, true).await;
}

/// Two that come together: a key that could mean either is refused for both, until one of them is
/// chosen by name.
#[tokio::test]
async fn a_key_that_two_newcomers_could_mean_is_refused_for_both() {
    let database = TestDatabase::new().await;
    let site = Site::on(database).open().await;
    // Given before anybody has a button of that name.
    let bob = site.person("bob", json!(["a_b_c_view", "a_b_c_edit"])).await;
    for id in ["a", "a_b"] {
        write(&site.database, &plugin(id, &["permission"]));
    }
    let site = reopen(site).await;
    for id in ["a", "a_b"] {
        let found = state(&site, id);
        let told = &found.problems[0].remedy;
        assert!(found.manifest.is_none(), "{found:?}");
        assert!(told.contains("a_b_c_edit could mean a button of a or of a_b"), "{told}");
        site.ask(&format!("GET /api/backend/item?table={}", table(id)))
            .bearer(&bob.token)
            .refused(403, "permission_denied")
            .await;
    }
    assert_eq!(apply(&site, "a_b").await["state"], "applied");
    post(&site, "a_b").await;
    reaches(&site, &bob.token, "a_b", true).await;
    let site = reopen(site).await;
    assert!(state(&site, "a_b").problems.is_empty(), "{:?}", state(&site, "a_b"));
    assert!(state(&site, "a").manifest.is_none());
    reaches(&site, &bob.token, "a_b", true).await;
}

/// A plugin of the program is refused too, and the site opens.
#[tokio::test]
async fn the_program_takes_no_name_of_a_plugin_in_service() {
    for (owner, newcomer) in [("a", "a_b"), ("a_b", "a")] {
        let database = TestDatabase::new().await;
        write(&database, &plugin(owner, &KINDS));
        let site = Site::on(database).open().await;
        let bob = site.person("bob", keys(&plugin(owner, &KINDS))).await;
        post(&site, owner).await;
        site.cms.close().await;
        let site = Site::on(site.database).plugin(plugin(newcomer, &KINDS)).open().await;
        let refused = state(&site, newcomer);
        assert!(refused.manifest.is_none() && refused.problems.len() == 4, "{refused:?}");
        assert!(state(&site, owner).problems.is_empty());
        reaches(&site, &bob.token, owner, true).await;
    }
}

/// A site from before names had owners.
#[tokio::test]
async fn names_of_what_is_installed_are_entered() {
    let database = TestDatabase::new().await;
    write(&database, &plugin("a_b", &KINDS));
    let site = Site::on(database).open().await;
    let bob = site.person("bob", keys(&plugin("a_b", &KINDS))).await;
    post(&site, "a_b").await;
    site.cms.close().await;
    site.database.run("delete from cms_plugin_names".to_owned()).await;
    let before = r#"update cms_user_groups set rights = '["a_b_c_edit","a_b_c_view"]'"#;
    site.database.run(before.to_owned()).await;
    write(&site.database, &plugin("a", &KINDS));
    let site = Site::on(site.database).open().await;
    assert!(state(&site, "a_b").problems.is_empty() && state(&site, "a").manifest.is_none());
    reaches(&site, &bob.token, "a_b", true).await;
    let group = site.admin("GET /api/backend/user_groups").expect(200).await.data();
    assert_eq!(group[0]["rights"], json!(["a_b_c_edit", "a_b_c_view"]), "outwardly as before");
}

/// A name that a plugin declares no longer is still its own, until it is given up.
#[tokio::test]
async fn names_are_kept_and_given_up() {
    let database = TestDatabase::new().await;
    write(&database, &plugin("a_b", &KINDS));
    let site = Site::on(database).open().await;
    let bob = site.person("bob", keys(&plugin("a_b", &KINDS))).await;
    post(&site, "a_b").await;
    write(&site.database, &plugin("a_b", &[]));
    site.admin(APPLY).json(json!({})).expect(200).await;
    write(&site.database, &plugin("a", &KINDS));
    assert_eq!(apply(&site, "a").await["state"], "refused");
    let release = |id: &str| {
        let release = site.admin(&format!("POST {PLUGINS}/release"));
        release.json(json!({"plugin": id}))
    };
    let free = release("a_b").expect(200).await.data();
    let kinds: Vec<_> = free.as_array().unwrap().iter().map(|one| one["kind"].clone()).collect();
    assert_eq!(kinds, ["event", "endpoint", "widget", "permission", "permission"], "{free}");
    release("none").refused(404, "not_found").await;
    assert_eq!(apply(&site, "a").await["state"], "applied");
    post(&site, "a").await;
    reaches(&site, &bob.token, "a", false).await;
    // What bob held of a_b ended with it; administrators see that.
    let group = site.admin("GET /api/backend/user_groups").expect(200).await.data();
    assert_eq!(group[0]["rights"], json!([]), "{group}");
}

/// So is a name of a plugin that the program itself brings.
#[tokio::test]
async fn names_of_a_compiled_plugin_are_given_up_too() {
    let on = |database, kinds: &[&str]| {
        Site::on(database).plugin(serde_json::from_value(plugin("a_b", kinds)).unwrap()).open()
    };
    let site = on(TestDatabase::new().await, &KINDS).await;
    let release = async |site: &Site, status| {
        let release = site.admin(&format!("POST {PLUGINS}/release"));
        release.json(json!({"plugin": "a_b"})).expect(status).await.json()
    };
    assert_eq!(release(&site, 200).await["data"], json!([]), "it declares them all");
    site.cms.close().await;
    let site = on(site.database, &[]).await;
    write(&site.database, &plugin("a", &KINDS));
    assert_eq!(apply(&site, "a").await["state"], "refused");
    assert_eq!(release(&site, 200).await["data"].as_array().unwrap().len(), 5);
    assert_eq!(apply(&site, "a").await["state"], "applied");
    // Without it in the program nothing else would free the rest.
    site.cms.close().await;
    let site = Site::on(site.database).open().await;
    assert_eq!(release(&site, 200).await["data"].as_array().unwrap().len(), 6);
    release(&site, 404).await;
    site.cms.close().await;
}

/// Problems that `cms plugins apply` answers with.
async fn refusals(site: &Site, manifest: &Json) -> Vec<String> {
    write(&site.database, manifest);
    let id = manifest["id"].as_str().unwrap();
    let difference = apply(site, id).await;
    let problems = difference["problems"].as_array().cloned().unwrap_or_default();
    problems.iter().map(|one| one["remedy"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn nobody_adopts_the_table_of_another_plugin() {
    let site = Site::open().await;
    write(&site.database, &plugin("a", &[]));
    let site = reopen(site).await;
    for source in [table("a"), table("a").to_uppercase()] {
        let columns = json!([{"name": "salary", "type": "integer"}]);
        let adopted = json!({"name": "b_pay", "adopt": true, "source": source, "columns": columns});
        let refused = refusals(&site, &json!({"id": "b", "tables": [adopted]})).await;
        assert!(refused.iter().any(|one| one.contains("belongs to a,")), "{source}: {refused:?}");
    }
}

#[tokio::test]
async fn passwords_stay_sealed_also_after_a_declaration_without_them() {
    let site = Site::open().await;
    let fields = |kind: Option<&str>| {
        let title = json!({"row": "title", "type": "text"});
        let secret = kind.map(|kind| json!({"row": "secret", "type": kind}));
        let menu: Vec<_> = [Some(title), secret].into_iter().flatten().collect();
        let widget = json!({
            "widget_title": "Slip", "widget_icon": "w.svg", "widget_template": "slip",
            "widget_menu": menu,
        });
        json!({"id": "c", "pagebuilder_widgets": [widget]})
    };
    for kind in [Some("password"), None] {
        assert!(refusals(&site, &fields(kind)).await.is_empty());
    }
    let refused = refusals(&site, &fields(Some("text"))).await;
    assert!(refused.iter().any(|one| one.contains("has held passwords")), "{refused:?}");
    assert!(refusals(&site, &fields(Some("password"))).await.is_empty());
}

/// A table that its plugin declares no longer: told everywhere, and given up on purpose only.
#[tokio::test]
async fn a_table_that_vanishes_is_told() {
    let item = "GET /api/backend/item?table=payroll_of_a";
    let database = TestDatabase::new().await;
    write(&database, &plugin("a", &[]));
    let site = Site::on(database).open().await;
    post(&site, "a").await;
    let mut less = plugin("a", &[]);
    less["tables"] = json!([{"name": "other", "columns": [{"name": "salary", "type": "integer"}]}]);
    less["endpoints"] = json!([]);
    write(&site.database, &less);
    let diff = site.admin(&format!("GET {PLUGINS}/diff")).expect(200).await.data();
    let step = json!({"action": "leave_table", "table": "payroll_of_a", "columns": []});
    assert!(diff[0]["steps"].as_array().unwrap().contains(&step), "{diff}");
    let site = reopen(site).await;
    let told = site.admin(item).refused(404, "unknown_table").await;
    assert!(told.text().contains("its plugin a declares it no longer"), "{}", told.text());
    let shown = site.admin(&format!("GET {PLUGINS}?id=a")).expect(200).await.data();
    assert_eq!(shown["in_service"], true);
    let told = shown["problems"][0]["remedy"].as_str().unwrap();
    assert!(told.contains("payroll_of_a") && told.contains("cms plugins release a"), "{told}");
    // Another plugin cannot take it.
    let mut other = plugin("a_b", &[]);
    other["tables"][0]["name"] = json!("payroll_of_a");
    other["endpoints"] = json!([]);
    write(&site.database, &other);
    let refused = apply(&site, "a_b").await;
    assert_eq!(refused["state"], "refused", "{refused}");
    let release = site.admin(&format!("POST {PLUGINS}/release")).json(json!({"plugin": "a"}));
    let free = release.expect(200).await.data();
    assert!(free.as_array().unwrap().contains(&json!({"kind": "table", "name": "payroll_of_a"})));
    assert_eq!(apply(&site, "a_b").await["state"], "applied");
    let rows = site.admin(item).expect(200).await.data();
    assert_eq!(rows, json!([{"id": 1, "salary": 9000}]), "it got the rows");
    let site = reopen(site).await;
    site.admin(item).expect(200).await;
}

/// A folder that is gone at a start and comes back later.
#[tokio::test]
async fn a_folder_that_comes_back_is_in_service_without_a_restart() {
    let item = "GET /api/backend/item?table=payroll_of_a";
    let database = TestDatabase::new().await;
    write(&database, &plugin("a", &[]));
    let site = Site::on(database).open().await;
    post(&site, "a").await;
    let folder = site.database.folder().join("plugins/a");
    let away = site.database.folder().join("away");
    fs::rename(&folder, &away).unwrap();
    let site = reopen(site).await;
    let told = site.admin(item).refused(404, "unknown_table").await;
    assert!(told.text().contains("its plugin a is not in service"), "{}", told.text());
    let told = state(&site, "a").problems[0].remedy.clone();
    assert!(told.contains("plugins/a is gone") && told.contains("plugins remove a"), "{told}");
    // Nobody else gets its names meanwhile.
    write(&site.database, &plugin("a_b", &["event"]));
    let mut other = plugin("a_b", &[]);
    other["webhook_events"] = json!([{"name": "a.done"}]);
    write(&site.database, &other);
    assert_eq!(apply(&site, "a_b").await["state"], "refused");
    fs::rename(&away, &folder).unwrap();
    let back = async {
        while state(&site, "a").manifest.is_none() {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(30), back).await.expect("it comes back");
    site.admin(item).expect(200).await;
}

/// What only the engine can refuse: only this plugin is out of service, and commands that change
/// nothing open the site.
#[tokio::test]
async fn a_table_that_the_engine_refuses_closes_no_site() {
    let database = TestDatabase::new().await;
    // An index of that name is there already.
    let index = json!(["orders", true, [["a", false]]]).to_string();
    let index = format!("orders_a_{}", &cms_core::crypto::sha256_hex(index.as_bytes())[..8]);
    database.run(format!("create table x (a integer); create index {index} on x (a)")).await;
    let columns = json!([{"name": "a", "type": "text", "unique": true}]);
    let mut shop = json!({"id": "shop", "tables": [{"name": "orders", "columns": columns}]});
    write(&database, &shop);
    write(&database, &plugin("a", &[]));
    let mut settings = database.settings();
    settings.migrate = false;
    let site = Site::on(database).open().await;
    assert!(state(&site, "shop").manifest.is_none());
    site.cms.close().await;
    let cms = cms_core::Cms::open(settings.clone()).await.unwrap();
    let states = cms.plugins().states();
    let found = states.iter().find(|state| state.id == "shop").unwrap();
    assert!(found.problems[0].remedy.contains("the database refuses"), "{found:?}");
    assert!(cms.tables().find("payroll_of_a").is_some());
    cms.close().await;
    // Other tables were not tried yet.
    shop["tables"][0]["columns"][0]["name"] = json!("b");
    write(&site.database, &shop);
    assert!(cms_core::Cms::open(settings).await.err().unwrap().is_outdated());
}

/// More columns than an engine takes, and ids that read like an area of the service.
#[test]
fn what_no_engine_takes_is_found_before_it_is_tried() {
    let faults = |manifest: Json| {
        let found = cms_core::plugins::check_text(manifest.to_string().as_bytes());
        found.map_or_else(|problems| problems[0].to_string(), |_| String::new())
    };
    let columns = |count: usize| {
        let columns = (0..count).map(|n| json!({"name": format!("c{n}"), "type": "text"}));
        json!({"id": "wide", "tables": [{"name": "wide", "columns": columns.collect::<Json>()}]})
    };
    assert!(faults(columns(2_500)).contains("2500 columns are more than a table can have (1590)"));
    assert_eq!(faults(columns(1_590)), "");
    for area in cms_core::access::AREAS {
        assert!(faults(json!({"id": area})).contains("part of the service"), "{area}");
    }
}

/// A record has as many columns as the table, on SQLite too.
#[tokio::test]
async fn a_table_may_be_wide() {
    let columns: Vec<_> =
        (0..900).map(|n| json!({"name": format!("c{n}"), "type": "text"})).collect();
    let table = json!({"name": "wide", "columns": columns});
    let site = Site::builder().await.plugin(json!({"id": "w", "tables": [table]})).open().await;
    let record = json!({"c0": "first", "c450": "}", "c899": "{last"});
    let made = site.admin("POST /api/backend/item?table=wide").json(record).expect(201).await;
    let read = site.admin("GET /api/backend/item?table=wide&id=1").expect(200).await.data();
    assert_eq!(read.as_object().unwrap().len(), 901);
    assert_eq!(
        (&read["c0"], &read["c450"], &read["c899"], &read["c1"]),
        (&json!("first"), &json!("}"), &json!("{last"), &Json::Null)
    );
    assert_eq!(made.data(), read);
    let list = site.admin("GET /api/backend/item?table=wide").expect(200).await.data();
    assert_eq!(list[0], read);
}
