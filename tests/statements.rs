//! How many statements a request costs: fixed, whatever the number of rows.

use serde_json::json;

use crate::support::{Site, plugins::plugin};

/// The least of three: the site asks once in a while what other processes have committed, and is
/// counted with the request.
async fn cost(site: &Site, line: &str, key: Key) -> u64 {
    let mut least = u64::MAX;
    for _ in 0..3 {
        let fresh = match key {
            Key::Unknown => Some(site.key(&["*"]).await),
            _ => None,
        };
        let ask = match key {
            Key::None => site.ask(line),
            Key::Known => site.admin(line),
            Key::Unknown => site.ask(line).key(fresh.as_deref().unwrap()),
        };
        let before = site.cms.db().statements_sent();
        ask.expect(200).await;
        least = least.min(site.cms.db().statements_sent() - before);
    }
    least
}

#[derive(Clone, Copy)]
enum Key {
    None,
    /// Asked for before.
    Known,
    /// Made a moment ago.
    Unknown,
}

#[tokio::test]
async fn a_request_costs_what_it_should() {
    let words = "title text, a integer references=t, b integer references=t";
    let site = Site::builder().await.plugin(plugin("p", [("t", words)])).open().await;
    let rows: Vec<_> = (1..=60)
        .map(|i| json!({"id": i, "title": format!("t{i}"), "a": 1, "b": (i > 1).then_some(i - 1)}))
        .collect();
    site.insert("t", json!(rows)).await;
    let page = json!({"title": "Home", "view": "home", "url_rewrite": "/", "published": true});
    site.insert("pages", page).await;
    // What is asked is one statement, the key is another; SQLite shows that nobody has committed
    // anything since it was asked for.
    let known = if site.database.is_postgres() { 2 } else { 1 };
    for (line, key, expected) in [
        ("GET /api/backend/item?table=t&id=7", Key::Unknown, 2),
        ("GET /api/backend/item?table=t&id=7", Key::Known, known),
        ("GET /api/backend/item?table=t&limit=50&expand=a,b", Key::Known, known),
        ("GET /api/backend/item?table=t&limit=50&expand=a,b&count=true", Key::Known, known),
        ("GET /api/pages?view=home", Key::None, 1),
        ("GET /api/pages", Key::None, 1),
        ("GET /api/menu?name=main", Key::None, 1),
        ("GET /api/settings", Key::None, 1),
        ("GET /healthz", Key::None, 0),
    ] {
        assert_eq!(cost(&site, line, key).await, expected, "{line}");
    }
}
