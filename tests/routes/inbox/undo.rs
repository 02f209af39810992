//! A bulk change taken back: exactly what it changed, and nothing that others changed since.

use serde_json::{Value as Json, json};

use super::{at, get, post, sent, site};
use crate::support::Site;

async fn undo(site: &Site) -> Json {
    post(site, "undo", json!({})).expect(200).await.data()
}

async fn bulk(site: &Site, body: Json) {
    post(site, "submissions_bulk", body).expect(200).await;
}

#[tokio::test]
async fn all_is_as_it_was_before() {
    let site = site().await;
    let (ada, bob, cy) =
        (sent(&site, "Ada", 10).await, sent(&site, "Bob", 10).await, sent(&site, "Cy", 10).await);
    let all = [ada, bob, cy];
    site.clock.advance(1000);
    post(&site, "submission_update", json!({"id": bob, "inbox_status": "contacted"}))
        .expect(200)
        .await;
    post(&site, "submission_update", json!({"id": cy, "inbox_status": "rejected"}))
        .expect(200)
        .await;
    let mut before = Vec::new();
    for id in all {
        before.push(get(&site, id).await);
    }
    site.clock.advance(1000);
    bulk(&site, json!({"op": "set_status", "ids": all, "value": "rejected"})).await;
    assert_eq!(get(&site, ada).await["inbox_status"], "rejected");
    assert_ne!(get(&site, ada).await["first_touched_at"], json!(null));
    let done = undo(&site).await;
    let expected = json!({"op": "set_status", "restored": 2, "changed_since": 0, "gone": 0});
    assert_eq!(done, expected);
    for (id, mut before) in all.into_iter().zip(before) {
        let mut now = get(&site, id).await;
        let steps = now["inbox_rev"].as_i64().unwrap() - before["inbox_rev"].as_i64().unwrap();
        assert_eq!(steps, if id == cy { 0 } else { 2 });
        // What was done and taken back is told, all the same.
        for member in ["inbox_rev", "history"] {
            (now[member], before[member]) = (Json::Null, Json::Null);
        }
        assert_eq!(now, before);
    }
    post(&site, "undo", json!({})).refused(404, "not_found").await;
    assert_eq!(site.raised("formfunnel.submission_updated").await, 6);
}

#[tokio::test]
async fn what_others_have_changed_since_stays() {
    let site = site().await;
    let mut all = Vec::new();
    for name in ["Ada", "Bob", "Cy", "Dan", "Eve", "Fay"] {
        all.push(sent(&site, name, 10).await);
    }
    bulk(&site, json!({"op": "set_status", "ids": all, "value": "qualified"})).await;
    let update = async |body: Json| {
        post(&site, "submission_update", body).expect(200).await;
    };
    update(json!({"id": all[0], "inbox_status": "converted"})).await;
    // There and back again: the value is the same, but it is no longer the bulk change's.
    update(json!({"id": all[1], "inbox_status": "converted"})).await;
    update(json!({"id": all[1], "inbox_status": "qualified"})).await;
    // Notes are no status.
    update(json!({"id": all[2], "inbox_notes": "called"})).await;
    post(&site, "submission_delete", json!({"id": all[3]})).expect(200).await;
    // A bulk change of somebody else.
    let key = site.key(&["POST /api/backend/formfunnel?action=submissions_bulk"]).await;
    let other = json!({"op": "set_status", "ids": [all[4]], "value": "contacted"});
    site.ask(&at("POST", "submissions_bulk")).key(&key).json(other).expect(200).await;
    let expected = json!({"op": "set_status", "restored": 2, "changed_since": 3, "gone": 1});
    assert_eq!(undo(&site).await, expected);
    for (at, status) in
        [(0, "converted"), (1, "qualified"), (2, "new"), (4, "contacted"), (5, "new")]
    {
        assert_eq!(get(&site, all[at]).await["inbox_status"], status, "{at}");
    }
    let noted = get(&site, all[2]).await;
    assert_eq!(noted["inbox_notes"], "called");
    assert_ne!(noted["first_touched_at"], json!(null), "somebody wrote the notes");
    assert_eq!(get(&site, all[5]).await["first_touched_at"], json!(null));
}

#[tokio::test]
async fn the_last_change_of_the_caller_is_meant() {
    let site = site().await;
    let ana = site.person("ana", json!(["formfunnel_inbox_view", "formfunnel_inbox_edit"])).await;
    let (ada, bob) = (sent(&site, "Ada", 10).await, sent(&site, "Bob", 10).await);
    let hers =
        |action: &str, body: Json| site.ask(&at("POST", action)).bearer(&ana.token).json(body);
    hers("undo", json!({})).refused(404, "not_found").await;
    let assign = json!({"op": "assign", "ids": [ada, bob], "value": ana.id});
    hers("submissions_bulk", assign).expect(200).await;
    bulk(&site, json!({"op": "set_status", "ids": [ada, bob], "value": "qualified"})).await;
    bulk(&site, json!({"op": "set_status", "ids": [ada], "value": "contacted"})).await;
    // What changes nothing, and what deletes, is nothing to take back.
    bulk(&site, json!({"op": "set_status", "ids": [ada], "value": "contacted"})).await;
    bulk(&site, json!({"op": "delete", "ids": [bob]})).await;
    let done = hers("undo", json!({})).expect(200).await.data();
    assert_eq!(done, json!({"op": "assign", "restored": 1, "changed_since": 0, "gone": 1}));
    let shown = get(&site, ada).await;
    assert_eq!(
        (&shown["assigned_to"], &shown["inbox_status"]),
        (&json!(null), &json!("contacted"))
    );
    assert_eq!(undo(&site).await["restored"], 1);
    assert_eq!(get(&site, ada).await["inbox_status"], "qualified");
    // Only the last one.
    post(&site, "undo", json!({})).refused(404, "not_found").await;
    let left = "select count(*) from cms_formfunnel_bulk_rows";
    assert_eq!(site.database.count(left).await, 0);
}
