//! Golden screens with their styles, and the pictures of the docs.
//!
//! `INSTA_UPDATE=always cargo test -p cms-tui` accepts what has changed, and
//! `CMS_WRITE_DOCS=1 cargo test -p cms-tui the_docs` makes the pictures again.

use serde_json::json;

use super::{Operator, paint, site::TestSite};

/// A site with a little of everything.
async fn seeded() -> TestSite {
    let site = TestSite::open().await;
    for n in 1..=60 {
        site.post(&format!("How to tell when chain {n} is worn")).await;
    }
    let pages = json!([{"endpoint": "/api/pages", "methods": ["GET"]}]);
    site.key("export-job", json!({"rights": pages, "expires_on": "2026-11-30"})).await;
    let item = json!({"endpoint": "/api/backend/item", "methods": ["GET", "POST"]});
    site.key("mobile-app", json!({"rights": [item]})).await;
    site.key("ci", json!({"rights": [{"endpoint": "*"}], "active": false})).await;
    site.webhook("crm-sync", "http://127.0.0.1:9/in").await;
    site.webhook("warehouse", "http://127.0.0.1:9/stock").await;
    for n in 61..=66 {
        site.post(&format!("Räder, die laufen {n} 日本の自転車")).await;
    }
    for _ in 0..14 {
        site.clock.advance(2_000);
        site.delivers().await;
    }
    site
}

/// Name of the golden file, and the keys that lead there from home.
const MAIN: [(&str, &str); 5] = [
    ("home", "1"),
    ("webhooks", "2"),
    ("deliveries", "3"),
    ("keys", "5"),
    ("records", "6 / p o s t s Enter Enter"),
];
const OTHERS: [(&str, &str); 10] = [
    ("queue", "4"),
    ("content", "6"),
    ("users", "7"),
    ("system", "8"),
    ("groups", "9"),
    ("help", "5 ?"),
    ("new_webhook", "2 n"),
    ("record_form", "6 / p o s t s Enter Enter e"),
    ("confirm", "5 x"),
    ("graces", "5 S"),
];

/// Milliseconds that attempts took, and ports, differ from run to run.
fn steady(screen: &str) -> String {
    let mut steady = String::new();
    for line in screen.lines() {
        let parts: Vec<&str> = line.split("✗ connect").collect();
        match parts[..] {
            [before, after] => {
                let after: String =
                    after.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
                steady.push_str(&format!("{before}✗ connect{after}\n"));
            }
            _ => steady.push_str(&format!("{line}\n")),
        }
    }
    steady
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn golden_screens() {
    let site = seeded().await;
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../screens/golden");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    let _bound = settings.bind_to_scope();
    for (name, keys) in MAIN {
        let mut ana = Operator::sits_down(&site).await;
        ana.press(keys).await;
        for (width, height) in [(60, 16), (80, 24), (100, 30), (200, 60)] {
            ana.resize(width, height);
            let screen = steady(&paint::styled(&ana.buffer()));
            insta::assert_snapshot!(format!("{name}_{width}x{height}"), screen);
        }
    }
    for (name, keys) in OTHERS {
        let mut ana = Operator::sits_down(&site).await;
        ana.press(keys).await;
        insta::assert_snapshot!(name, steady(&paint::styled(&ana.buffer())));
    }
    let small = Operator::sits_down(&site).await.resize(59, 16).screen();
    insta::assert_snapshot!("too_small", small);
}

/// The pictures of the docs are those that the interface draws.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_docs_show_what_is_drawn() {
    let site = seeded().await;
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/tui");
    for (name, keys) in [
        ("home", "1"),
        ("webhooks", "2"),
        ("records", "6 / p o s t s Enter Enter"),
        ("help", "5 ?"),
    ] {
        let mut ana = Operator::sits_down(&site).await;
        ana.press(keys).await;
        for (kind, text) in [("txt", ana.screen()), ("svg", paint::svg(&ana.buffer()))] {
            let path = format!("{folder}/{name}.{kind}");
            if std::env::var_os("CMS_WRITE_DOCS").is_some() {
                std::fs::create_dir_all(folder).expect("a folder");
                std::fs::write(&path, &text).expect("written");
            }
            let kept = std::fs::read_to_string(&path).unwrap_or_default();
            assert!(kept == text, "{path} is old: CMS_WRITE_DOCS=1 cargo test -p cms-tui the_docs");
        }
    }
}
