//! Several records in one request, and ids given by the caller.

use serde_json::json;

use super::{create, ids, site};
use crate::support::Site;

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

async fn events(site: &Site) -> i64 {
    site.database.count("select count(*) from cms_events where name like 'item.%'").await
}

#[tokio::test]
async fn administrators_write_records_without_events() {
    let site = site().await;
    let silent = "POST /api/backend/item?table=authors&no_events=true";
    let hook = json!({"name": "w", "url": "https://hook.example.org", "events": ["*"]});
    site.admin("POST /api/backend/webhooks").json(hook).expect(201).await;
    let jobs = "select count(*) from cms_webhook_queue";
    let (events_before, jobs_before) = (events(&site).await, site.database.count(jobs).await);
    let rows = json!([{"name": "A"}, {"name": "B"}]);
    let made = site.admin(silent).json(rows).expect(201).await;
    site.admin(silent).json(json!({"name": "C"})).expect(201).await;
    // Also what is raised beside the record: this page is published by its import.
    let page = json!({"language_short": "en", "url_rewrite": "/", "title": "A", "published": true});
    let pages = "POST /api/backend/item?table=pages&no_events=true";
    site.admin(pages).json(page).expect(201).await;
    assert_eq!(ids(&made), [1, 2]);
    assert_eq!(events(&site).await, events_before);
    let published = "select count(*) from cms_events where name = 'page.published'";
    assert_eq!(site.database.count(published).await, 0);
    assert_eq!(site.database.count(jobs).await, jobs_before);

    // The audit log has each row, and that it was written so.
    let audit = site.admin("GET /api/backend/audit?table=authors").expect(200).await.data();
    let acts = audit.as_array().unwrap().iter().map(|row| row["action"].as_str().unwrap());
    let acts: Vec<_> = acts.filter(|action| *action != "install").collect();
    assert_eq!(acts, ["create", "no_events", "create", "create", "no_events"]);

    // A cache made before is not served after.
    let listed = site.admin("GET /api/backend/item?table=authors").expect(200).await;
    assert_eq!(ids(&listed), [1, 2, 3]);
    site.admin("POST /api/backend/item?table=authors&no_events=false")
        .json(json!({"name": "D"}))
        .expect(201)
        .await;
    assert_eq!(events(&site).await, events_before + 1);
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
    site.ask(&format!("{settings}&no_events=true"))
        .bearer(&person.token)
        .json(setting.clone())
        .refused(403, "permission_denied")
        .await;
    assert_eq!(site.traces().await, before);
    site.admin(&format!("{silent}x")).json(row.clone()).refused(400, "bad_query").await;
    site.ask(settings).bearer(&person.token).json(setting).expect(201).await;
    site.ask("POST /api/backend/item?table=authors").key(&key).json(row).expect(201).await;
    let chief = site.person("cy", json!("0")).await;
    site.ask(silent).bearer(&chief.token).json(json!({"name": "B"})).expect(201).await;
}
