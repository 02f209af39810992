//! One submission sorted, noted, assigned, deleted.

use serde_json::{Value as Json, json};

use super::{all_sent, at, get, sent, site, update};
use crate::support::{each, has, mail, with};

#[tokio::test]
async fn a_submission_is_sorted_noted_and_assigned() {
    let site = site().await;
    let ana = site.person("ana", json!(["formfunnel_inbox_view"])).await;
    let id = sent(&site, "Ada", 10).await;
    let begun = site.clock.now();
    for (rev, members) in [
        (1, json!({"inbox_status": "qualified"})),
        (2, json!({"inbox_notes": "Called.\r\nShe is away."})),
        (3, json!({"assigned_to": ana.id})),
    ] {
        site.clock.advance(1000);
        assert_eq!(update(&site, id, members).await, json!({"id": id, "inbox_rev": rev}));
    }
    let shown = get(&site, id).await;
    has!(shown, {"inbox_status": "qualified", "inbox_notes": "Called.\nShe is away.",
                 "assigned_name": "ana"});
    let touched = cms_core::rfc3339(begun + 1000);
    assert_eq!(shown["first_touched_at"], json!(touched), "the first act counts");
    assert_eq!(site.raised("formfunnel.submission_updated").await, 3);
    let audited = "cms_audit where table_name = 'formfunnel_submissions' \
                   and row_id = '1' and columns in ('[\"inbox_status\"]', '[\"inbox_notes\"]', \
                   '[\"assigned_to\"]')";
    assert_eq!(site.database.rows(audited).await, 3);
    // The id may stand in the query, and null takes the assignment away.
    let line = at("POST", &format!("submission_update&id={id}"));
    site.admin(&line).json(json!({"assigned_to": null})).expect(200).await;
    assert_eq!(get(&site, id).await["assigned_to"], json!(null));
    // What is so already is no change.
    let same = json!({"inbox_status": "qualified", "assigned_to": null});
    assert_eq!(update(&site, id, same).await["inbox_rev"], 4);
    assert_eq!(site.raised("formfunnel.submission_updated").await, 4);
}

#[tokio::test]
async fn the_event_tells_what_changed_and_no_answers() {
    let site = site().await;
    let id = sent(&site, "Ada", 10).await;
    update(&site, id, json!({"inbox_status": "contacted"})).await;
    let body = "select body from cms_events where name = 'formfunnel.submission_updated'";
    let body: Json = serde_json::from_str(&site.database.text(body).await).unwrap();
    has!(body["data"], {"changed": ["inbox_status"], "/funnel/slug": "leads", "/submission/id": id,
                "/submission/inbox_status": "contacted"});
    assert!(!body.to_string().contains("example.org"), "{body}");
}

#[tokio::test]
async fn bad_values_are_refused_and_nothing_is_written() {
    let site = site().await;
    let blind = site.person("blind", json!(["formfunnel_inbox_edit"])).await;
    let gone = site.person("gone", json!(["formfunnel_inbox_view"])).await;
    site.patch(&format!("/api/backend/users?id={}", gone.id), json!({"active": false})).await;
    let id = sent(&site, "Ada", 10).await;
    let before = get(&site, id).await;
    let events = site.raised("formfunnel.submission_updated").await;
    for members in [
        json!({"inbox_status": "done"}),
        json!({"inbox_status": "New"}),
        json!({"inbox_notes": "x".repeat(10_001)}),
        json!({"inbox_notes": "a\0b"}),
        json!({"assigned_to": 99}),
        json!({"assigned_to": blind.id}),
        json!({"assigned_to": gone.id}),
        json!({"status": "completed"}),
        json!({"inbox_notes": 5}),
        json!({"inbox_status": "qualified", "assigned_to": 99}),
    ] {
        let body = with(members, json!({"id": id}));
        site.staff("submission_update", body).refused(422, "validation_failed").await;
    }
    site.invalid(&at("POST", "submission_update&id=2"), json!({"id": id})).await;
    site.staff("submission_update", json!({})).refused(422, "validation_failed").await;
    let none = json!({"id": 99, "inbox_notes": "a"});
    site.staff("submission_update", none).refused(404, "not_found").await;
    assert_eq!(get(&site, id).await, before);
    assert_eq!(site.raised("formfunnel.submission_updated").await, events);
    update(&site, id, json!({"inbox_notes": "ä".repeat(10_000)})).await;
}

#[tokio::test]
async fn two_people_on_one_submission_do_not_overwrite_each_other() {
    let site = site().await;
    let id = sent(&site, "Ada", 10).await;
    let line = at("GET", &format!("submission_get&id={id}"));
    let tag = site.admin(&line).expect(200).await.header("etag").to_owned();
    site.admin(&line).header("if-none-match", &tag).expect(304).await;
    let note = |text: &str| json!({"id": id, "inbox_notes": text});
    let with_tag =
        |text: &str| site.staff("submission_update", note(text)).header("if-match", &tag);
    with_tag("mine").expect(200).await;
    with_tag("yours").refused(412, "stale").await;
    let with_rev =
        |rev: i64| site.staff("submission_update", with(note("yours"), json!({"rev": rev})));
    with_rev(0).refused(409, "rev_conflict").await;
    site.staff("submission_delete", json!({"id": id, "rev": 0})).refused(409, "rev_conflict").await;
    assert_eq!(get(&site, id).await["inbox_notes"], "mine");
    with_rev(1).expect(200).await;
    site.admin(&line).header("if-none-match", &tag).expect(200).await;
}

#[tokio::test]
async fn what_is_deleted_takes_its_mails_along() {
    let site = mail::site_with("smtp://127.0.0.1:9").await;
    let mail = json!({"recipients": "{{ mail }}, sales@example.org", "subject": "Hello",
                      "body_html": "x"});
    site.leads(json!({"email_routings": [mail]})).await;
    let [first, second] = all_sent(&site, ["Ada", "Bob"]).await;
    assert_eq!(each(&get(&site, first).await["mails"], "status"), ["queued", "dropped"]);
    let deleted = site.staff("submission_delete", json!({"id": first})).expect(200).await.data();
    assert_eq!(deleted, json!({"id": first, "deleted": true}));
    site.staff("submission_delete", json!({"id": first})).refused(404, "not_found").await;
    assert_eq!(site.database.rows("cms_mails").await, 2);
    assert_eq!(get(&site, second).await["mails"].as_array().unwrap().len(), 2);
    for left in ["submissions", "events"] {
        assert_ne!(site.database.rows(&format!("cms_formfunnel_{left}")).await, 0, "{left}");
    }
    assert_eq!(site.raised("formfunnel.submission_deleted").await, 1);
}
