//! `cms plugins`: from a new plugin to one that is applied, refused, removed and brought back.

use std::{fs, path::Path};

use serde_json::{Value as Json, json};

use crate::support::{Served, cms, cms_env, site};

fn manifest(dir: &Path, change: impl FnOnce(&mut Json)) {
    let file = dir.join("plugins/shop/plugin.json");
    let text = fs::read_to_string(&file).expect("a file");
    let mut manifest = serde_json::from_str(&text).expect("JSON");
    change(&mut manifest);
    fs::write(file, format!("{manifest:#}")).expect("written");
}

#[test]
fn a_plugin_is_made_checked_applied_and_removed() {
    let dir = site();
    let dir = dir.path();
    let folder = dir.join("plugins/shop");
    let folder = folder.to_str().expect("a path");
    let made = cms(dir, "plugins new shop");
    assert!(made.err.contains("plugins/shop/plugin.json") || made.out.contains("plugin.json"));
    cms(dir, "plugins new shop").fails(6);
    cms(dir, "plugins new Shop").fails(2);
    let schema = cms(dir, "plugins schema").ok();
    let written = fs::read_to_string(dir.join("plugins/plugin.schema.json")).expect("a file");
    assert_eq!(schema, written);
    cms(dir, &format!("plugins check {folder}")).ok();

    let diff = cms(dir, "plugins diff --json").json();
    let state = |list: &Json, id: &str| {
        let all = list["data"].as_array().expect("a list");
        all.iter().find(|one| one["plugin"] == id).expect(id)["state"].clone()
    };
    assert_eq!((state(&diff, "notes"), state(&diff, "shop")), (json!("current"), json!("pending")));
    cms(dir, "plugins apply").shows("create_table").shows("shop_items");
    cms(dir, "items create shop_items -").fails(1);
    let listed = cms(dir, "plugins list --json").json();
    let shop = listed["data"].as_array().expect("a list").iter().find(|one| one["id"] == "shop");
    assert_eq!(shop.expect("shop")["in_service"], true, "{listed}");
    assert!(cms(dir, "plugins show shop").ok().contains("shop_edit_edit"));
    cms(dir, "plugins show none").fails(5);

    cms(dir, "plugins remove shop").fails(2);
    cms(dir, "plugins remove shop --yes").ok();
    cms(dir, "plugins remove none --yes").fails(5);
    cms(dir, "items list shop_items").fails(5);
    let diff = cms(dir, "plugins diff --json").json();
    assert_eq!(state(&diff, "shop"), "removed");
    cms(dir, "plugins apply").ok();
    cms(dir, "items list shop_items").fails(5);
    cms(dir, "plugins apply shop").ok();
    cms(dir, "items list shop_items").ok();
}

/// Faults and losses: what is told, with which exit code, and what stays in service.
#[test]
fn a_refused_plugin_is_told_and_the_one_before_stays() {
    let dir = site();
    let dir = dir.path();
    cms(dir, "plugins new shop").ok();
    cms(dir, "plugins apply shop").ok();
    manifest(dir, |shop| shop["content_button"][0]["titel"] = json!("x"));
    let plugins = dir.join("plugins");
    let checked = cms(dir, &format!("plugins check {}", plugins.display())).fails(1);
    let line = checked.out.lines().next().unwrap_or_default().to_owned();
    assert!(line.contains("shop/plugin.json:") && line.contains("/content_button/0/titel: "));
    assert!(line.contains("did you mean \"title\"?"), "{line}");
    let found = cms(dir, &format!("plugins check {} --json", plugins.display()));
    let found: Json = serde_json::from_str(&found.fails(1).out).expect("JSON");
    assert_eq!(found["data"][1]["problems"][0]["pointer"], "/content_button/0/titel", "{found}");
    // One of two is refused; named alone, all are.
    cms(dir, "plugins apply").fails(8);
    cms(dir, "plugins apply shop").fails(6);
    cms(dir, "plugins apply shop --accept-loss shop_items.title").fails(1);
    cms(dir, &["plugins", "check", dir.join("data").to_str().expect("a path")]).fails(5);
    cms(dir, "plugins show shop").shows("titel");
    cms(dir, "items list shop_items").ok();
    manifest(dir, |shop| {
        shop["content_button"] = json!([]);
        shop["action_button"] = json!([]);
        shop["tables"][0]["columns"][0]["name"] = json!("name");
        shop["tables"][0]["columns"][0]["required"] = json!(false);
    });
    let lossy = cms(dir, "plugins diff shop").ok();
    let told = cms(dir, "plugins apply shop").fails(6);
    assert!(told.err.contains("title would be dropped"), "{told:?} {lossy}");
}

