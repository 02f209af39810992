//! `cms serve --demo`

use std::{collections::BTreeSet, process::Command};

use serde_json::Value as Json;

use crate::support::{Served, cms, cms_with, command, site};

/// The funnel of the start page in each language.
const FUNNELS: [&str; 2] = ["company-bicycles", "firmenraeder"];

#[test]
fn the_demo_prints_calls_that_work_and_fills_only_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let dir = folder.path().join("try");
    let mut server = Served::start(&dir, &["--demo"]);
    assert_eq!(server.before_ready, [""; 0], "one line, exactly");
    let text = server.demo_text();
    let calls: Vec<_> = text.lines().filter(|line| line.starts_with("curl ")).collect();
    assert_eq!(calls.len(), 3, "{text}");
    if Command::new("curl").arg("--version").output().is_ok() {
        let answers: Vec<Json> = calls.iter().map(|call| answer(call)).collect();
        assert_eq!(answers[0]["data"]["view"], "about");
        assert_eq!(answers[1]["data"].as_array().map(Vec::len), Some(3), "{}", answers[1]);
        assert_eq!(answers[1]["data"][0]["published"], true);
        assert_eq!(answers[2]["data"]["name"], "Ada");
    }
    let key = text.lines().find(|line| line.starts_with("cms_k1_")).expect("a key");
    assert!(calls[1].contains(key) && !calls[0].contains(key));
    let keys = cms(&dir, "keys list --json").json();
    assert_eq!((&keys["data"][0]["name"], &keys["data"][1]), (&"demo".into(), &Json::Null));
    assert_eq!(cms(&dir, "config get languages").ok(), "en,de\n");
    the_start_page_is_made_of_widgets(&server.url);
    assert_eq!(server.stop().0, Some(0));
    cms(&dir, "serve --listen 127.0.0.1:0 --demo").fails(6).tells("empty site");
    let files = cms(&dir, "media list --json").json();
    assert_eq!(files["data"].as_array().map(Vec::len), Some(6), "{files}");
    for page in ["/", "/de"] {
        let draft = cms(&dir, &format!("pages diff {page} --json")).json();
        assert_eq!(draft["data"], Json::Array(Vec::new()), "{page}");
        let revisions = cms(&dir, &format!("pages revisions {page} --json")).json();
        assert_eq!(revisions["data"].as_array().map(Vec::len), Some(1), "{page}: {revisions}");
    }
    for table in ["authors", "blog_categories", "blog", "pages", "menu_items"] {
        let rows = cms(&dir, &format!("items list {table} --limit 1 --count --json")).json();
        assert!(rows["meta"]["total"].as_i64() > Some(5), "{table}: {rows}");
    }
    for funnel in FUNNELS {
        let checked = cms(&dir, &format!("funnels check {funnel} --strict --json")).json();
        assert_eq!(checked["data"]["warnings"], Json::Array(Vec::new()), "{funnel}");
    }
    assert!(cms(&dir, "funnels list").ok().contains("published"));
    the_content_survives_a_round_trip(&dir);
    both_plugins_are_in_service(&dir);
}

