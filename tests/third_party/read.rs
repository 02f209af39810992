//! Reading: every row of every table, page by page, one by one, in every order.

use serde_json::Value as Json;

use super::{Sample, encoded, item, matching, truth, walk};
use crate::support::Site;

async fn every_row_is_read(sample: Sample) {
    let site = sample.open().await;
    for name in truth::tables(&site.database).await {
        let table = truth::table(&site.database, &name).await;
        let found = walk(&site, &name, 7, &[]).await;
        let mut lines = found.join("\n");
        if !lines.is_empty() {
            lines.push('\n');
        }
        sample.golden(&format!("{name}.jsonl"), &lines);

        let mut expected = truth::rows(&site.database, &name, &table).await;
        let mut spelled: Vec<_> = found.iter().map(|json| truth::record(&table, json)).collect();
        if table.key.is_empty() {
            expected.sort();
            spelled.sort();
        }
        assert_eq!(spelled.len(), expected.len(), "{name}");
        for (found, expected) in spelled.iter().flatten().zip(expected.iter().flatten()) {
            assert!(truth::same(found, expected), "{name}: {found} instead of {expected}");
        }
        every_id_is_found(&site, &name, &table, &found).await;
    }
}

/// The id of a record as `id=` takes it.
pub fn id_of(table: &truth::Table, record: &Json) -> String {
    let part = |name: &String| record[name].clone();
    match table.key.as_slice() {
        [one] => match part(one) {
            Json::String(text) => text,
            other => other.to_string(),
        },
        many => Json::Array(many.iter().map(part).collect()).to_string(),
    }
}

async fn every_id_is_found(site: &Site, name: &str, table: &truth::Table, found: &[String]) {
    if table.key.is_empty() {
        site.admin(&format!("GET {}", item(name, &[("id", "1")]))).refused(400, "bad_query").await;
        for method in ["POST", "PATCH", "DELETE"] {
            let id = if method == "POST" { "" } else { "&id=1" };
            let ask = site.admin(&format!("{method} {}{id}", item(name, &[])));
            let ask = if method == "DELETE" { ask } else { ask.json(serde_json::json!({"a": 1})) };
            let reply = ask.refused(405, "method_not_allowed").await;
            let allow = reply.header("allow").to_owned();
            assert!(allow.contains("GET") && !allow.contains(method), "{method} {name}: {allow}");
        }
        return;
    }
    for json in found {
        let id = id_of(table, &serde_json::from_str(json).unwrap());
        let line = format!("GET {}&id={}", item(name, &[]), encoded(&id));
        let reply = site.admin(&line).expect(200).await;
        assert_eq!(reply.text(), format!("{{\"data\":{json}}}"), "{line}");
        let tag = reply.header("etag").to_owned();
        assert!(tag.starts_with('"') && tag.len() == 24, "{tag}");
        site.admin(&line).header("if-none-match", &tag).expect(304).await;
    }
    let first = table.columns.iter().find(|column| column.0 == table.key[0]).unwrap().1;
    let more = table.key.len() - 1;
    let missing = match (more, first) {
        (0, truth::Meaning::Integer) => "9223372036854775807".to_owned(),
        (0, _) => "none, of /this ü?".to_owned(),
        (_, truth::Meaning::Integer) => format!("[0{}]", ",\"0\"".repeat(more)),
        _ => format!("[\"\"{}]", ",\"\"".repeat(more)),
    };
    site.admin(&format!("GET {}", item(name, &[("id", &missing)]))).refused(404, "not_found").await;
    if table.key.len() > 1 {
        for id in ["1", "[1]", "[1,2,3,4]", "[1,", "{}"] {
            let line = format!("GET {}", item(name, &[("id", id)]));
            site.admin(&line).refused(400, "bad_query").await;
        }
    }
}

#[tokio::test]
async fn northwind_is_read_as_the_database_says() {
    every_row_is_read(Sample::Northwind).await;
}

#[tokio::test]
async fn shopware_is_read_as_the_database_says() {
    every_row_is_read(Sample::Shopware).await;
}

/// Sorts every table by every column both ways; the golden file keeps the order, so it is one for
/// both engines.
async fn every_order_is_total(sample: Sample) {
    let site = sample.open().await;
    let mut orders = String::new();
    for name in truth::tables(&site.database).await {
        let table = truth::table(&site.database, &name).await;
        let rows = matching(&site, &name, ("offset", "0")).await;
        if rows.is_empty() {
            continue;
        }
        // The key says which row it is; 77 columns of each would only take time.
        let shown = table.key.join(",");
        let row_of = |row: &Json| match table.key.is_empty() {
            true => row.clone(),
            false => table.key.iter().map(|column| row[column].clone()).collect(),
        };
        let known: Vec<Json> = rows.iter().map(row_of).collect();
        for (column, meaning) in &table.columns {
            if *meaning == truth::Meaning::Bytes {
                let line = format!("GET {}", item(&name, &[("sort", column)]));
                site.admin(&line).refused(400, "bad_query").await;
                continue;
            }
            // Small pages where the order shows something, else two.
            let all_null = rows.iter().all(|row| row[column].is_null());
            let limit = rows.len().div_ceil(if all_null { 2 } else { 5 });
            for sort in [column.clone(), format!("-{column}")] {
                let found = walk(&site, &name, limit, &[("sort", &sort), ("fields", &shown)]).await;
                let place = |json: &String| {
                    let row = row_of(&serde_json::from_str(json).unwrap());
                    known.iter().position(|known| *known == row).unwrap()
                };
                let places: Vec<_> = found.iter().map(place).collect();
                let mut once = places.clone();
                once.sort_unstable();
                assert_eq!(once, (0..rows.len()).collect::<Vec<_>>(), "{name} {sort}");
                let nulls: Vec<_> =
                    places.iter().map(|place| rows[*place][column].is_null()).collect();
                assert!(nulls.is_sorted(), "{name} {sort}: nulls are last");
                orders.push_str(&format!("{name} {sort} {places:?}\n"));
            }
        }
    }
    sample.golden("orders.txt", &orders);
}

#[tokio::test]
async fn northwind_sorts_by_every_column() {
    every_order_is_total(Sample::Northwind).await;
}

#[tokio::test]
async fn shopware_sorts_by_every_column() {
    every_order_is_total(Sample::Shopware).await;
}
