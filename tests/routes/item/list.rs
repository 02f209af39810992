//! Lists of records: filters, order, cursors.

use serde_json::{Value as Json, json};

use super::{ids, site};
use crate::support::each;

#[tokio::test]
async fn filters_find_what_they_say() {
    let site = site().await;
    let rows = json!([
        {"title": "Äpfel", "rating": "1.5", "published_at": "2026-01-01T00:00:00Z", "tags": ["a"]},
        {"title": "apple Pie", "rating": 10, "published_at": "2026-01-01T00:00:00.5Z"},
        {"title": "Zebra", "rating": null, "published_at": null, "tags": {"x": 1}},
        {"title": "100%_sure", "rating": "2.25"},
        {"title": "apple", "rating": -3, "published_at": "2025-12-31T23:59:59Z"},
    ]);
    site.insert("blog", rows).await;
    for (filter, expected) in [
        ("filter[title][eq]=apple", vec![5]),
        ("filter[title]=apple", vec![5]),
        ("filter[title][ne]=apple", vec![1, 2, 3, 4]),
        ("filter[title][contains]=APPLE", vec![2, 5]),
        ("filter[title][contains]=%25_", vec![4]),
        ("filter[title][contains]=%C3%A4", vec![]),
        ("filter[title][starts_with]=apple", vec![2, 5]),
        ("filter[title][starts_with]=Apple", vec![]),
        ("filter[title][ends_with]=Pie", vec![2]),
        ("filter[title][ends_with]=%C3%84pfel", vec![1]),
        ("filter[title][ends_with]=longer%20than%20all%20of%20them", vec![]),
        ("filter[title][gt]=apple", vec![1, 2]),
        ("filter[title][in]=apple,Zebra", vec![3, 5]),
        ("filter[title][nin]=apple,Zebra", vec![1, 2, 4]),
        ("filter[rating][eq]=1.50", vec![1]),
        ("filter[rating][gt]=2", vec![2, 4]),
        ("filter[rating][lte]=1.5", vec![1, 5]),
        ("filter[rating][ne]=10", vec![1, 3, 4, 5]),
        ("filter[rating][null]=true", vec![3]),
        ("filter[rating][null]=false", vec![1, 2, 4, 5]),
        ("filter[rating][in]=10,-3", vec![2, 5]),
        ("filter[published_at][eq]=2026-01-01T01:00:00%2B01:00", vec![1]),
        ("filter[published_at][gt]=2026-01-01T00:00:00Z", vec![2]),
        ("filter[published_at][lt]=2026-01-01", vec![5]),
        ("filter[published_at][null]=true", vec![3, 4]),
        ("filter[id][gte]=4", vec![4, 5]),
        ("filter[rating][gt]=0&filter[title][contains]=p", vec![1, 2]),
        ("search=PIE", vec![2]),
        ("search=apple&filter[id][lt]=5", vec![2]),
        ("language=en&filter[id]=2", vec![2]),
        ("language=de", vec![]),
    ] {
        let line = format!("GET /api/backend/item?table=blog&count=true&{filter}");
        let reply = site.admin(&line).expect(200).await.json();
        assert_eq!(ids(&reply["data"]), expected, "{filter}");
        assert_eq!(reply["meta"]["total"], expected.len(), "{filter}");
    }
}

#[tokio::test]
async fn every_order_pages_through_all_rows_once() {
    let site = site().await;
    let rows: Vec<_> = (0..23)
        .map(|i| {
            json!({
                "title": (["b", "a", "ä", "B", ""][i % 5]),
                "rating": (i % 4 != 0).then(|| f64::from(i as u32 % 3) + 0.1),
                "published_at":
                    (i % 7 != 0).then(|| format!("2026-01-{:02}T00:00:00Z", i % 3 + 1)),
            })
        })
        .collect();
    site.insert("blog", json!(rows)).await;
    let sorts = "id -id title -title rating,-title -rating -published_at,rating \
                 published_at,-rating,title language_short \
                 rating,published_at,title,language_short,-author_id \
                 published_at,-rating&filter[language_short]=en";
    for sort in sorts.split(' ') {
        let list = format!("blog&sort={sort}");
        let whole = ids(&site.items(&list).await);
        let mut sorted = whole.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (1..=23).collect::<Vec<_>>(), "{sort}");
        for limit in [1, 4, 22, 23] {
            let path = format!("/api/backend/item?table={list}&limit={limit}");
            let found: Vec<i64> = site.pages(&path).await.iter().flat_map(ids).collect();
            assert_eq!(found, whole, "{sort} by {limit}");
        }
        let skipped = ids(&site.items(&format!("{list}&offset=20")).await);
        assert_eq!(skipped, whole[20..], "{sort}");
    }
    let titles = each(&site.items("blog&sort=title&fields=title&limit=500").await, "title");
    let titles: Vec<_> = titles.iter().map(|title| title.as_str().unwrap()).collect();
    assert!(titles.is_sorted(), "text is sorted by code point: {titles:?}");
    let last = each(&site.items("blog&sort=-rating&limit=500").await, "rating");
    assert!(last[17..].iter().all(Json::is_null), "nulls come last");
}

#[tokio::test]
async fn filters_that_rights_demand_hold_for_one_record_too() {
    let site = site().await;
    site.insert("settings", json!([{"name": "open", "public": true}, {"name": "closed"}])).await;
    let public = "GET /api/backend/item?table=settings&filter[public]=true";
    let key = site.key(&[public]).await;
    let get = |rest: &str| site.ask(&format!("{public}{rest}")).key(&key);
    get("&id=open").expect(200).await;
    get("&id=closed").refused(404, "not_found").await;
    get("&id=open&search=nothing").refused(404, "not_found").await;
}

#[tokio::test]
async fn ties_follow_the_direction_of_the_last_sort_column() {
    let site = site().await;
    let rows: Vec<_> = (0..6).map(|i| json!({"title": "t", "rating": i % 2})).collect();
    site.insert("blog", json!(rows)).await;
    for (query, expected) in [
        ("", [1, 2, 3, 4, 5, 6]),
        ("&sort=title", [1, 2, 3, 4, 5, 6]),
        ("&sort=-title", [6, 5, 4, 3, 2, 1]),
        ("&sort=rating", [1, 3, 5, 2, 4, 6]),
        ("&sort=-rating", [6, 4, 2, 5, 3, 1]),
        ("&sort=rating,-title", [5, 3, 1, 6, 4, 2]),
        ("&sort=-title,rating", [1, 3, 5, 2, 4, 6]),
        ("&sort=-rating,id", [2, 4, 6, 1, 3, 5]),
        // A column with one value decides nothing, yet it is the last one.
        ("&filter[title]=t&sort=-title", [6, 5, 4, 3, 2, 1]),
        ("&filter[title]=t&sort=-rating,title", [2, 4, 6, 1, 3, 5]),
    ] {
        assert_eq!(ids(&site.items(&format!("blog{query}")).await), expected, "{query}");
    }
}
