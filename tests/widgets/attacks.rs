//! Names and paths of icons that try to leave the folder of their widget: none does.

use std::{fs, os::unix::fs::symlink, path::Path};

use cms_core::plugins::{Problem, check_folder};
use serde_json::{Value as Json, json};

use crate::support::{Site, TestDatabase};

const CANARY: &str = "canary-7f3a";
const ICON: &str = "GET /api/backend/pagebuilder/icon?widget=";

/// Paths that a manifest may name.
#[rustfmt::skip]
const PATHS: [&str; 34] = [
    "", ".", "..", "/", "../secret.svg", "../../secret.svg", "../../../secret.svg",
    "../teaser/w.svg", "./w.svg", "a/../w.svg", "a//w.svg", "/etc/passwd", "/proc/self/environ",
    "//w.svg", "w.svg/", "w.svg/.", "w.svg\u{0}", "w.svg\u{0}.png", "w\u{0}.svg", "..\\secret.svg",
    "a\\w.svg", "C:\\w.svg", "file:///etc/passwd", "https://evil.example/w.svg",
    "data:image/svg+xml,<svg/>", "%2e%2e/secret.svg", "..%2fsecret.svg", "w.svg%00", ".svg",
    ".hidden.svg", "w.html", "w.svg.html", "plugin.json", "w\u{202e}gvs.svg",
];

/// Names that a caller may ask for.
#[rustfmt::skip]
const NAMES: [&str; 16] = [
    "", ".", "..%2Fsecret", "%2e%2e%2f%2e%2e%2fplugin.json", "%2Fetc%2Fpasswd",
    "teaser%2F..%2F..%2Fsecret", "teaser%2Fw.svg", "teaser/w.svg", "teaser%00",
    "teaser%5C..%5Csecret", "Teaser", "teaser%20", "title.svg", "..%252fsecret",
    "shop%2Fwidgets%2Fteaser%2Fw.svg", "%EF%BC%8E%EF%BC%8E%EF%BC%8Fsecret",
];

fn manifest(icon: &str) -> Json {
    json!({"id": "shop", "pagebuilder_widgets": [{
        "widget_title": "Teaser", "widget_icon": icon, "widget_template": "teaser",
        "widget_menu": [{"row": "title", "type": "text"}],
    }]})
}

/// A plugin with a widget and its icon, and secrets around it.
fn write(plugins: &Path, icon: &str) {
    let own = plugins.join("shop/widgets/teaser");
    fs::create_dir_all(own.join("a")).unwrap();
    fs::write(own.join("w.svg"), "<svg/>").unwrap();
    for secret in ["secret.svg", "shop/secret.svg", "shop/widgets/secret.svg"] {
        fs::write(plugins.join(secret), CANARY).unwrap();
    }
    for odd in ["w.html", "w.svg.html", ".hidden.svg", ".svg"] {
        fs::write(own.join(odd), CANARY).unwrap();
    }
    fs::write(plugins.join("shop/plugin.json"), manifest(icon).to_string()).unwrap();
}

/// What is wrong with the icon of the plugin.
fn fault(plugins: &Path, icon: &str) -> Problem {
    let mut told = check_folder(&plugins.join("shop")).outcome.unwrap_err();
    assert_eq!(told[0].pointer, "/pagebuilder_widgets/0/widget_icon", "{icon:?}: {told:?}");
    told.remove(0)
}

#[tokio::test]
async fn no_path_of_a_manifest_leaves_the_folder_of_its_widget() {
    let database = TestDatabase::new().await;
    let plugins = database.folder().join("plugins");
    write(&plugins, "w.svg");
    let site = Site::on(database).open().await;
    assert_eq!(site.admin(&format!("{ICON}teaser")).expect(200).await.text(), "<svg/>");
    for path in PATHS {
        write(&plugins, path);
        let told = fault(&plugins, path);
        assert!(told.line.is_some() && told.remedy.contains("such as"), "{told:?}");
    }
    // The plugin as it was stays in service.
    site.post("/api/backend/plugins/apply", json!({})).await;
    assert_eq!(site.admin(&format!("{ICON}teaser")).expect(200).await.text(), "<svg/>");
}

#[tokio::test]
async fn no_link_leads_out() {
    let database = TestDatabase::new().await;
    let plugins = database.folder().join("plugins");
    write(&plugins, "w.svg");
    let own = plugins.join("shop/widgets/teaser");
    for (name, target) in [
        ("out.svg", "../../../secret.svg"),
        ("up.svg", "../secret.svg"),
        ("absolute.svg", "/etc/passwd"),
        ("device.svg", "/dev/zero"),
        ("circle.svg", "circle.svg"),
        ("nowhere.svg", "none.svg"),
        ("up", "../.."),
    ] {
        symlink(target, own.join(name)).unwrap();
    }
    fs::create_dir(own.join("folder.svg")).unwrap();
    fs::write(own.join("large.svg"), vec![b' '; (256 << 10) + 1]).unwrap();
    let links = ["out.svg", "up.svg", "absolute.svg", "device.svg", "circle.svg", "nowhere.svg"];
    for icon in links.into_iter().chain(["up/secret.svg", "folder.svg", "large.svg", "none.svg"]) {
        fs::write(plugins.join("shop/plugin.json"), manifest(icon).to_string()).unwrap();
        fault(&plugins, icon);
    }
    // A good icon becomes a link, a pipe of text without end, or goes, while the site runs.
    fs::write(plugins.join("shop/plugin.json"), manifest("w.svg").to_string()).unwrap();
    let site = Site::on(database).open().await;
    let ask = || site.admin(&format!("{ICON}teaser"));
    ask().expect(200).await;
    let icon = own.join("w.svg");
    for target in ["../../../secret.svg", "/etc/passwd", "/dev/zero", "w.svg"] {
        fs::remove_file(&icon).unwrap();
        symlink(target, &icon).unwrap();
        ask().refused(404, "not_found").await;
    }
    fs::remove_file(&icon).unwrap();
    fs::write(&icon, vec![b' '; (256 << 10) + 1]).unwrap();
    ask().refused(404, "not_found").await;
    // The whole folder is a link.
    fs::remove_dir_all(&own).unwrap();
    symlink("..", &own).unwrap();
    fs::write(plugins.join("shop/widgets/w.svg"), CANARY).unwrap();
    fs::write(plugins.join("shop/w.svg"), CANARY).unwrap();
    ask().refused(404, "not_found").await;
}

#[tokio::test]
async fn no_name_of_a_request_is_a_path() {
    let database = TestDatabase::new().await;
    write(&database.folder().join("plugins"), "w.svg");
    let site = Site::on(database).open().await;
    let lines = NAMES.map(|name| format!("{ICON}{name}"));
    let others = ["", "/teaser"].map(|end| format!("GET /api/backend/pagebuilder/icon{end}"));
    for line in lines.iter().chain(&others) {
        let reply = site.admin(line).send().await;
        assert!([400, 404].contains(&reply.status.as_u16()), "{line}: {}", reply.status);
        let said = reply.text();
        assert!(!said.contains(CANARY) && !said.contains("root:"), "{line}: {said}");
    }
}
