use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use crate::{
    routes::pagebuilder::{BUILDER, site},
    support::{Ask, Site},
};

/// Statements that a request sends, the least of three.
async fn cost(site: &Site, ask: impl Fn(usize) -> Ask, status: u16) -> u64 {
    let mut round = 0;
    let step = async || {
        ask(round).expect(status).await;
        round += 1;
    };
    site.statements(step).await
}

/// Adds rows until the page has `widgets` of them, every other one a repeater with three items.
async fn grow(site: &Site, widgets: usize) -> (Vec<i64>, i64) {
    let mut ids = Vec::new();
    let mut last_col = 0;
    for n in 0..widgets {
        if n % 4 == 0 {
            last_col = site.row(1).await.1;
        }
        let name = if n % 2 == 0 { "title" } else { "uspIconList" };
        let id = site.widget(last_col, name, json!({"title": format!("Widget {n}")})).await;
        for item in 0..3 * (n % 2) {
            site.item(id, json!({"title": format!("Item {item}")})).await;
        }
        ids.push(id);
    }
    (ids, last_col)
}

/// What each kind of edit costs, and what reads cost.
async fn costs(site: &Site, ids: &[i64], col: i64) -> Vec<(&'static str, u64)> {
    let post = |action: &str, body: Json| site.admin(&format!("POST {BUILDER}{action}")).json(body);
    let widget = ids[0];
    let row = json!({"kind": "row", "parent": {"page_id": 1}});
    let title = json!({"kind": "widget", "parent": {"col_id": col}, "widget": "title",
                       "data": {"title": "new"}, "position": 0});
    let mut told = vec![
        ("add a row", cost(site, |_| post("", row.clone()), 201).await),
        ("add a widget", cost(site, |_| post("", title.clone()), 201).await),
    ];
    let set = |n: usize| {
        let body = json!({"data": {"title": format!("title {n}")}});
        site.admin(&format!("PATCH {BUILDER}?widget_id={widget}")).json(body)
    };
    told.push(("change a widget", cost(site, set, 200).await));
    let to =
        |n: usize| post("?action=move", json!({"kind": "widget", "id": widget, "position": n % 2}));
    told.push(("move a widget", cost(site, to, 200).await));
    let mut made = Vec::new();
    for _ in 0..3 {
        made.push(site.add(title.clone()).await["id"].clone());
    }
    let gone = |n: usize| site.admin(&format!("DELETE {BUILDER}?kind=widget&id={}", made[n]));
    told.push(("remove a widget", cost(site, gone, 204).await));
    let page = json!({"page_id": 1});
    let mut least = u64::MAX;
    for n in 0..3 {
        // What is published already costs less.
        site.retitle(widget, &format!("published {n}")).await;
        let before = site.cms.db().statements_sent();
        post("?action=publish", page.clone()).expect(200).await;
        least = least.min(site.cms.db().statements_sent() - before);
    }
    told.push(("publish", least));
    told.push(("publish again", cost(site, |_| post("?action=publish", page.clone()), 200).await));
    told.push(("discard", cost(site, |_| post("?action=discard", page.clone()), 200).await));
    let read = || site.admin(&format!("GET {BUILDER}?page_id=1"));
    told.push(("read the draft", cost(site, |_| read(), 200).await));
    told.push(("read the page", cost(site, |_| site.ask("GET /api/pages?id=1"), 200).await));
    told
}

#[tokio::test]
async fn an_edit_costs_the_same_whatever_the_size_of_the_page() {
    let site = site().await;
    let (few, col) = grow(&site, 2).await;
    site.act("publish", json!({"page_id": 1})).await;
    let small = costs(&site, &few, col).await;
    let (_, col) = grow(&site, 40).await;
    let large = costs(&site, &few, col).await;
    assert_eq!(small, large);
    for (what, cost) in &large {
        let most = match *what {
            "read the page" => 1,
            "read the draft" => 3,
            "publish" => 10,
            "discard" => 13,
            _ => 8,
        };
        assert!(*cost <= most, "{what}: {cost} statements of {most}");
    }
}

/// Pages that stand in one another are read level by level.
#[tokio::test]
async fn pages_in_a_page_cost_a_statement_for_each_level() {
    let site = site().await;
    let embed = async |page: i64, part: i64| {
        let (_, col) = site.row(page).await;
        site.widget(col, "pagebuilder_element", json!({"page": part.to_string()})).await;
        site.act("publish", json!({"page_id": page})).await;
    };
    for id in 20..38_i64 {
        let page = json!({"id": id, "language_short": "en", "url_rewrite": format!("/{id}"),
                          "title": "Part", "published": true});
        site.create("/api/backend/item?table=pages", page).await;
    }
    let read = async || cost(&site, |_| site.ask("GET /api/pages?id=1"), 200).await;
    for id in 20..36 {
        embed(1, id).await;
    }
    assert_eq!(read().await, 2, "the page and sixteen others");
    for (page, part, statements) in [(20, 36, 3), (36, 37, 4), (37, 21, 4), (21, 1, 4)] {
        embed(page, part).await;
        assert_eq!(read().await, statements, "{part} in {page}");
    }
}

#[tokio::test]
async fn a_large_page_comes_from_memory_as_any_reply_does() {
    let site = Site::with(|settings| settings.cache.enabled = true).await;
    let pages = json!({"id": 1, "language_short": "en", "url_rewrite": "/", "title": "Home"});
    site.create("/api/backend/item?table=pages", pages).await;
    let (ids, _) = grow(&site, 40).await;
    site.act("publish", json!({"page_id": 1})).await;
    let line = "GET /api/pages?id=1";
    assert_eq!(site.ask(line).expect(200).await.header("x-cache"), "MISS");
    assert_eq!(site.ask(line).expect(200).await.header("x-cache"), "HIT");
    // Edits of the draft leave the kept page where it is; a publication does not.
    site.retitle(ids[0], "new").await;
    assert_eq!(site.ask(line).expect(200).await.header("x-cache"), "HIT");
    site.act("publish", json!({"page_id": 1})).await;
    assert_eq!(site.ask(line).expect(200).await.header("x-cache"), "MISS");
    // What each costs, beside another reply from memory; printed, because machines are busy.
    let mut least = [Duration::MAX; 2];
    for _ in 0..12 {
        for (at, line) in [line, "GET /api/settings"].into_iter().enumerate() {
            let began = Instant::now();
            for _ in 0..50 {
                site.ask(line).expect(200).await;
            }
            least[at] = least[at].min(began.elapsed());
        }
    }
    println!("50 reads of a page of 40 widgets: {:?}; of the settings: {:?}", least[0], least[1]);
}
