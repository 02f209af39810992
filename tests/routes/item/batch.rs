//! Several records in one request, and ids given by the caller.

use serde_json::json;

use super::{create, ids, site};

#[tokio::test]
async fn a_batch_is_written_whole_or_not_at_all() {
    let site = site().await;
    let rows = json!([{"name": "A"}, {"name": "B", "email": "b@example.org"}, {"name": "C"}]);
    let created = site.admin("POST /api/backend/item?table=authors").json(rows).expect(201).await;
    assert_eq!(ids(&created), [1, 2, 3]);
    let before = site.traces().await;
    let rows = json!([{"name": "D"}, {"name": "E", "email": "b@example.org"}]);
    let refused = site
        .admin("POST /api/backend/item?table=authors")
        .json(rows)
        .refused(409, "conflict")
        .await;
    assert!(refused.json()["detail"].as_str().unwrap().starts_with("Entry 1: "));
    let rows = json!([{"name": "D"}, {"email": 5}]);
    let refused = site
        .admin("POST /api/backend/item?table=authors")
        .json(rows)
        .refused(422, "validation_failed")
        .await;
    assert_eq!(refused.json()["errors"][0]["field"], "[1].name");
    assert_eq!(site.traces().await, before);
    assert_eq!(site.database.count("select count(*) from authors").await, 3);
}

#[tokio::test]
async fn rows_with_ids_of_their_own_leave_the_counter_ahead() {
    let site = site().await;
    create(&site, "authors", json!({"id": 41, "name": "a"})).await;
    assert_eq!(create(&site, "authors", json!({"name": "b"})).await["id"], 42);
    create(&site, "authors", json!({"id": 7, "name": "c"})).await;
    assert_eq!(create(&site, "authors", json!({"name": "d"})).await["id"], 43);
    site.admin("POST /api/backend/item?table=authors")
        .json(json!({"id": 41, "name": "e"}))
        .refused(409, "conflict")
        .await;
    site.admin("DELETE /api/backend/item?table=authors&id=43").expect(204).await;
    assert_eq!(
        create(&site, "authors", json!({"name": "f"})).await["id"],
        44,
        "an id is never given twice"
    );
}

#[tokio::test]
async fn batches_and_ids_have_limits() {
    let site = site().await;
    let before = site.traces().await;
    let rows = json!(vec![json!({"name": "x"}); 1001]);
    site.admin("POST /api/backend/item?table=authors")
        .json(rows)
        .refused(422, "validation_failed")
        .await;
    for id in [9_007_199_254_740_992_i64, i64::MAX] {
        site.admin("POST /api/backend/item?table=authors")
            .json(json!({"id": id, "name": "x"}))
            .refused(422, "validation_failed")
            .await;
    }
    assert_eq!(site.traces().await, before);
    create(&site, "authors", json!({"name": "x"})).await;
}
