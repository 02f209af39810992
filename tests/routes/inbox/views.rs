//! Saved views: each caller's own.

use serde_json::{Value as Json, json};

use super::{at, post, site};

#[tokio::test]
async fn a_view_is_saved_replaced_and_deleted() {
    let site = site().await;
    let query = json!({"filter": {"inbox_status": "new", "search": "ada"}, "sort": "-score"});
    let saved = post(&site, "views", json!({"name": "Mine", "query": query})).expect(200).await;
    let id = saved.data()["id"].clone();
    post(&site, "views", json!({"name": "All"})).expect(200).await;
    let list = async || site.admin(&at("GET", "views")).expect(200).await.data();
    let names = |list: &Json| -> Vec<String> {
        list.as_array().unwrap().iter().map(|v| v["name"].as_str().unwrap().to_owned()).collect()
    };
    let listed = list().await;
    assert_eq!(names(&listed), ["All", "Mine"]);
    assert_eq!((&listed[0]["query"], &listed[1]["query"]), (&json!({"filter": {}}), &query));
    let other = json!({"filter": {"is_spam": false}});
    let again = post(&site, "views", json!({"name": "Mine", "query": other})).expect(200).await;
    assert_eq!((&again.data()["id"], &again.data()["query"]), (&id, &other));
    let delete = at("DELETE", &format!("views&id={id}"));
    site.admin(&delete).expect(204).await;
    site.admin(&delete).refused(404, "not_found").await;
    assert_eq!(names(&list().await), ["All"]);
}

#[tokio::test]
async fn everybody_has_views_of_their_own() {
    let site = site().await;
    let rights = json!(["formfunnel_inbox_view", "formfunnel_inbox_edit"]);
    let (ana, bob) = (site.person("ana", rights.clone()).await, site.person("bob", rights).await);
    let view = json!({"name": "Mine"});
    let line = at("POST", "views");
    let saved = site.ask(&line).bearer(&ana.token).json(view.clone()).expect(200).await.data();
    site.ask(&line).bearer(&bob.token).json(view).expect(200).await;
    let delete = at("DELETE", &format!("views&id={}", saved["id"]));
    site.ask(&delete).bearer(&bob.token).refused(404, "not_found").await;
    for person in [&ana, &bob] {
        let list = site.ask(&at("GET", "views")).bearer(&person.token).expect(200).await;
        assert_eq!(list.data().as_array().unwrap().len(), 1);
    }
    assert_eq!(site.admin(&at("GET", "views")).expect(200).await.data(), json!([]));
    site.admin(&format!("DELETE /api/backend/users?id={}", ana.id)).expect(204).await;
    let left = "select count(*) from cms_formfunnel_views";
    assert_eq!(site.database.count(left).await, 1, "they go with their user");
}

#[tokio::test]
async fn what_could_not_be_listed_is_not_saved() {
    let site = site().await;
    for view in [
        json!({"name": ""}),
        json!({"name": " a"}),
        json!({"name": "a\u{1b}b"}),
        json!({"name": "x".repeat(101)}),
        json!({"name": "a", "query": {"filter": {"inbox_state": "new"}}}),
        json!({"name": "a", "query": {"filter": {"inbox_status": "nwe"}}}),
        json!({"name": "a", "query": {"filter": {"is_spam": "maybe"}}}),
        json!({"name": "a", "query": {"sort": "session_uuid"}}),
        json!({"name": "a", "query": {"limit": 5}}),
        json!({"name": "a", "filter": {}}),
    ] {
        post(&site, "views", view).refused(422, "validation_failed").await;
    }
    for number in 0..100 {
        post(&site, "views", json!({"name": number.to_string()})).expect(200).await;
    }
    post(&site, "views", json!({"name": "100"})).refused(422, "validation_failed").await;
    post(&site, "views", json!({"name": "99"})).expect(200).await;
}