/// A dozen widgets in each language. What is told of pictures, menus, jobs and the funnel is there,
/// and each picture is served.
fn the_start_page_is_made_of_widgets(url: &str) {
    let pages = ["en", "de"].map(|language| {
        answer(&format!("curl -gsS '{url}/api/pages?view=home&language={language}'"))["data"].take()
    });
    let widgets = pages.each_ref().map(widgets_of);
    let names = widgets.each_ref().map(|all| {
        let names = all.iter().map(|one| one["widget"].as_str().expect("a name"));
        names.collect::<Vec<_>>()
    });
    assert_eq!(names[0], names[1]);
    assert_eq!(BTreeSet::from_iter(&names[0]).len(), 12, "{names:?}");
    let mut paths = BTreeSet::new();
    for (page, (widgets, funnel)) in pages.iter().zip(widgets.iter().zip(FUNNELS)) {
        assert_eq!(page["alternates"].as_array().map(Vec::len), Some(2), "{page}");
        for widget in widgets {
            assert!(widget["data"].as_object().is_some_and(|data| data.len() > 1), "{widget}");
            let content = &widget["content"];
            match widget["widget"].as_str().expect("a name") {
                "button" | "html" | "uspIconList" => {
                    assert_eq!(content, &Json::Null, "{widget}");
                }
                "blogpreview" => {
                    assert_eq!(content["posts"].as_array().map(Vec::len), Some(3), "{widget}");
                }
                "footer_links" => assert_eq!(content["menu"].as_array().map(Vec::len), Some(3)),
                "form" => assert_eq!(content["funnel"]["slug"], funnel, "{widget}"),
                "jobs" => assert_eq!(content["items"].as_array().map(Vec::len), Some(2)),
                _ => {
                    let pictures = content["pictures"].as_object().expect("pictures");
                    assert!(!pictures.is_empty(), "{widget}");
                    for (path, about) in pictures {
                        assert!(about["alt"].is_string() && about["width"] == 800, "{about}");
                        paths.insert(path.clone());
                    }
                }
            }
        }
    }
    assert_eq!(paths.len(), 6, "{paths:?}");
    for path in paths {
        let call = format!("curl -gsS -o /dev/null -w '%{{http_code}}' '{url}{path}'");
        assert_eq!(answer(&call), 200, "{path}");
    }
    // Texts that nobody has translated are the same in both languages.
    let texts = |widget: &Json| {
        let content = widget["content"]["pictures"].as_object().cloned().unwrap_or_default();
        let alt = content.into_iter().map(|(path, about)| (path, about["alt"].clone()));
        (widget["data"]["title"].clone(), alt.collect::<Vec<_>>())
    };
    for (en, de) in widgets[0].iter().zip(&widgets[1]) {
        let (en, de) = (texts(en), texts(de));
        assert!(en.0.is_null() || en.0 == "Ritzel & Rast" || en.0 != de.0, "{en:?}");
        assert!(en.1.iter().zip(&de.1).all(|(en, de)| en.0 == de.0 && en.1 != de.1), "{en:?}");
    }
}

fn widgets_of(page: &Json) -> Vec<Json> {
    let rows = page["rows"].as_array().expect("rows");
    let cols = rows.iter().flat_map(|row| row["cols"].as_array().expect("columns"));
    cols.flat_map(|col| col["widgets"].as_array().expect("widgets")).cloned().collect()
}

/// The blog is a file; the shop is part of the program, also when the site is opened again.
fn both_plugins_are_in_service(dir: &std::path::Path) {
    let listed = cms(dir, "plugins list --json").json();
    let states: Vec<_> = listed["data"].as_array().expect("a list").iter().collect();
    let states: Vec<_> = states.iter().map(|one| (&one["id"], &one["in_service"])).collect();
    assert_eq!(states, [(&"bikeshop".into(), &true.into()), (&"blog".into(), &true.into())]);
    let products = cms(dir, "items list products --count --json").json();
    assert_eq!(products["meta"]["total"], 8);
    let other = tempfile::tempdir().expect("a folder");
    let manifest = r#"{"id": "tags", "tables": [{"name": "tags", "columns":
        [{"name": "product_id", "type": "integer", "references": "products"}]}]}"#;
    std::fs::create_dir(other.path().join("tags")).expect("a folder");
    std::fs::write(other.path().join("tags/plugin.json"), manifest).expect("written");
    cms(dir, &format!("plugins check {}", other.path().display())).ok();
    let ran = cms(dir, "tasks run cancel --json").json();
    assert_eq!(ran["data"]["outcome"], "done", "{ran}");
    // One of them is part of the program, so its folder needs no plugin.json.
    let doctor = cms(dir, "doctor --quiet").ok();
    let others = |line: &&str| !line.starts_with("warning\tadministrators\t");
    assert_eq!(doctor.lines().filter(others).collect::<Vec<_>>(), [""; 0], "{doctor}");
    cms(dir, "status").ok();
    let server = Served::start(dir, &[]);
    for (path, name) in [("blog_categories", "title"), ("bikeshop_products", "name")] {
        let call = format!("curl -gsS '{}/api/{path}'", server.url);
        assert!(answer(&call)["data"][0][name].is_string(), "{path}");
    }
    drop(server);
    std::fs::remove_file(dir.join("plugins/bikeshop/demo.txt")).expect("removed");
    cms(dir, "items list products").fails(5);
}

