//! Many submissions in one change, all or none; taken back: exactly what it changed, and nothing
//! that others changed since.

use serde_json::{Value as Json, json};

use super::{all_sent, at, bulk, get, ids, list::copies, revisions_are_told, sent, site, update};
use crate::support::{Site, has};

async fn undo(site: &Site) -> Json {
    site.staff("undo", json!({})).expect(200).await.data()
}

async fn in_state(site: &Site, status: &str) -> i64 {
    site.database.rows(&format!("cms_formfunnel_submissions where inbox_status = '{status}'")).await
}

#[tokio::test]
async fn ids_or_a_filter_say_which() {
    let site = site().await;
    let ana = site.person("ana", json!(["formfunnel_inbox_view"])).await;
    let [ada, bob, cy] = all_sent(&site, ["Ada", "Bob", "Cy"]).await;
    let some = json!([ada, bob, bob]);
    let done = bulk(&site, json!({"op": "set_status", "ids": some, "value": "qualified"})).await;
    assert_eq!(done, json!({"matched": 2, "changed": 2}));
    let filter = json!({"inbox_status": ["new", "qualified"]});
    let all = json!({"op": "set_status", "filter": filter, "expected": 3, "value": "qualified"});
    assert_eq!(bulk(&site, all).await, json!({"matched": 3, "changed": 1}));
    let cys = json!({"search": "y@"});
    let assign = json!({"op": "assign", "filter": cys, "expected": 1, "value": ana.id});
    assert_eq!(bulk(&site, assign).await["changed"], 1);
    assert_eq!(get(&site, cy).await["assigned_name"], "ana");
    let nobody = json!({"op": "assign", "ids": [cy], "value": null});
    assert_eq!(bulk(&site, nobody).await["changed"], 1);
    assert_eq!(get(&site, cy).await["assigned_to"], json!(null));
    has!(get(&site, ada).await, {"inbox_status": "qualified", "inbox_rev": 1});
    let delete = json!({"op": "delete", "ids": [ada, cy], "expected": 2});
    assert_eq!(bulk(&site, delete).await, json!({"matched": 2, "changed": 2}));
    assert_eq!(ids(&site, "").await, [bob]);
    assert_eq!(site.raised("formfunnel.submission_updated").await, 5);
    assert_eq!(site.raised("formfunnel.submission_deleted").await, 2);
}

#[tokio::test]
async fn what_cannot_be_read_meets_nothing() {
    let site = site().await;
    let id = sent(&site, "Ada", 10).await;
    for body in [
        json!({"op": "set_status", "value": "rejected"}),
        json!({"op": "set_status", "ids": [], "value": "rejected"}),
        json!({"op": "set_status", "ids": [id], "filter": {}, "expected": 1, "value": "rejected"}),
        json!({"op": "set_status", "filter": {}, "value": "rejected"}),
        json!({"op": "set_status", "ids": [id], "value": "done"}),
        json!({"op": "set_status", "ids": [id], "value": null}),
        json!({"op": "set_status", "ids": [id]}),
        json!({"op": "set_status", "ids": ["1"], "value": "rejected"}),
        json!({"op": "assign", "ids": [id], "value": 99}),
        json!({"op": "assign", "ids": [id], "value": "ana"}),
        json!({"op": "delete", "ids": [id], "value": "all"}),
        json!({"op": "remove", "ids": [id]}),
        json!({"op": "delete", "filter": {"inbox_state": "new"}, "expected": 1}),
        json!({"op": "delete", "filter": {"inbox_status": {"like": "n"}}, "expected": 1}),
        json!({"op": "delete", "filter": {"assigned_to": "ana"}, "expected": 1}),
        json!({"op": "delete", "filter": {"is_spam": "maybe"}, "expected": 1}),
        json!({"op": "delete", "filter": {"session_uuid": {"starts_with": "a"}}, "expected": 1}),
        json!({"op": "delete", "filter": {"started_at": {"gte": "2026"}}, "expected": 1}),
        json!({"op": "delete", "filter": "inbox_status=new", "expected": 1}),
        json!({"op": "delete", "filter": {}, "expected": "all"}),
        json!({"op": "delete", "filters": {}, "expected": 1}),
        json!({"op": "delete", "filter": {}, "expect": 1}),
        json!({"op": "delete", "filter": {}, "expected": 1, "where": {"inbox_status": "new"}}),
        json!({"op": "delete", "ids": (0..10_001).collect::<Vec<_>>()}),
    ] {
        site.staff("submissions_bulk", body).refused(422, "validation_failed").await;
    }
    has!(get(&site, id).await, {"inbox_status": "new", "inbox_rev": 0});
}