/// A running site takes up what is applied in another process.
#[test]
fn a_running_site_takes_up_what_is_applied() {
    let dir = site();
    let dir = dir.path();
    let served = Served::start(dir, &[]);
    cms(dir, "plugins new shop").ok();
    cms(dir, "plugins apply shop").ok();
    let made = cms(dir, "keys create -q --name k --right *").ok();
    let line = format!("--url {} items list shop_items", served.url);
    let list = || cms_env(dir, &line, &[("CMS_API_KEY", made.trim())]);
    let mut run = list();
    for _ in 0..50 {
        if run.code == 0 {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
        run = list();
    }
    run.ok();
}

#[test]
fn a_slow_list_is_logged_with_the_index_to_declare() {
    let dir = site();
    let dir = dir.path();
    let rows: String =
        (0..20_000).map(|n| format!("{{\"text\":\"{}\"}}\n", n * 7919 % 20_011)).collect();
    let file = dir.join("rows.jsonl");
    fs::write(&file, rows).expect("a file");
    cms(dir, &format!("items import notes {}", file.display())).ok();
    for (slow_ms, told) in [("1", true), ("0", false), ("600000", false)] {
        let list = "items list notes --sort=-text --limit 1";
        let run = cms_env(dir, list, &[("CMS_SLOW_MS", slow_ms)]);
        assert_eq!(run.code, 0, "{run:?}");
        let line = "slow list: declare the index [\"-text\"] of notes";
        assert_eq!(run.err.contains(line), told, "{slow_ms}: {run:?}");
    }
}

/// `check` asks the site that it is run in: a name of a plugin in service is not free.
#[test]
fn names_of_plugins_in_service_are_found_by_check() {
    let dir = site();
    let dir = dir.path();
    cms(dir, "plugins new shop").ok();
    cms(dir, "plugins apply shop").ok();
    let folder = dir.join("elsewhere/aaa");
    fs::create_dir_all(&folder).expect("a folder");
    let columns = json!([{"name": "title", "type": "text"}]);
    let text = json!({"id": "aaa", "tables": [{"name": "shop_items", "columns": columns}]});
    fs::write(folder.join("plugin.json"), format!("{text:#}")).expect("written");
    let folder = folder.to_str().expect("a path");
    let told = cms(dir, &format!("plugins check {folder}")).fails(1);
    let both = "shop_items already belongs to shop, so aaa is refused";
    assert!(told.out.contains("/tables/0/name: ") && told.out.contains(both), "{told:?}");
    cms(dir, "plugins release shop").fails(2);
    cms(dir, "plugins release shop --yes").ok();
    cms(dir, &format!("plugins check {folder}")).fails(1);
    cms(dir, "plugins remove shop --yes").ok();
    cms(dir, "plugins release shop --yes").shows("table").shows("shop_items");
    cms(dir, &format!("plugins check {folder}")).ok();
}

/// It knows the tables of that site too, wherever the folder lies.
#[test]
fn tables_in_service_are_known_to_check() {
    let dir = site();
    let dir = dir.path();
    let folder = dir.join("elsewhere/aaa");
    fs::create_dir_all(&folder).expect("a folder");
    let check = |target: &str| {
        let columns = json!([{"name": "note", "type": "integer", "references": target}]);
        let text = json!({"id": "aaa", "tables": [{"name": "aaa_items", "columns": columns}]});
        fs::write(folder.join("plugin.json"), text.to_string()).expect("written");
        cms(dir, &format!("plugins check {}", folder.display()))
    };
    check("notes").ok();
    let told = check("nowhere").fails(1);
    assert!(told.out.contains("there is no content table \"nowhere\""), "{told:?}");
}

/// Of new plugins the first by name gets what several declare, but no key that two could mean.
#[test]
fn check_blames_the_plugin_that_would_be_refused() {
    let dir = site();
    let dir = dir.path();
    let plugins = dir.join("elsewhere");
    let check = |id: &str, member: &str, value: Json| {
        let folder = plugins.join(id);
        fs::create_dir_all(&folder).expect("a folder");
        let text = json!({"id": id, member: value}).to_string();
        fs::write(folder.join("plugin.json"), text).expect("written");
        cms(dir, &format!("plugins check {}", plugins.display()))
    };
    check("pa", "webhook_events", json!([{"name": "x.y"}])).ok();
    let told = check("pb", "webhook_events", json!([{"name": "x.y"}])).fails(1);
    assert!(told.out.contains("pa already, so pb is refused"), "{told:?}");
    assert_eq!(told.out.lines().count(), 1, "{told:?}");
    check("pb", "webhook_events", json!([])).ok();
    let button = |id: &str| json!([{"button_id": id, "type": "link", "url": "/x"}]);
    check("a", "content_button", button("b_c")).ok();
    let told = check("a_b", "content_button", button("c")).fails(1);
    assert_eq!(told.out.matches("could mean a button of a or of a_b").count(), 2, "{told:?}");
}

/// A new plugin lies where the site looks for plugins.
#[test]
fn a_new_plugin_lies_in_the_folder_of_plugins() {
    let dir = site();
    let dir = dir.path();
    let made = cms_env(dir, "plugins new shop", &[("CMS_DIRS__PLUGINS", "ext")]);
    assert_eq!(made.code, 0, "{made:?}");
    assert!(dir.join("ext/shop/plugin.json").is_file() && !dir.join("plugins/shop").exists());
}
