//! `/api/backend/actions/script`: files that an interpreter runs, and handlers.

mod confined;
mod faults;
mod handlers;
mod paths;

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use cms_core::settings::Settings;
use serde_json::{Value as Json, json};

use crate::support::{Site, TestDatabase, until};

/// Whether PHP is there; the test says so when it is not.
fn has_php() -> bool {
    let found = Command::new("php").arg("--version").output().is_ok();
    if !found {
        println!("skipped: php is not installed (Debian's package php-cli)");
    }
    found
}

/// A site whose plugin `shop` has a button for each script: its id, and the text of the file
/// `{id}.php`.
async fn site(scripts: &[(&str, &str)], change: impl FnOnce(&mut Settings)) -> Site {
    let database = TestDatabase::new().await;
    let manifest = shop(&database, scripts);
    Site::on(database).settings(change).plugin(manifest).open().await
}

/// Writes the scripts, and returns the plugin's manifest.
fn shop(database: &TestDatabase, scripts: &[(&str, &str)]) -> Json {
    let folder = folder(database);
    std::fs::create_dir_all(&folder).unwrap();
    for (id, text) in scripts {
        std::fs::write(folder.join(format!("{id}.php")), text).unwrap();
    }
    let button =
        |id: &str| json!({"button_id": id, "type": "script", "script": format!("{id}.php")});
    let buttons: Vec<_> = scripts.iter().map(|(id, _)| button(id)).collect();
    json!({"id": "shop", "action_button": buttons})
}

fn folder(database: &TestDatabase) -> PathBuf {
    database.folder().join("plugins/shop/script")
}

fn press(button: &str) -> Json {
    json!({"plugin": "shop", "button_id": button})
}

const RUN: &str = "POST /api/backend/actions/script";

/// The processes that work in a folder or below: scripts run in their own.
fn processes_in(folder: &Path) -> Vec<String> {
    let folder = std::fs::canonicalize(folder).unwrap();
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let inside = all.filter(|process| {
        std::fs::read_link(process.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(&folder))
    });
    inside.map(|process| process.file_name().to_string_lossy().into_owned()).collect()
}

/// Waits until nothing runs in the folder any more.
async fn nothing_is_left(folder: &Path) {
    until("no process is left", async || processes_in(folder).is_empty()).await;
}

/// Waits until so many processes run in the folder.
async fn begun(folder: &Path, processes: usize) {
    until("they run", async || processes_in(folder).len() >= processes).await;
}

#[tokio::test]
async fn what_is_sent_arrives_and_the_output_is_the_reply_byte_for_byte() {
    if !has_php() {
        return;
    }
    let echo = "<?php $given = json_decode(file_get_contents('php://stdin'), true);\n\
                $given['env'] = getenv(); $given['cwd'] = basename(getcwd());\n\
                echo \" {\\n\\\"x\\\" : 1.0, \\\"é\\\": \\\"\\u{2028}\\\", \\\"given\\\" :  \",\n\
                json_encode($given), \"}\\n\\n\";";
    let site = site(&[("echo", echo)], |_| {}).await;
    let given = |reply: &str| {
        let start = " {\n\"x\" : 1.0, \"é\": \"\u{2028}\", \"given\" :  ";
        let rest = reply.strip_prefix(start).unwrap_or_else(|| panic!("{reply:?}"));
        let json = rest.strip_suffix("}\n\n").unwrap_or_else(|| panic!("{reply:?}"));
        serde_json::from_str::<Json>(json).unwrap()
    };
    for (id, url_rewrite, data) in [
        (json!(7), json!("a/b"), json!({"list": [1, "zwei", null], "deep": {"a": {}}})),
        (json!(["a", 2]), json!(null), json!("text")),
        (json!(null), json!(""), json!(null)),
    ] {
        let body = json!({
            "plugin": "shop", "button_id": "echo", "id": id, "url_rewrite": url_rewrite,
            "data": data,
        });
        let reply = site.admin(RUN).json(body).expect(200).await;
        assert_eq!(reply.header("content-type"), "application/json");
        let expected = json!({
            // PHP knows one kind of empty list.
            "id": id, "url_rewrite": url_rewrite, "data": data, "env": [], "cwd": "script",
        });
        let expected = expected.to_string().replace("{\"a\":{}}", "{\"a\":[]}");
        assert_eq!(given(&reply.text()), serde_json::from_str::<Json>(&expected).unwrap());
    }
    let bare = site.admin(RUN).json(press("echo")).expect(200).await;
    assert_eq!(given(&bare.text())["id"], Json::Null);
    let audits = "cms_audit where action = 'run' and row_id = 'shop/echo'";
    assert_eq!(site.database.rows(audits).await, 4);
    nothing_is_left(&folder(&site.database)).await;
}

/// `cat` prints the script.
fn printed(settings: &mut Settings) {
    settings.scripts.interpreter = "cat".to_owned();
}

#[tokio::test]
async fn a_script_is_for_those_who_hold_its_button() {
    let site = site(&[("a", "{\"a\": 1}"), ("b", "[]")], printed).await;
    let ana = site.person("ana", json!(["shop_a_edit", "shop_b_view"])).await;
    let key = site.key(&["POST /api/backend/actions/script"]).await;
    let bound = site.key(&["POST /api/backend/actions/script?button_id=a"]).await;
    let reply = site.ask(RUN).bearer(&ana.token).json(press("a")).expect(200).await;
    assert_eq!(reply.text(), "{\"a\": 1}");
    for body in [press("b"), press("none"), json!({"plugin": "shop"}), json!({})] {
        site.ask(RUN).bearer(&ana.token).json(body).refused(403, "permission_denied").await;
    }
    site.ask(RUN).json(press("a")).refused(401, "login_required").await;
    let other = site.key(&["GET /api/pages"]).await;
    site.ask(RUN).key(&other).json(press("a")).refused(401, "api_key_forbidden").await;
    site.ask(RUN).key(&key).json(press("b")).expect(200).await;
    site.ask(RUN).key(&bound).json(press("a")).refused(401, "api_key_forbidden").await;
    let with_query = format!("{RUN}?button_id=a");
    site.ask(&with_query).key(&bound).json(press("a")).expect(200).await;
    site.ask(&with_query).key(&bound).json(press("b")).refused(400, "bad_query").await;
    for body in [press("none"), json!({"plugin": "none", "button_id": "a"})] {
        site.admin(RUN).json(body).refused(404, "not_found").await;
    }
    // Whoever may press a button cannot make a key that presses all of them.
    let may = site.person("keys", json!(["shop_a_edit", "keys_keys_edit", "keys_keys_view"])).await;
    let body = json!({"name": "x", "rights": [
        {"endpoint": "/api/backend/actions/script", "methods": ["POST"]},
    ]});
    let ask = site.ask("POST /api/backend/keys").bearer(&may.token).json(body);
    ask.refused(403, "permission_denied").await;
}

#[tokio::test]
async fn a_body_that_does_not_fit_is_refused() {
    let site = site(&[("a", "{}")], printed).await;
    for body in [
        json!({"plugin": "shop"}),
        json!({"plugin": "shop", "button_id": "a", "script": "b.php"}),
        json!({"plugin": "shop", "button_id": "a", "id": {"a": 1}}),
        json!({"plugin": "shop", "button_id": "a", "url_rewrite": 7}),
        json!({"plugin": 7, "button_id": "a"}),
    ] {
        site.admin(RUN).json(body).refused(422, "validation_failed").await;
    }
    assert_eq!(site.database.rows("cms_audit where action = 'run'").await, 0);
}