#[tokio::test]
async fn another_number_than_expected_changes_nothing() {
    let site = site().await;
    let [id, _] = all_sent(&site, ["Ada", "Bob"]).await;
    let ada = json!({"search": "ada"});
    for body in [
        json!({"op": "set_status", "filter": {}, "expected": 1, "value": "rejected"}),
        json!({"op": "set_status", "filter": ada, "expected": 2, "value": "rejected"}),
        json!({"op": "set_status", "ids": [id], "expected": 2, "value": "rejected"}),
        json!({"op": "delete", "filter": {}, "expected": 0}),
    ] {
        site.staff("submissions_bulk", body).refused(409, "count_moved").await;
    }
    let gone = json!({"op": "set_status", "ids": [id, 99], "value": "rejected"});
    site.staff("submissions_bulk", gone).refused(404, "not_found").await;
    assert_eq!(in_state(&site, "new").await, 2);
    assert_eq!(site.raised("formfunnel.submission_updated").await, 0);
    for journal in ["cms_formfunnel_bulks", "cms_formfunnel_bulk_rows"] {
        assert_eq!(site.database.rows(journal).await, 0, "{journal}");
    }
}

#[tokio::test]
async fn thousands_are_told_one_by_one() {
    let site = site().await;
    sent(&site, "Ada", 10).await;
    site.database.run(copies(2500)).await;
    let filter = json!({"is_spam": false});
    let all = json!({"op": "set_status", "filter": filter, "expected": 2501, "value": "rejected"});
    assert_eq!(bulk(&site, all).await, json!({"matched": 2501, "changed": 2501}));
    assert_eq!(in_state(&site, "rejected").await, 2501);
    assert_eq!(site.raised("formfunnel.submission_updated").await, 2501);
    let audited = "select count(distinct row_id) from cms_audit where action = 'update' \
                   and table_name = 'formfunnel_submissions' and columns = '[\"inbox_status\"]'";
    assert_eq!(site.database.count(audited).await, 2501);
    let all = json!({"op": "delete", "filter": {}, "expected": 2501});
    assert_eq!(bulk(&site, all).await, json!({"matched": 2501, "changed": 2501}));
    assert_eq!(ids(&site, "").await, [0_i64; 0]);
    assert_eq!(site.raised("formfunnel.submission_deleted").await, 2501);
}

/// A bulk change meets each submission as it was chosen, or none; nobody's own change is lost.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn others_change_submissions_at_the_same_time() {
    let site = site().await;
    sent(&site, "Ada", 10).await;
    site.database.run(copies(1500)).await;
    for round in 0..4 {
        let target = ["qualified", "contacted"][round % 2];
        let all = json!({"op": "set_status", "filter": {}, "expected": 1501, "value": target});
        let bulk = site.staff("submissions_bulk", all).send();
        let single = async {
            let mut told = 0;
            for id in [1500, 3, 700, 900, 1] {
                let body = json!({"id": id, "inbox_status": "converted"});
                told += u32::from(site.staff("submission_update", body).send().await.status == 200);
            }
            told
        };
        let (done, told) = tokio::join!(bulk, single);
        assert_eq!(told, 5);
        assert!([200, 409].contains(&done.status.as_u16()), "{}", done.text());
        let (others, ours) = (in_state(&site, "converted").await, in_state(&site, target).await);
        match done.status.as_u16() {
            // Those that were set after the bulk change stand.
            200 => assert_eq!(others + ours, 1501, "{round}"),
            _ => assert_eq!(others, 5, "{round}"),
        }
        let back = json!({"op": "set_status", "filter": {}, "expected": 1501, "value": "new"});
        super::bulk(&site, back).await;
    }
    revisions_are_told(&site).await;
}

