use cms_core::{
    Actor, Change, Result,
    items::IfMatch,
    pages::builder::{Move, NewNode, NodeKind, Schedule},
};
use cms_http::client::Ask as Send;
use futures_util::future::BoxFuture;
use serde_json::{Value as Json, json};

use crate::{
    routes::pagebuilder::{site, titles},
    support::{
        Site, TestDatabase,
        process::{self, Served, unless_killed},
    },
};

/// All that the builder keeps.
async fn state(site: &Site) -> (Vec<Json>, Vec<i64>) {
    let mut counts = site.traces().await;
    for table in [
        "cms_page_rows", "cms_page_cols", "cms_page_row_col_widget", "cms_page_widget_item",
        "cms_page_edits", "cms_page_revisions", "cms_page_links",
    ] {
        counts.push(site.database.rows(table).await);
    }
    (vec![site.draft(1).await.data(), site.draft(2).await.data()], counts)
}

type Step = for<'a> fn(&'a Site, &'a mut Change, [i64; 3]) -> BoxFuture<'a, Result<()>>;

macro_rules! step {
    (|$pages:ident, $change:ident, $ids:ident| $call:expr) => {{
        let step: Step = |site, $change, $ids| {
            let $pages = site.cms.pages();
            let _ = $ids;
            Box::pin(async move { $call.await.map(drop) })
        };
        step
    }};
}

#[tokio::test]
async fn a_change_that_does_not_commit_leaves_nothing() {
    let site = site().await;
    let (row, col) = site.row(1).await;
    let widget = site.title(col, "one").await;
    site.title(col, "two").await;
    site.act("publish", json!({"page_id": 1})).await;
    site.retitle(widget, "new").await;
    let none = IfMatch::Nothing;
    let steps = [
        step!(|pages, change, ids| {
            let parent = json!({"col_id": ids[1]});
            let new = json!({"kind": "widget", "parent": parent, "widget": "title"});
            let new: NewNode = serde_json::from_value(new).unwrap();
            async move { pages.add_node(change, &IfMatch::Nothing, &new).await }
        }),
        step!(|pages, change, ids| {
            let data = json!({"title": "x"}).as_object().cloned().unwrap();
            let node = (NodeKind::Widget, ids[2]);
            async move { pages.set_node(change, &IfMatch::Nothing, node, &data).await }
        }),
        step!(|pages, change, ids| {
            let node = json!({"kind": "widget", "id": ids[2], "position": 1});
            let node: Move = serde_json::from_value(node).unwrap();
            async move { pages.move_node(change, &IfMatch::Nothing, &node).await }
        }),
        step!(|pages, change, ids| {
            let node = (NodeKind::Row, ids[0]);
            async move { pages.remove_node(change, &IfMatch::Nothing, node).await }
        }),
        step!(|pages, change, ids| pages.publish(change, 1, &IfMatch::Nothing)),
        step!(|pages, change, ids| pages.take_off(change, 1, &IfMatch::Nothing)),
        step!(|pages, change, ids| pages.discard(change, 1, &IfMatch::Nothing)),
        step!(|pages, change, ids| pages.restore(change, 1, 1, &IfMatch::Nothing)),
        step!(|pages, change, ids| pages.copy(change, (1, 2), &IfMatch::Nothing, true)),
        step!(|pages, change, ids| {
            let mut times = Schedule::default();
            times.publish_at = Some("2099-01-01T00:00:00Z".into());
            async move { pages.schedule(change, 1, &IfMatch::Nothing, &times).await }
        }),
        step!(|pages, change, ids| pages.link(change, 1, (None, None), "https://cms.test")),
    ];
    let ids = [row, col, widget];
    let before = state(&site).await;
    for (n, step) in steps.iter().enumerate() {
        let mut change = site.cms.change(Actor::Operator).await.unwrap();
        step(&site, &mut change, ids).await.unwrap();
        drop(change);
        assert_eq!(state(&site).await, before, "step {n}");
    }
    // Each of them does something when it commits.
    for (n, step) in steps.iter().enumerate().filter(|(n, _)| *n != 3) {
        let before = state(&site).await;
        let mut change = site.cms.change(Actor::Operator).await.unwrap();
        step(&site, &mut change, ids).await.unwrap_or_else(|error| panic!("step {n}: {error}"));
        change.commit().await.unwrap();
        assert_ne!(state(&site).await, before, "step {n}");
        if n == 5 {
            let mut change = site.cms.change(Actor::Operator).await.unwrap();
            site.cms.pages().publish(&mut change, 1, &none).await.unwrap();
            change.commit().await.unwrap();
        }
    }
}

