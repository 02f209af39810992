use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    time::Duration,
};

use cms_core::{Actor, items::IfMatch};
use serde_json::json;
use tokio::sync::Barrier;

use crate::{
    routes::pagebuilder::{BUILDER, site},
    support::Site,
};

const EDITORS: usize = 6;
const ROUNDS: usize = 8;

/// Writes a plugin whose widget has a field that no widget had before.
fn declare(site: &Site, round: usize) {
    entitled(site, round, "Teaser");
}

/// As [`declare`], with this title.
fn entitled(site: &Site, round: usize, title: &str) {
    let field = |n: usize| json!({"row": format!("new_{n}"), "type": "text"});
    let rows: Vec<_> = (0..=round).map(field).collect();
    let widget = json!({"widget_title": title, "widget_icon": "w.svg",
                        "widget_template": "teaser", "widget_menu": rows});
    let manifest = json!({"id": "shop", "name": "Shop", "pagebuilder_widgets": [widget]});
    site.database.write_plugin(&manifest);
}

/// Applying adds columns to the tables of widgets and of items; an edit of an item looks its page
/// up in the one and reads both. All begin together, and the edits go on until the plugin is
/// applied.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_plugin_is_applied_while_items_are_edited() {
    let site = Arc::new(site().await);
    let mut items = Vec::new();
    for page in [1, 2] {
        let (_, col) = site.row(page).await;
        let list = site.widget(col, "uspIconList", json!({})).await;
        for _ in 0..EDITORS / 2 {
            let item = json!({"kind": "item", "parent": {"widget_id": list}});
            items.push(site.add(item).await["id"].as_i64().unwrap());
        }
    }
    for round in 0..ROUNDS {
        declare(&site, round);
        let (start, done) = (Arc::new(Barrier::new(EDITORS + 1)), Arc::new(AtomicBool::new(false)));
        let editors: Vec<_> = items
            .iter()
            .map(|item| {
                let (site, start, done) = (site.clone(), start.clone(), done.clone());
                let line = format!("PATCH {BUILDER}?item_id={item}");
                tokio::spawn(async move {
                    start.wait().await;
                    let mut edits = 0;
                    while edits == 0 || !done.load(SeqCst) {
                        edits += 1;
                        let body = json!({"data": {"title": format!("{round} {edits}")}});
                        site.admin(&line).json(body).expect(200).await;
                    }
                })
            })
            .collect();
        start.wait().await;
        let applied = site.admin("POST /api/backend/plugins/apply").json(json!({"plugin": "shop"}));
        let applied = applied.send().await;
        done.store(true, SeqCst);
        for editor in editors {
            editor.await.unwrap();
        }
        assert_eq!(applied.status, 200, "round {round}: {}", applied.text());
        let columns = site.cms.db().columns_of("cms_page_widget_item").await.unwrap();
        let new = format!("new_{round}");
        assert!(columns.iter().any(|line| line.starts_with(&new)), "{columns:?}");
    }
}

/// SQLite has one writer anyway.
#[tokio::test]
async fn a_plugin_without_new_columns_waits_for_no_page() {
    let site = site().await;
    if !site.database.is_postgres() {
        return;
    }
    declare(&site, 0);
    let apply = || site.admin("POST /api/backend/plugins/apply").json(json!({"plugin": "shop"}));
    apply().expect(200).await;
    entitled(&site, 0, "Another");
    let mut change = site.cms.change(Actor::System).await.unwrap();
    site.cms.pages().publish(&mut change, 1, &IfMatch::Nothing).await.unwrap();
    let applied = tokio::time::timeout(Duration::from_secs(20), apply().expect(200)).await;
    assert!(applied.is_ok(), "it waits for the page");
    change.commit().await.unwrap();
    assert_eq!(site.cms.pages().widgets().find("teaser").unwrap().title, "Another");
}