/// Its first administrator is no content.
#[test]
fn the_demo_fills_a_site_that_init_made() {
    let folder = tempfile::tempdir().expect("a folder");
    let dir = folder.path();
    cms_with(dir, "init --admin root --password-stdin", "correct horse battery\n").ok();
    let mut server = Served::start(dir, &["--demo"]);
    assert!(server.demo_text().contains("The key named demo"));
    assert!(cms(dir, "users list").ok().contains("root"));
    assert_eq!(server.stop().0, Some(0));
}

/// As in a container.
#[test]
fn the_demo_makes_a_site_whose_database_is_named_already() {
    let folder = tempfile::tempdir().expect("a folder");
    let dir = folder.path().join("try");
    let mut serve = command(&dir);
    serve.args(["serve", "--demo"]).env("CMS_DATABASE_URL", "sqlite://data/cms.db");
    let server = Served::started(serve).expect("a ready line");
    assert_eq!(server.before_ready, [""; 0], "no secret is missing");
    assert_eq!(server.stop().0, Some(0));
    let local = std::fs::read_to_string(dir.join("cms.local.toml")).expect("made");
    assert!(local.contains("\npassword_salt = \"") && dir.join("cms.toml").is_file(), "{local}");
}

#[test]
fn the_demo_fills_only_a_site_that_has_nothing_of_its_own() {
    let refuses = |dir: &std::path::Path, why: &str| {
        cms(dir, "serve --listen 127.0.0.1:0 --demo").fails(6).tells(why);
        assert!(!dir.join("plugins/blog").exists(), "nothing is written");
        assert_eq!(cms(dir, "items list pages").ok(), "");
    };
    let made = |args: &str, input: &str| {
        let dir = site();
        cms_with(dir.path(), args, input).ok();
        dir
    };
    for (args, input, why) in [
        ("keys create --name shop", "", "an API key"),
        ("origins add https://shop.example.org", "", "an origin"),
        ("items create notes -", r#"{"text": "x"}"#, "notes"),
        ("items create settings -", r#"{"name": "a", "value": 1}"#, "settings"),
    ] {
        refuses(made(args, input).path(), why);
    }
}

fn answer(call: &str) -> Json {
    let output = Command::new("sh").args(["-c", call]).output().expect("sh");
    let body = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&body).unwrap_or_else(|e| panic!("{call}: {e}: {body} {output:?}"))
}

/// Every kind of column of the demo: texts in two languages, JSON of every form, references, times.
fn the_content_survives_a_round_trip(dir: &std::path::Path) {
    let copy = tempfile::tempdir().expect("a folder");
    let plugins = copy.path().join("plugins/blog");
    for file in ["plugin.json", "widgets/latestPosts/posts.svg"] {
        let to = plugins.join(file);
        std::fs::create_dir_all(to.parent().expect("a folder")).expect("a folder");
        std::fs::copy(dir.join("plugins/blog").join(file), to).expect("copied");
    }
    cms(copy.path(), "init").ok();
    for (table, format) in [
        ("authors", "csv"),
        ("blog_categories", "jsonl"),
        ("blog", "csv"),
        ("pages", "csv"),
        ("settings", "csv"),
    ] {
        let file = copy.path().join(format!("{table}.{format}"));
        let name = file.to_str().expect("a path");
        cms(dir, &format!("items export {table} --out {name}")).ok();
        cms(copy.path(), &format!("items import {table} {name}")).ok();
        let rows = |dir| cms(dir, &format!("items export {table} --json")).ok();
        assert_eq!(rows(dir), rows(copy.path()), "{table} as {format}");
    }
}