/// kill -9 while drafts are edited, published, discarded and restored: what is there is whole.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_in_the_middle_of_publications() {
    let database = TestDatabase::new().await;
    let key = process::init(&database);
    let builder = "/api/backend/pagebuilder";
    let mut ids = Vec::new();
    for round in 0..4_u64 {
        let mut served = Served::start(&database, "warn");
        let client = served.client(&key);
        let post = async |action: Option<&str>, body: Json| {
            let ask = Send::post(builder).maybe("action", action).json(&body);
            let read = |body: &str| -> Json { serde_json::from_str(body).unwrap_or_default() };
            client.send(ask).await.map(|answer| read(&answer.body))
        };
        if round == 0 {
            let page = json!({"id": 1, "language_short": "en", "url_rewrite": "/", "title": "A"});
            let ask = Send::post("/api/backend/item").query("table", "pages").json(&page);
            client.send(ask).await.unwrap();
            for _ in 0..3 {
                let row = json!({"kind": "row", "parent": {"page_id": 1}});
                let row = post(None, row).await.unwrap()["data"]["id"].clone();
                let col = json!({"kind": "col", "parent": {"row_id": row}});
                let col = post(None, col).await.unwrap()["data"]["id"].clone();
                let widget = json!({"kind": "widget", "parent": {"col_id": col},
                                    "widget": "title", "data": {"title": "0"}});
                ids.push(post(None, widget).await.unwrap()["data"]["id"].as_i64().unwrap());
            }
            post(Some("publish"), json!({"page_id": 1})).await.unwrap();
        }
        let work = async {
            for number in 1_u64.. {
                for id in &ids {
                    let body = json!({"data": {"title": format!("{round}.{number}")}});
                    let ask = Send::patch(builder).query("widget_id", id).json(&body);
                    if unless_killed(client.send(ask).await).is_none() {
                        return;
                    }
                }
                for (action, body) in [
                    ("publish", json!({"page_id": 1})),
                    ("restore", json!({"page_id": 1, "revision": 1})),
                    ("discard", json!({"page_id": 1})),
                ] {
                    if unless_killed(post(Some(action), body).await).is_none() {
                        return;
                    }
                }
            }
        };
        let pause = std::time::Duration::from_millis(150 + 90 * round);
        let kill = async {
            tokio::time::sleep(pause).await;
            served.kill();
        };
        tokio::join!(work, kill);
        // What visitors and editors find after it.
        let again = Served::start(&database, "warn");
        let client = again.client(&key);
        let read = async |path: &str| -> Json {
            serde_json::from_str(&client.send(Send::get(path)).await.unwrap().body).unwrap()
        };
        let page = read("/api/pages?id=1").await["data"].clone();
        let seen = titles(&page);
        assert!(seen.len() == 3 && seen.iter().all(|title| *title == seen[0]), "{seen:?}");
        let draft = read(&format!("{builder}?page_id=1")).await["data"].clone();
        assert_eq!(titles(&draft).len(), 3, "{draft}");
        assert_eq!(again.terminate().0, Some(0));
        for lonely in [
            "cms_pages p where p.published and not exists (select 1 from cms_page_revisions r \
             where r.page_id = p.id and r.number = p.revision)",
            "cms_page_revisions r where r.number > (select min(f.number) from cms_page_revisions f \
             where f.page_id = r.page_id) and not exists (select 1 from cms_page_revisions o where \
             o.page_id = r.page_id and o.number = r.number - 1)",
        ] {
            assert_eq!(database.rows(lonely).await, 0, "{lonely}");
        }
        let revisions = database.rows("cms_page_revisions").await;
        let events = "cms_events where name = 'page.published'";
        assert!(database.rows(events).await >= revisions, "each publication was told");
    }
}
