//! How many statements a request costs: fixed, whatever the number of rows.

use serde_json::json;

use crate::support::Site;

async fn cost(site: &Site, line: &str, key: Option<&str>) -> u64 {
    let ask = match key {
        Some(key) => site.ask(line).key(key),
        None => site.ask(line),
    };
    let before = site.cms.db().statements_sent();
    ask.expect(200).await;
    site.cms.db().statements_sent() - before
}

#[tokio::test]
async fn a_request_costs_what_it_should() {
    let columns = json!([{"name": "title", "type": "text"}, {"name": "a", "type": "integer", "references": "t"}, {"name": "b", "type": "integer", "references": "t"}]);
    let site = Site::builder().await.plugin(json!({"id": "p", "tables": [{"name": "t", "columns": columns}]})).open().await;
    let rows: Vec<_> =
        (1..=60).map(|i| json!({"id": i, "title": format!("t{i}"), "a": 1, "b": (i > 1).then_some(i - 1)})).collect();
    site.admin("POST /api/backend/item?table=t").json(json!(rows)).expect(201).await;
    let page = json!({"title": "Home", "view": "home", "url_rewrite": "/", "published": true});
    site.admin("POST /api/backend/item?table=pages").json(page).expect(201).await;
    let admin = Some(site.admin.as_str());
    // What is asked is one statement, the key is another; SQLite shows that nobody has committed anything since it was asked for.
    let known = if site.database.is_postgres() { 2 } else { 1 };
    for (line, key, expected) in [
        ("GET /api/backend/item?table=t&id=7", admin, 2),
        ("GET /api/backend/item?table=t&id=7", admin, known),
        ("GET /api/backend/item?table=t&limit=50&expand=a,b", admin, known),
        ("GET /api/backend/item?table=t&limit=50&expand=a,b&count=true", admin, known),
        ("GET /api/pages?view=home", None, 1),
        ("GET /api/pages", None, 1),
        ("GET /api/menu?name=main", None, 1),
        ("GET /api/settings", None, 1),
        ("GET /healthz", None, 0),
    ] {
        assert_eq!(cost(&site, line, key).await, expected, "{line}");
    }
}
