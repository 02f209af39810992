//! The table of events in docs/webhooks.md, compared with the catalogue. `CMS_WRITE_DOCS=1` writes
//! it.

use std::{collections::BTreeMap, fs};

use serde_json::Value as Json;

use super::root;
use crate::support::Site;

const HEAD: &str = "| event | when | `data`, for example |\n|---|---|---|\n";

/// A row for each event of the service, those of items aside. An example stands there once.
async fn table(site: &Site) -> String {
    let list = site.admin("GET /api/backend/webhooks/events?limit=500").expect(200).await.data();
    let (mut rows, mut shown) = (HEAD.to_owned(), BTreeMap::new());
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
    let path = root().join("docs/webhooks.md");
    let page = fs::read_to_string(&path).unwrap();
    let begin = page.find(HEAD).expect("the table");
    let end = begin + page[begin..].find("\n\n").expect("an end") + 1;
    let table = table(&Site::open().await).await;
    if std::env::var_os("CMS_WRITE_DOCS").is_some() {
        fs::write(&path, format!("{}{table}{}", &page[..begin], &page[end..])).unwrap();
    } else {
        assert_eq!(page[begin..end], table, "CMS_WRITE_DOCS=1 writes it");
    }
}
