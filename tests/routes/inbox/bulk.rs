//! Many submissions in one change: all or none.

use serde_json::{Value as Json, json};

use super::{get, ids, list::copies, post, sent, site};
use crate::support::Site;

async fn bulk(site: &Site, body: Json) -> Json {
    post(site, "submissions_bulk", body).expect(200).await.data()
}

async fn in_state(site: &Site, status: &str) -> i64 {
    let sql =
        format!("select count(*) from cms_formfunnel_submissions where inbox_status = '{status}'");
    site.database.count(&sql).await
}

#[tokio::test]
async fn ids_or_a_filter_say_which() {
    let site = site().await;
    let ana = site.person("ana", json!(["formfunnel_inbox_view"])).await;
    let (ada, bob, cy) =
        (sent(&site, "Ada", 10).await, sent(&site, "Bob", 10).await, sent(&site, "Cy", 10).await);
    let ids = json!([ada, bob, bob]);
    let done = bulk(&site, json!({"op": "set_status", "ids": ids, "value": "qualified"})).await;
    assert_eq!(done, json!({"matched": 2, "changed": 2}));
    let filter = json!({"inbox_status": ["new", "qualified"]});
    let all = json!({"op": "set_status", "filter": filter, "expected": 3, "value": "qualified"});
    assert_eq!(bulk(&site, all).await, json!({"matched": 3, "changed": 1}));
    let assign =
        json!({"op": "assign", "filter": {"search": "cy"}, "expected": 1, "value": ana.id});
    assert_eq!(bulk(&site, assign).await["changed"], 1);
    assert_eq!(get(&site, cy).await["assigned_name"], "ana");
    let nobody = json!({"op": "assign", "ids": [cy], "value": null});
    assert_eq!(bulk(&site, nobody).await["changed"], 1);
    assert_eq!(get(&site, cy).await["assigned_to"], json!(null));
    let shown = get(&site, ada).await;
    assert_eq!((&shown["inbox_status"], &shown["inbox_rev"]), (&json!("qualified"), &json!(1)));
    let delete = json!({"op": "delete", "ids": [ada, cy], "expected": 2});
    assert_eq!(bulk(&site, delete).await, json!({"matched": 2, "changed": 2}));
    assert_eq!(super::ids(&site, "").await, [bob]);
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
        json!({"op": "delete", "filter": {"inbox_status": "nwe"}, "expected": 0}),
        json!({"op": "delete", "filter": {"inbox_status": {"like": "n"}}, "expected": 1}),
        json!({"op": "delete", "filter": {"assigned_to": "ana"}, "expected": 1}),
        json!({"op": "delete", "filter": {"is_spam": "maybe"}, "expected": 1}),
        json!({"op": "delete", "filter": {"session_uuid": {"starts_with": "a"}}, "expected": 1}),
        json!({"op": "delete", "filter": {"started_at": {"gte": "2026"}}, "expected": 1}),
        json!({"op": "delete", "filter": {"search": ""}, "expected": 1}),
        json!({"op": "delete", "filter": "inbox_status=new", "expected": 1}),
        json!({"op": "delete", "filter": {}, "expected": "all"}),
        json!({"op": "delete", "filters": {}, "expected": 1}),
        json!({"op": "delete", "filter": {}, "expect": 1}),
        json!({"op": "delete", "filter": {}, "expected": 1, "where": {"inbox_status": "new"}}),
        json!({"op": "delete", "ids": (0..10_001).collect::<Vec<_>>()}),
    ] {
        post(&site, "submissions_bulk", body).refused(422, "validation_failed").await;
    }
    assert_eq!(
        (in_state(&site, "new").await, get(&site, id).await["inbox_rev"].clone()),
        (1, json!(0))
    );
}

#[tokio::test]
async fn another_number_than_expected_changes_nothing() {
    let site = site().await;
    let id = sent(&site, "Ada", 10).await;
    sent(&site, "Bob", 10).await;
    for body in [
        json!({"op": "set_status", "filter": {}, "expected": 1, "value": "rejected"}),
        json!({"op": "set_status", "filter": {"search": "ada"}, "expected": 2,
            "value": "rejected"}),
        json!({"op": "set_status", "ids": [id], "expected": 2, "value": "rejected"}),
        json!({"op": "delete", "filter": {}, "expected": 0}),
    ] {
        post(&site, "submissions_bulk", body).refused(409, "count_moved").await;
    }
    let gone = json!({"op": "set_status", "ids": [id, 99], "value": "rejected"});
    post(&site, "submissions_bulk", gone).refused(404, "not_found").await;
    assert_eq!(in_state(&site, "new").await, 2);
    assert_eq!(site.raised("formfunnel.submission_updated").await, 0);
    let journal = "select (select count(*) from cms_formfunnel_bulks) \
                   + (select count(*) from cms_formfunnel_bulk_rows)";
    assert_eq!(site.database.count(journal).await, 0);
}

#[tokio::test]
async fn thousands_are_told_one_by_one() {
    let site = site().await;
    let ada = sent(&site, "Ada", 10).await;
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
    assert_ne!(ada, 0);
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
        let bulk = post(&site, "submissions_bulk", all).send();
        let single = async {
            let mut told = 0;
            for id in [1500, 3, 700, 900, 1] {
                let body = json!({"id": id, "inbox_status": "converted"});
                told +=
                    u32::from(post(&site, "submission_update", body).send().await.status == 200);
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
        self::bulk(&site, back).await;
    }
    // Every step of a revision was told.
    let revisions = "select cast(sum(inbox_rev) as bigint) from cms_formfunnel_submissions";
    let events = site.raised("formfunnel.submission_updated").await;
    assert_eq!(site.database.count(revisions).await, events);
}
