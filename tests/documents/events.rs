//! The table of events in docs/webhooks.md, compared with the catalogue. `CMS_WRITE_DOCS=1` writes
//! it.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::is_table;
use crate::support::Site;

const HEAD: &str = "| event | when | `data`, for example |\n|---|---|---|\n";

/// A row for each event of the service, those of items aside. An example stands there once.
async fn rows(site: &Site) -> String {
    let list = site.admin("GET /api/backend/webhooks/events?limit=500").expect(200).await.data();
    let (mut rows, mut shown) = (String::new(), BTreeMap::new());
    for row in list.as_array().unwrap() {
        let is_own = row["plugin_id"] == "core" || row["plugin_id"] == "formfunnel";
        if !is_own || row["event_type"] != "manual" {
            continue;
        }
        let name = row["event_name"].as_str().unwrap();
        let line = format!("GET /api/backend/webhooks/events?name={name}");
        let example: Json = site.admin(&line).expect(200).await.data()["example"].take();
        let when = row["description"].as_str().unwrap();
        let text = match shown.get(&example.to_string()) {
            Some(first) => format!("as `{first}`"),
            None => format!("`{example}`"),
        };
        shown.entry(example.to_string()).or_insert_with(|| name.to_owned());
        rows.push_str(&format!("| `{name}` | {when} | {text} |\n"));
    }
    rows
}

#[tokio::test]
async fn the_table_of_events_is_that_of_the_catalogue() {
    is_table("docs/webhooks.md", HEAD, &rows(&Site::open().await).await);
}
