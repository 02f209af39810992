//! Names of plugins belong to the plugin that was in service first, permission keys among them:
//! what is in service stays, and nobody's rights move to a stranger's table.

use std::fs;

use serde_json::{Value as Json, json};

use crate::support::{Site, TestDatabase, each, plugins, until, with};

const APPLY: &str = "/api/backend/plugins/apply";
const PLUGINS: &str = "/api/backend/plugins";

/// The kinds of name that two plugins can share, beside tables.
const KINDS: [&str; 4] = ["event", "endpoint", "widget", "permission"];

/// A site with this plugin, and a record in the plugin's table.
async fn site_with(manifest: &Json) -> Site {
    let database = TestDatabase::new().await;
    database.write_plugin(manifest);
    let site = Site::on(database).open().await;
    post(&site, manifest["id"].as_str().unwrap()).await;
    site
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
        "tables": [plugins::table(&table(id), "salary integer")],
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

/// Takes what lies in the folder into service: in a process that runs on, or in a new one.
async fn load(site: Site, anew: bool) -> Site {
    if anew {
        return site.reopen().await;
    }
    site.post(APPLY, json!({})).await;
    site
}

async fn apply(site: &Site, id: &str) -> Json {
    site.post(APPLY, json!({"plugin": id})).await[0].clone()
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
    site.insert(&table(id), json!({"salary": 9000})).await;
}

async fn release(site: &Site, id: &str) -> Json {
    site.post(&format!("{PLUGINS}/release"), json!({"plugin": id})).await
}

async fn rights(site: &Site) -> Json {
    site.get("/api/backend/user_groups").await[0]["rights"].clone()
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
    let site = site_with(&plugin(owner, kinds)).await;
    let bob = site.person("bob", keys(&plugin(owner, kinds))).await;
    reaches(&site, &bob.token, owner, true).await;

    site.database.write_plugin(&plugin(newcomer, kinds));
    let site = load(site, anew).await;
    assert!(site.state(owner).problems.is_empty(), "{case}: {:?}", site.state(owner));
    let refused = site.state(newcomer);
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
    let site = Site::open().await;
    // Given before anybody has a button of that name.
    let bob = site.person("bob", json!(["a_b_c_view", "a_b_c_edit"])).await;
    for id in ["a", "a_b"] {
        site.database.write_plugin(&plugin(id, &["permission"]));
    }
    let site = site.reopen().await;
    for id in ["a", "a_b"] {
        let found = site.state(id);
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
    let site = site.reopen().await;
    assert!(site.state("a_b").problems.is_empty(), "{:?}", site.state("a_b"));
    assert!(site.state("a").manifest.is_none());
    reaches(&site, &bob.token, "a_b", true).await;
}

/// A plugin of the program is refused too, and the site opens.
#[tokio::test]
async fn the_program_takes_no_name_of_a_plugin_in_service() {
    for (owner, newcomer) in [("a", "a_b"), ("a_b", "a")] {
        let site = site_with(&plugin(owner, &KINDS)).await;
        let bob = site.person("bob", keys(&plugin(owner, &KINDS))).await;
        site.cms.close().await;
        let site = Site::on(site.database).plugin(plugin(newcomer, &KINDS)).open().await;
        let refused = site.state(newcomer);
        assert!(refused.manifest.is_none() && refused.problems.len() == 4, "{refused:?}");
        assert!(site.state(owner).problems.is_empty());
        reaches(&site, &bob.token, owner, true).await;
    }
}

/// A site from before names had owners.
#[tokio::test]
async fn names_of_what_is_installed_are_entered() {
    let site = site_with(&plugin("a_b", &KINDS)).await;
    let bob = site.person("bob", keys(&plugin("a_b", &KINDS))).await;
    site.cms.close().await;
    site.database.run("delete from cms_plugin_names").await;
    let before = r#"update cms_user_groups set rights = '["a_b_c_edit","a_b_c_view"]'"#;
    site.database.run(before).await;
    site.database.write_plugin(&plugin("a", &KINDS));
    let site = Site::on(site.database).open().await;
    assert!(site.state("a_b").problems.is_empty() && site.state("a").manifest.is_none());
    reaches(&site, &bob.token, "a_b", true).await;
    assert_eq!(rights(&site).await, json!(["a_b_c_edit", "a_b_c_view"]), "outwardly as before");
}

/// A name that a plugin declares no longer is still its own, until it is given up.
#[tokio::test]
async fn names_are_kept_and_given_up() {
    let site = site_with(&plugin("a_b", &KINDS)).await;
    let bob = site.person("bob", keys(&plugin("a_b", &KINDS))).await;
    site.database.write_plugin(&plugin("a_b", &[]));
    site.post(APPLY, json!({})).await;
    site.database.write_plugin(&plugin("a", &KINDS));
    assert_eq!(apply(&site, "a").await["state"], "refused");
    let free = release(&site, "a_b").await;
    let kinds = ["event", "endpoint", "endpoint", "widget", "permission", "permission"];
    assert_eq!(each(&free, "kind"), kinds, "{free}");
    let none = site.admin(&format!("POST {PLUGINS}/release")).json(json!({"plugin": "none"}));
    none.refused(404, "not_found").await;
    assert_eq!(apply(&site, "a").await["state"], "applied");
    post(&site, "a").await;
    reaches(&site, &bob.token, "a", false).await;
    // What bob held of a_b ended with it; administrators see that.
    assert_eq!(rights(&site).await, json!([]));
}

/// So is a name of a plugin that the program itself brings.
#[tokio::test]
async fn names_of_a_compiled_plugin_are_given_up_too() {
    let on = |database, kinds: &[&str]| Site::on(database).plugin(plugin("a_b", kinds)).open();
    let count = async |site: &Site| release(site, "a_b").await.as_array().unwrap().len();
    let site = on(TestDatabase::new().await, &KINDS).await;
    assert_eq!(count(&site).await, 0, "it declares them all");
    site.cms.close().await;
    let site = on(site.database, &[]).await;
    site.database.write_plugin(&plugin("a", &KINDS));
    assert_eq!(apply(&site, "a").await["state"], "refused");
    assert_eq!(count(&site).await, 6);
    assert_eq!(apply(&site, "a").await["state"], "applied");
    // Without it in the program nothing else would free the rest.
    site.cms.close().await;
    let site = Site::on(site.database).open().await;
    assert_eq!(count(&site).await, 7);
    let again = site.admin(&format!("POST {PLUGINS}/release")).json(json!({"plugin": "a_b"}));
    again.expect(404).await;
    site.cms.close().await;
}

/// The address of a record is part of an endpoint that reads a table.
#[tokio::test]
async fn nobody_takes_the_address_of_a_record() {
    let site = site_with(&plugin("a", &[])).await;
    let mut other = plugin("b", &[]);
    other["endpoints"][0]["endpoint"] = json!("a/list/1");
    let refused = refusals(&site, &other).await;
    assert!(refused[0].contains("/api/a/list/1 belongs to a already"), "{refused:?}");
    for free in ["a/list/mine", "a/other/1"] {
        other["endpoints"][0]["endpoint"] = json!(free);
        let refused = refusals(&site, &other).await;
        assert!(refused.is_empty(), "{free}: {refused:?}");
    }
    // Nor does who reads a table take an address that was there before.
    let mut third = plugin("c", &[]);
    third["endpoints"][0]["endpoint"] = json!("a/other");
    let refused = refusals(&site, &third).await;
    assert!(refused[0].contains("/api/a/other/1 belongs to b already"), "{refused:?}");
}

/// In databases of before nobody owns them: two plugins that were in service stay.
#[tokio::test]
async fn addresses_of_records_without_an_owner_take_nobody_out() {
    let mut other = plugin("b", &[]);
    other["endpoints"][0]["endpoint"] = json!("a/list/1");
    for in_folder in [false, true] {
        let database = TestDatabase::new().await;
        let site = Site::on(database).plugin(plugin("a", &[])).open().await;
        site.cms.close().await;
        let database = site.database;
        // As both were entered before.
        database.run("delete from cms_plugin_names where name like '/api/%{number}'").await;
        let entered = "insert into cms_plugin_names values ('endpoint', '/api/a/list/1', 'b', 1)";
        database.run(entered).await;
        let site = match in_folder {
            true => {
                database.write_plugin(&other);
                Site::on(database).plugin(plugin("a", &[]))
            }
            false => Site::on(database).plugin(other.clone()).plugin(plugin("a", &[])),
        };
        let site = site.open().await;
        let states = site.cms.plugins().states();
        assert!(states.iter().all(|state| state.problems.is_empty()), "{states:?}");
        let records = "cms_plugin_names where name = '/api/a/list/{number}' and plugin_id = 'a'";
        assert_eq!(site.database.rows(records).await, 1);
    }
}

/// Two that come together: the first by name gets what both declare.
#[tokio::test]
async fn of_two_newcomers_the_second_by_name_is_refused() {
    let site = Site::open().await;
    for id in ["a", "a_b"] {
        site.database.write_plugin(&plugin(id, &["event"]));
    }
    let diff = site.get(&format!("{PLUGINS}/diff")).await;
    assert_eq!(each(&diff, "state"), ["pending", "refused"], "{diff}");
    let done = site.post(APPLY, json!({})).await;
    assert_eq!(each(&done, "state"), ["applied", "refused"], "{done}");
}

/// Unless it names a table of the other one: then it comes after it.
#[tokio::test]
async fn of_two_newcomers_who_names_a_table_of_the_other_is_refused() {
    let site = Site::open().await;
    let mut first = plugin("a", &["event"]);
    let columns = format!("salary integer, other integer references={}", table("a_b"));
    first["tables"][0]["columns"] = plugins::columns(&columns);
    site.database.write_plugin(&first);
    site.database.write_plugin(&plugin("a_b", &["event"]));
    let found = cms_core::plugins::load_folder(&site.database.folder().join("plugins"), &[]);
    let names = cms_core::plugins::Names::default();
    let told: Vec<_> = found.iter().map(|one| names.problems_of(one, &found).len()).collect();
    assert_eq!(told, [1, 0], "as `plugins check` says");
    let done = site.post(APPLY, json!({})).await;
    assert_eq!(each(&done, "state"), ["refused", "applied"], "{done}");
}

/// Problems that `cms plugins apply` answers with.
async fn refusals(site: &Site, manifest: &Json) -> Vec<String> {
    site.database.write_plugin(manifest);
    let id = manifest["id"].as_str().unwrap();
    let difference = apply(site, id).await;
    let problems = difference["problems"].as_array().cloned().unwrap_or_default();
    problems.iter().map(|one| one["remedy"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn nobody_adopts_the_table_of_another_plugin() {
    let site = site_with(&plugin("a", &[])).await;
    for source in [table("a"), table("a").to_uppercase()] {
        let columns = plugins::columns("salary integer");
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
    let site = site_with(&plugin("a", &[])).await;
    let other = json!({"tables": [plugins::table("other", "salary integer")], "endpoints": []});
    site.database.write_plugin(&with(plugin("a", &[]), other));
    let diff = site.get(&format!("{PLUGINS}/diff")).await;
    let step = json!({"action": "leave_table", "table": "payroll_of_a", "columns": []});
    assert!(diff[0]["steps"].as_array().unwrap().contains(&step), "{diff}");
    let site = site.reopen().await;
    let told = site.admin(item).refused(404, "unknown_table").await;
    assert!(told.text().contains("its plugin a declares it no longer"), "{}", told.text());
    let shown = site.get(&format!("{PLUGINS}?id=a")).await;
    assert_eq!(shown["in_service"], true);
    let told = shown["problems"][0]["remedy"].as_str().unwrap();
    assert!(told.contains("payroll_of_a") && told.contains("cms plugins release a"), "{told}");
    // Another plugin cannot take it.
    let mut other = plugin("a_b", &[]);
    other["tables"][0]["name"] = json!("payroll_of_a");
    other["endpoints"] = json!([]);
    site.database.write_plugin(&other);
    let refused = apply(&site, "a_b").await;
    assert_eq!(refused["state"], "refused", "{refused}");
    let free = release(&site, "a").await;
    assert!(free.as_array().unwrap().contains(&json!({"kind": "table", "name": "payroll_of_a"})));
    assert_eq!(apply(&site, "a_b").await["state"], "applied");
    let rows = site.admin(item).expect(200).await.data();
    assert_eq!(rows, json!([{"id": 1, "salary": 9000}]), "it got the rows");
    let site = site.reopen().await;
    site.admin(item).expect(200).await;
}

/// Also by a process that has loaded the new declaration at its start, as `cms plugins diff` has.
#[tokio::test]
async fn a_table_that_vanishes_is_told_by_a_new_process() {
    let kept = plugins::table(&table("a"), "salary integer");
    let tables = json!({"tables": [kept, plugins::table("other", "salary integer")]});
    let site = site_with(&with(plugin("a", &[]), tables)).await;
    site.database.write_plugin(&plugin("a", &[]));
    let mut settings = site.database.settings();
    settings.migrate = false;
    let fresh = cms_core::Cms::open(settings).await.unwrap();
    let diff = fresh.plugin_differences(None).await.unwrap();
    fresh.close().await;
    let steps = serde_json::to_value(&diff[0].changes.steps).unwrap();
    assert_eq!(steps, json!([{"action": "leave_table", "table": "other", "columns": []}]));
}

/// A folder that is gone at a start and comes back later.
#[tokio::test]
async fn a_folder_that_comes_back_is_in_service_without_a_restart() {
    let item = "GET /api/backend/item?table=payroll_of_a";
    let site = site_with(&plugin("a", &[])).await;
    let folder = site.database.folder().join("plugins/a");
    let away = site.database.folder().join("away");
    fs::rename(&folder, &away).unwrap();
    let site = site.reopen().await;
    let told = site.admin(item).refused(404, "unknown_table").await;
    assert!(told.text().contains("its plugin a is not in service"), "{}", told.text());
    let told = site.state("a").problems[0].remedy.clone();
    assert!(told.contains("plugins/a is gone") && told.contains("plugins remove a"), "{told}");
    // Nobody else gets its names meanwhile.
    site.database.write_plugin(&plugin("a_b", &["event"]));
    let mut other = plugin("a_b", &[]);
    other["webhook_events"] = json!([{"name": "a.done"}]);
    site.database.write_plugin(&other);
    assert_eq!(apply(&site, "a_b").await["state"], "refused");
    fs::rename(&away, &folder).unwrap();
    until("it comes back", async || site.state("a").manifest.is_some()).await;
    site.admin(item).expect(200).await;
}

/// What only the engine can refuse: only this plugin is out of service, and commands that change
/// nothing open the site.
#[tokio::test]
async fn a_table_that_the_engine_refuses_closes_no_site() {
    let database = TestDatabase::new().await;
    // Somebody has an index of the name that this one would get.
    let index = json!(["orders", true, [["a", false]]]).to_string();
    let index = format!("orders_a_{}", &cms_core::crypto::sha256_hex(index.as_bytes())[..8]);
    database.run(format!("create table x (a integer); create index {index} on x (a)")).await;
    let mut shop = plugins::plugin("shop", [("orders", "a text unique")]);
    database.write_plugin(&shop);
    database.write_plugin(&plugin("a", &[]));
    let mut settings = database.settings();
    settings.migrate = false;
    let site = Site::on(database).open().await;
    let found = site.state("shop");
    let told = found.problems[0].to_string();
    assert!(told.contains("shop: the database refuses") && told.contains(&index), "{told}");
    assert!(found.manifest.is_none());
    assert!(!site.cms.db().table_names().await.unwrap().contains(&"orders".to_owned()));
    site.cms.close().await;
    let cms = cms_core::Cms::open(settings.clone()).await.unwrap();
    let states = cms.plugins().states();
    let found = states.iter().find(|state| state.id == "shop").unwrap();
    assert!(found.problems[0].remedy.contains("the database refuses"), "{found:?}");
    assert!(cms.tables().find("payroll_of_a").is_some());
    cms.close().await;
    // Other tables were not tried yet.
    shop["tables"][0]["columns"][0]["name"] = json!("b");
    site.database.write_plugin(&shop);
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
    let columns = (0..900).map(|n| format!("c{n} text")).collect::<Vec<_>>().join(", ");
    let declared = plugins::plugin("w", [("wide", &columns)]);
    let site = Site::builder().await.plugin(declared).open().await;
    let record = json!({"c0": "first", "c450": "}", "c899": "{last"});
    let made = site.insert("wide", record.clone()).await;
    assert_eq!(made.as_object().unwrap().len(), 901);
    assert_eq!(with(made.clone(), record), made);
    assert_eq!(made["c1"], Json::Null);
    assert_eq!(site.items("wide&id=1").await, made);
    assert_eq!(site.items("wide").await[0], made);
}
