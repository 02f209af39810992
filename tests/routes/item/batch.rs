//! Several records in one request, and ids given by the caller.

use serde_json::{Value as Json, json};

use super::{ids, site};
use crate::support::{Site, each};

const AUTHORS: &str = "POST /api/backend/item?table=authors";

#[tokio::test]
async fn a_batch_is_written_whole_or_not_at_all() {
    let site = site().await;
    let rows = json!([{"name": "A"}, {"name": "B", "email": "b@example.org"}, {"name": "C"}]);
    assert_eq!(ids(&site.insert("authors", rows).await), [1, 2, 3]);
    let before = site.traces().await;
    let rows = json!([{"name": "D"}, {"name": "E", "email": "b@example.org"}]);
    let refused = site.admin(AUTHORS).json(rows).refused(409, "conflict").await.json();
    assert!(refused["detail"].as_str().unwrap().starts_with("Entry 1 (counted from 0): Another"));
    assert_eq!(refused["errors"][0]["field"], "[1].email");
    let rows = json!([{"name": "D"}, {"email": 5}]);
    let refused = site.admin(AUTHORS).json(rows).refused(422, "validation_failed").await;
    assert_eq!(refused.json()["errors"][0]["field"], "[1].name");
    assert_eq!(site.traces().await, before);
    assert_eq!(site.database.rows("authors").await, 3);
}

#[tokio::test]
async fn rows_with_ids_of_their_own_leave_the_counter_ahead() {
    let site = site().await;
    let made = async |author: Json| site.insert("authors", author).await["id"].clone();
    assert_eq!(made(json!({"id": 41, "name": "a"})).await, 41);
    assert_eq!(made(json!({"name": "b"})).await, 42);
    assert_eq!(made(json!({"id": 7, "name": "c"})).await, 7);
    assert_eq!(made(json!({"name": "d"})).await, 43);
    site.admin(AUTHORS).json(json!({"id": 41, "name": "e"})).refused(409, "conflict").await;
    site.remove("authors&id=43").await;
    assert_eq!(made(json!({"name": "f"})).await, 44, "an id is never given twice");
}

#[tokio::test]
async fn batches_and_ids_have_limits() {
    let site = site().await;
    let before = site.traces().await;
    for wrong in [
        json!(vec![json!({"name": "x"}); 1001]),
        json!({"id": 9_007_199_254_740_992_i64, "name": "x"}),
        json!({"id": i64::MAX, "name": "x"}),
    ] {
        site.admin(AUTHORS).json(wrong).refused(422, "validation_failed").await;
    }
    assert_eq!(site.traces().await, before);
    site.insert("authors", json!({"name": "x"})).await;
}

async fn events(site: &Site) -> i64 {
    site.database.rows("cms_events where name like 'item.%'").await
}

#[tokio::test]
async fn administrators_write_records_without_events() {
    let site = site().await;
    let hook = json!({"name": "w", "url": "https://hook.example.org", "events": ["*"]});
    site.create("/api/backend/webhooks", hook).await;
    let jobs = async || site.database.rows("cms_webhook_queue").await;
    let before = (events(&site).await, jobs().await);
    let made = site.insert("authors&no_events=true", json!([{"name": "A"}, {"name": "B"}])).await;
    site.insert("authors&no_events=true", json!({"name": "C"})).await;
    // Also what is raised beside the record: this page is published by its import.
    let page = json!({"language_short": "en", "url_rewrite": "/", "title": "A", "published": true});
    site.insert("pages&no_events=true", page).await;
    assert_eq!(ids(&made), [1, 2]);
    assert_eq!((events(&site).await, jobs().await), before);
    assert_eq!(site.database.rows("cms_events where name = 'page.published'").await, 0);

    // The audit log has each row, and that it was written so.
    let audit = site.get("/api/backend/audit?table=authors").await;
    let acts = ["create", "no_events", "create", "create", "no_events", "install"];
    assert_eq!(each(&audit, "action"), acts);

    // A cache made before is not served after.
    assert_eq!(ids(&site.items("authors").await), [1, 2, 3]);
    site.insert("authors&no_events=false", json!({"name": "D"})).await;
    assert_eq!(events(&site).await, before.0 + 1);
}

#[tokio::test]
async fn nobody_else_writes_records_without_events() {
    let site = site().await;
    let key = site.key(&["GET,POST /api/backend/item?table=authors"]).await;
    let person = site.person("bo", json!(["settings_settings_edit"])).await;
    let before = site.traces().await;
    let row = json!({"name": "A"});
    let silent = "POST /api/backend/item?table=authors&no_events=true";
    site.ask(silent).key(&key).json(row.clone()).refused(403, "permission_denied").await;
    let setting = json!({"name": "a", "value": "b", "public": true});
    let settings = "POST /api/backend/item?table=settings";
    let unheard = site.ask(&format!("{settings}&no_events=true")).bearer(&person.token);
    unheard.json(setting.clone()).refused(403, "permission_denied").await;
    assert_eq!(site.traces().await, before);
    site.admin(&format!("{silent}x")).json(row.clone()).refused(400, "bad_query").await;
    site.ask(settings).bearer(&person.token).json(setting).expect(201).await;
    site.ask(AUTHORS).key(&key).json(row).expect(201).await;
    let chief = site.person("cy", json!("0")).await;
    site.ask(silent).bearer(&chief.token).json(json!({"name": "B"})).expect(201).await;
}
