//! `If-Match`: a stale change is refused, and of two writers one wins.

use serde_json::json;

use super::site;
use crate::support::Site;

const ONE: &str = "/api/backend/item?table=authors&id=1";

/// The entity tag of the author that is made.
async fn tag_of_ada(site: &Site) -> String {
    site.insert("authors", json!({"name": "Ada"})).await;
    site.admin(&format!("GET {ONE}")).expect(200).await.header("etag").to_owned()
}

#[tokio::test]
async fn a_stale_change_is_refused() {
    let site = site().await;
    let etag = tag_of_ada(&site).await;
    let patch = |tag: &str, name: &str| {
        let patch = site.admin(&format!("PATCH {ONE}")).header("if-match", tag);
        patch.json(json!({"name": name}))
    };
    let second = patch(&etag, "B").expect(200).await.header("etag").to_owned();
    let before = site.traces().await;
    patch(&etag, "C").refused(412, "stale").await;
    let delete = site.admin(&format!("DELETE {ONE}")).header("if-match", &etag);
    delete.refused(412, "stale").await;
    let weak = patch(&format!("W/{second}"), "C").refused(412, "stale").await;
    assert!(weak.text().contains("Send the tag without W/."), "{}", weak.text());
    assert_eq!(site.traces().await, before);
    patch(&format!("\"x\", {second}"), "D").expect(200).await;
    patch("*", "E").expect(200).await;

    site.insert("guarded", json!({"title": "a"})).await;
    let guarded = "/api/backend/item?table=guarded";
    let patch = site.admin(&format!("PATCH {guarded}&id=1")).json(json!({"title": "b"}));
    patch.refused(428, "precondition_required").await;
    site.admin(&format!("DELETE {guarded}&id=1")).header("if-match", "*").expect(204).await;

    let checklist = |id: i64| {
        let body = json!({"table": "guarded", "column": "tags", "id": id, "add": ["x"]});
        site.admin("POST /api/backend/actions/checklist").json(body)
    };
    let created = site.admin(&format!("POST {guarded}")).json(json!({"title": "a"}));
    let etag = created.expect(201).await.header("etag").to_owned();
    checklist(2).refused(428, "precondition_required").await;
    checklist(2).header("if-match", "\"x\"").refused(412, "stale").await;
    checklist(2).header("if-match", &etag).expect(200).await;
    checklist(2).header("if-match", &etag).refused(412, "stale").await;
}

#[tokio::test]
async fn what_has_no_tag_matches_none() {
    let site = site().await;
    let key = site.create("/api/backend/keys", json!({"name": "shop", "rights": []})).await;
    let one = format!("/api/backend/keys?id={}", key["id"]);
    let rename = |tag: &str| {
        site.admin(&format!("PATCH {one}")).header("if-match", tag).json(json!({"name": "b"}))
    };
    let delete = |tag: &str| site.admin(&format!("DELETE {one}")).header("if-match", tag);
    let before = site.traces().await;
    rename("\"x\"").refused(412, "stale").await;
    delete("\"x\", W/\"y\"").refused(412, "stale").await;
    for line in [
        "DELETE /api/backend/pagebuilder?action=link&id=1",
        "DELETE /api/backend/pagebuilder/link/1",
        "DELETE /api/backend/cache",
        "DELETE /api/backend/limits",
    ] {
        site.admin(line).header("if-match", "\"x\"").refused(412, "stale").await;
    }
    assert_eq!(site.traces().await, before);
    // Rights come first.
    let narrow = site.key(&["GET /api/pages"]).await;
    let refused = site.ask(&format!("DELETE {one}")).key(&narrow).header("if-match", "\"x\"");
    refused.refused(401, "api_key_forbidden").await;
    rename("*").expect(200).await;
    delete("*").expect(204).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_two_writers_at_once_one_wins() {
    let site = site().await;
    let etag = tag_of_ada(&site).await;
    let writers = (0..8).map(|i| {
        let patch = site.admin(&format!("PATCH {ONE}")).header("if-match", &etag);
        patch.json(json!({"name": format!("w{i}")})).send()
    });
    let replies = futures_util::future::join_all(writers).await;
    let mut statuses: Vec<_> = replies.iter().map(|reply| reply.status.as_u16()).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 412, 412, 412, 412, 412, 412, 412]);
    assert_eq!(site.database.rows("cms_events where name = 'item.authors.updated'").await, 1);
}
