//! Lists of records: filters, order, cursors.

use serde_json::json;

use super::{ids, site};

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
    site.admin("POST /api/backend/item?table=blog").json(rows).expect(201).await;
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
        let reply = site
            .admin(&format!("GET /api/backend/item?table=blog&count=true&{filter}"))
            .expect(200)
            .await;
        assert_eq!(ids(&reply), expected, "{filter}");
        assert_eq!(reply.json()["meta"]["total"], expected.len(), "{filter}");
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
    site.admin("POST /api/backend/item?table=blog").json(json!(rows)).expect(201).await;
    for sort in [
        "id",
        "-id",
        "title",
        "-title",
        "rating,-title",
        "-rating",
        "-published_at,rating",
        "published_at,-rating,title",
        "language_short",
        "rating,published_at,title,language_short,-author_id",
        "published_at,-rating&filter[language_short]=en",
    ] {
        let whole = ids(&site
            .admin(&format!("GET /api/backend/item?table=blog&sort={sort}"))
            .expect(200)
            .await);
        let mut sorted = whole.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (1..=23).collect::<Vec<_>>(), "{sort}");
        for limit in [1, 4, 22, 23] {
            let (mut found, mut cursor) = (Vec::new(), String::new());
            loop {
                let page = site
                    .admin(&format!(
                        "GET /api/backend/item?table=blog&sort={sort}&limit={limit}{cursor}"
                    ))
                    .expect(200)
                    .await;
                found.extend(ids(&page));
                match page.json()["meta"]["next"].as_str() {
                    Some(next) => cursor = format!("&cursor={next}"),
                    None => break,
                }
            }
            assert_eq!(found, whole, "{sort} by {limit}");
        }
        let skipped = ids(&site
            .admin(&format!("GET /api/backend/item?table=blog&sort={sort}&offset=20"))
            .expect(200)
            .await);
        assert_eq!(skipped, whole[20..], "{sort}");
    }
    let titles = site
        .admin("GET /api/backend/item?table=blog&sort=title&fields=title&limit=500")
        .expect(200)
        .await
        .data();
    let titles: Vec<_> = titles
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["title"].as_str().unwrap().to_owned())
        .collect();
    assert!(titles.is_sorted(), "text is sorted by code point: {titles:?}");
    let last = site
        .admin("GET /api/backend/item?table=blog&sort=-rating&limit=500")
        .expect(200)
        .await
        .data();
    assert!(
        last.as_array().unwrap()[17..].iter().all(|row| row["rating"].is_null()),
        "nulls come last"
    );
}

#[tokio::test]
async fn a_cursor_of_another_list_is_refused() {
    let site = site().await;
    site.admin("POST /api/backend/item?table=blog")
        .json(json!([{"title": "a"}, {"title": "b"}, {"title": "c"}]))
        .expect(201)
        .await;
    let page = site.admin("GET /api/backend/item?table=blog&limit=1&sort=title").expect(200).await;
    let cursor = page.json()["meta"]["next"].as_str().unwrap().to_owned();
    site.admin(&format!("GET /api/backend/item?table=blog&limit=2&sort=title&cursor={cursor}"))
        .expect(200)
        .await;
    for other in [
        "table=blog&sort=-title",
        "table=blog",
        "table=authors&sort=name",
        "table=blog&sort=title&filter[title]=a",
    ] {
        site.admin(&format!("GET /api/backend/item?{other}&cursor={cursor}"))
            .refused(400, "bad_query")
            .await;
    }
    for cursor in ["x", "AAAA", "", "W10", &cursor[1..]] {
        site.admin(&format!("GET /api/backend/item?table=blog&sort=title&cursor={cursor}"))
            .refused(400, "bad_query")
            .await;
    }
}

#[tokio::test]
async fn filters_that_rights_demand_hold_for_one_record_too() {
    let site = site().await;
    site.admin("POST /api/backend/item?table=settings")
        .json(json!([{"name": "open", "public": true}, {"name": "closed"}]))
        .expect(201)
        .await;
    let key = site.key(&["GET /api/backend/item?table=settings&filter[public]=true"]).await;
    let get = |rest: &str| {
        site.ask(&format!("GET /api/backend/item?table=settings&filter[public]=true{rest}"))
            .key(&key)
    };
    get("&id=open").expect(200).await;
    get("&id=closed").refused(404, "not_found").await;
    get("&id=open&search=nothing").refused(404, "not_found").await;
}

#[tokio::test]
async fn ties_follow_the_direction_of_the_last_sort_column() {
    let site = site().await;
    let rows: Vec<_> = (0..6).map(|i| json!({"title": "t", "rating": i % 2})).collect();
    site.admin("POST /api/backend/item?table=blog").json(json!(rows)).expect(201).await;
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
        let reply = site.admin(&format!("GET /api/backend/item?table=blog{query}")).expect(200);
        assert_eq!(ids(&reply.await), expected, "{query}");
    }
}
