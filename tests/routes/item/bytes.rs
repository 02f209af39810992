//! A page of records ends early at a limit in bytes.

use serde_json::{Value as Json, json};

use super::{blog, ids};
use crate::support::Site;

const LIMIT: usize = 10_000;

async fn site() -> Site {
    let site = Site::builder().await.plugin(blog());
    site.settings(|s| s.http.page_limit_bytes = LIMIT as u64).open().await
}

/// Every page of a list: the ids, and the bytes of its records.
async fn pages(site: &Site, table: &str, query: &str) -> Vec<(Vec<i64>, usize)> {
    let pages = site.pages(&format!("/api/backend/item?table={table}{query}")).await;
    let bytes =
        |page: &Json| page.as_array().unwrap().iter().map(|row| row.to_string().len()).sum();
    pages.iter().map(|page| (ids(page), bytes(page))).collect()
}

/// Authors whose records have about so many bytes each.
async fn create(site: &Site, sizes: impl IntoIterator<Item = usize>) {
    let author = |bytes: usize| json!({"name": "ä".repeat(bytes / 2)});
    let rows: Vec<Json> = sizes.into_iter().map(author).collect();
    site.insert("authors", json!(rows)).await;
}

#[tokio::test]
async fn a_page_ends_early_and_no_record_is_lost_or_doubled() {
    let site = site().await;
    // Small ones, one that is larger than a page, large ones, and one that just fits beside none.
    create(&site, [100, 100, 30_000, 4_000, 4_000, 4_000, 9_900, 100, 20_000, 20_000]).await;
    for (query, expected) in [
        ("", vec![vec![1, 2], vec![3], vec![4, 5], vec![6], vec![7], vec![8], vec![9], vec![10]]),
        (
            "&limit=2",
            vec![vec![1, 2], vec![3], vec![4, 5], vec![6], vec![7], vec![8], vec![9], vec![10]],
        ),
        ("&limit=1", (1..=10).map(|id| vec![id]).collect()),
        (
            "&sort=-id&limit=500",
            vec![vec![10], vec![9], vec![8], vec![7], vec![6, 5], vec![4], vec![3], vec![2, 1]],
        ),
        ("&fields=id", vec![(1..=10).collect()]),
        ("&filter[id][lte]=2", vec![vec![1, 2]]),
    ] {
        let found = pages(&site, "authors", query).await;
        let ids: Vec<_> = found.iter().map(|(ids, _)| ids.clone()).collect();
        assert_eq!(ids, expected, "{query}");
        assert!(found.iter().all(|(ids, bytes)| ids.len() == 1 || *bytes <= LIMIT), "{found:?}");
    }
    let page = site.admin("GET /api/backend/item?table=authors&count=true&limit=5").expect(200);
    let meta = page.await.json()["meta"].clone();
    assert_eq!((&meta["total"], &meta["limit"]), (&json!(10), &json!(5)));
}

#[tokio::test]
async fn a_page_below_the_limit_is_whole_however_its_bytes_are_spread() {
    let site = site().await;
    create(&site, (0..50).map(|n| if n == 20 { 4_000 } else { 50 })).await;
    let found = pages(&site, "authors", "").await;
    assert_eq!(found.len(), 1);
    assert!(found[0].1 > 4_000 && found[0].1 < LIMIT, "{found:?}");
}

#[tokio::test]
async fn a_table_without_a_key_goes_on_where_its_page_ended() {
    let database = crate::support::TestDatabase::new().await;
    database.run("create table legacy (id bigint, name text)").await;
    for id in 1..=5 {
        let name = "x".repeat(if id == 3 { 12_000 } else { 4_000 });
        database.run(format!("insert into legacy values ({id}, '{name}')")).await;
    }
    let adopted = json!({"id": "old", "tables": [{"name": "legacy", "adopt": true}]});
    let site = Site::on(database).plugin(adopted);
    let site = site.settings(|s| s.http.page_limit_bytes = LIMIT as u64).open().await;
    let ids: Vec<_> = pages(&site, "legacy", "").await.into_iter().map(|(ids, _)| ids).collect();
    assert_eq!(ids, [vec![1, 2], vec![3], vec![4, 5]]);
}