#[tokio::test]
async fn all_is_as_it_was_before() {
    let site = site().await;
    let all = all_sent(&site, ["Ada", "Bob", "Cy"]).await;
    let [ada, bob, cy] = all;
    site.clock.advance(1000);
    update(&site, bob, json!({"inbox_status": "contacted"})).await;
    update(&site, cy, json!({"inbox_status": "rejected"})).await;
    let mut before = Vec::new();
    for id in all {
        before.push(get(&site, id).await);
    }
    site.clock.advance(1000);
    bulk(&site, json!({"op": "set_status", "ids": all, "value": "rejected"})).await;
    let rejected = get(&site, ada).await;
    assert_eq!(rejected["inbox_status"], "rejected");
    assert_ne!(rejected["first_touched_at"], json!(null));
    let done = undo(&site).await;
    assert_eq!(done, json!({"op": "set_status", "restored": 2, "changed_since": 0, "gone": 0}));
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
    site.staff("undo", json!({})).refused(404, "not_found").await;
    assert_eq!(site.raised("formfunnel.submission_updated").await, 6);
}

#[tokio::test]
async fn what_others_have_changed_since_stays() {
    let site = site().await;
    let all = all_sent(&site, ["Ada", "Bob", "Cy", "Dan", "Eve", "Fay"]).await;
    bulk(&site, json!({"op": "set_status", "ids": all, "value": "qualified"})).await;
    update(&site, all[0], json!({"inbox_status": "converted"})).await;
    // There and back again: the value is the same, but it is no longer the bulk change's.
    update(&site, all[1], json!({"inbox_status": "converted"})).await;
    update(&site, all[1], json!({"inbox_status": "qualified"})).await;
    // Notes are no status.
    update(&site, all[2], json!({"inbox_notes": "called"})).await;
    site.staff("submission_delete", json!({"id": all[3]})).expect(200).await;
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

/// Neither a bulk change nor an undo brings the user back.
#[tokio::test]
async fn submissions_of_a_deleted_user_are_assigned_to_nobody() {
    let site = site().await;
    let ana = site.person("ana", json!(["formfunnel_inbox_view"])).await;
    let bob = site.person("bob", json!(["formfunnel_inbox_view"])).await;
    let [ada, cy] = all_sent(&site, ["Ada", "Cy"]).await;
    for user in [ana.id, bob.id] {
        bulk(&site, json!({"op": "assign", "ids": [ada, cy], "value": user})).await;
    }
    update(&site, cy, json!({"assigned_to": ana.id})).await;
    let raised = revisions_are_told(&site).await;
    site.admin(&format!("DELETE /api/backend/users?id={}", ana.id)).expect(204).await;
    has!(get(&site, cy).await, {"assigned_to": null, "assigned_name": null, "inbox_rev": 4});
    assert_eq!(ids(&site, "&filter[assigned_to][null]=true").await, [cy]);
    assert_eq!(site.raised("formfunnel.submission_updated").await, raised);
    let undone = json!({"op": "assign", "restored": 1, "changed_since": 1, "gone": 0});
    assert_eq!(undo(&site).await, undone);
    has!(get(&site, ada).await, {"assigned_to": null, "inbox_rev": 3});
}

#[tokio::test]
async fn an_undo_assigns_only_to_who_can_be_assigned() {
    let site = site().await;
    let bob = site.person("bob", json!(["formfunnel_inbox_view"])).await;
    site.group("blind", json!(["formfunnel_inbox_edit"])).await;
    let id = sent(&site, "Ada", 10).await;
    for (name, changed, is_back) in [
        ("ana", json!({"active": false}), false),
        ("cy", json!({"groups": ["blind"]}), false),
        ("dan", json!({"active": true}), true),
    ] {
        let user = site.person(name, json!(["formfunnel_inbox_view"])).await.id;
        for to in [user, bob.id] {
            bulk(&site, json!({"op": "assign", "ids": [id], "value": to})).await;
        }
        site.patch(&format!("/api/backend/users?id={user}"), changed).await;
        assert_eq!(undo(&site).await["restored"], 1, "{name}");
        let expected = is_back.then_some(user);
        assert_eq!(get(&site, id).await["assigned_to"], json!(expected), "{name}");
    }
}

#[tokio::test]
async fn the_last_change_of_the_caller_is_meant() {
    let site = site().await;
    let ana = site.person("ana", json!(["formfunnel_inbox_view", "formfunnel_inbox_edit"])).await;
    let [ada, bob] = all_sent(&site, ["Ada", "Bob"]).await;
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
    has!(get(&site, ada).await, {"assigned_to": null, "inbox_status": "contacted"});
    assert_eq!(undo(&site).await["restored"], 1);
    assert_eq!(get(&site, ada).await["inbox_status"], "qualified");
    // Only the last one.
    site.staff("undo", json!({})).refused(404, "not_found").await;
    assert_eq!(site.database.rows("cms_formfunnel_bulk_rows").await, 0);
}
