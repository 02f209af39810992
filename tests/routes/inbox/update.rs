//! One submission sorted, noted, assigned, deleted.

use serde_json::json;

use super::{at, get, post, sent, site};
use crate::support::mail;

#[tokio::test]
async fn a_submission_is_sorted_noted_and_assigned() {
    let site = site().await;
    let ana = site.person("ana", json!(["formfunnel_inbox_view"])).await;
    let id = sent(&site, "Ada", 10).await;
    let begun = site.clock.now();
    for (number, update) in [
        json!({"inbox_status": "qualified"}),
        json!({"inbox_notes": "Called.\r\nShe is away."}),
        json!({"assigned_to": ana.id}),
    ]
    .into_iter()
    .enumerate()
    {
        site.clock.advance(1000);
        let mut body = update;
        body["id"] = json!(id);
        let done = post(&site, "submission_update", body).expect(200).await.data();
        assert_eq!(done, json!({"id": id, "inbox_rev": number + 1}));
    }
    let shown = get(&site, id).await;
    assert_eq!(
        [&shown["inbox_status"], &shown["inbox_notes"], &shown["assigned_name"]],
        [&json!("qualified"), &json!("Called.\nShe is away."), &json!("ana")]
    );
    let touched = cms_core::rfc3339(begun + 1000);
    assert_eq!(shown["first_touched_at"], json!(touched), "the first act counts");
    assert_eq!(site.raised("formfunnel.submission_updated").await, 3);
    let audited = "select count(*) from cms_audit where table_name = 'formfunnel_submissions' \
                   and row_id = '1' and columns in ('[\"inbox_status\"]', '[\"inbox_notes\"]', \
                   '[\"assigned_to\"]')";
    assert_eq!(site.database.count(audited).await, 3);
    // The id may stand in the query, and null takes the assignment away.
    let line = at("POST", &format!("submission_update&id={id}"));
    site.admin(&line).json(json!({"assigned_to": null})).expect(200).await;
    assert_eq!(get(&site, id).await["assigned_to"], json!(null));
    // What is so already is no change.
    let same = json!({"id": id, "inbox_status": "qualified", "assigned_to": null});
    let done = post(&site, "submission_update", same).expect(200).await.data();
    assert_eq!(done["inbox_rev"], 4);
    assert_eq!(site.raised("formfunnel.submission_updated").await, 4);
}

#[tokio::test]
async fn the_event_tells_what_changed_and_no_answers() {
    let site = site().await;
    let id = sent(&site, "Ada", 10).await;
    post(&site, "submission_update", json!({"id": id, "inbox_status": "contacted"}))
        .expect(200)
        .await;
    let body = site
        .database
        .text("select body from cms_events where name = 'formfunnel.submission_updated'");
    let body: serde_json::Value = serde_json::from_str(&body.await).unwrap();
    let data = &body["data"];
    assert_eq!(data["changed"], json!(["inbox_status"]));
    assert_eq!(data["funnel"]["slug"], "leads");
    assert_eq!(
        (&data["submission"]["id"], &data["submission"]["inbox_status"]),
        (&json!(id), &json!("contacted"))
    );
    assert!(!body.to_string().contains("example.org"), "{body}");
}

#[tokio::test]
async fn bad_values_are_refused_and_nothing_is_written() {
    let site = site().await;
    let blind = site.person("blind", json!(["formfunnel_inbox_edit"])).await;
    let gone = site.person("gone", json!(["formfunnel_inbox_view"])).await;
    let off = format!("PATCH /api/backend/users?id={}", gone.id);
    site.admin(&off).json(json!({"active": false})).expect(200).await;
    let id = sent(&site, "Ada", 10).await;
    let before = get(&site, id).await;
    let events = site.raised("formfunnel.submission_updated").await;
    for update in [
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
        let mut body = update;
        body["id"] = json!(id);
        post(&site, "submission_update", body).refused(422, "validation_failed").await;
    }
    let two = site.admin(&at("POST", "submission_update&id=2")).json(json!({"id": id}));
    two.refused(422, "validation_failed").await;
    post(&site, "submission_update", json!({})).refused(422, "validation_failed").await;
    post(&site, "submission_update", json!({"id": 99, "inbox_notes": "a"}))
        .refused(404, "not_found")
        .await;
    assert_eq!(get(&site, id).await, before);
    assert_eq!(site.raised("formfunnel.submission_updated").await, events);
    post(&site, "submission_update", json!({"id": id, "inbox_notes": "ä".repeat(10_000)}))
        .expect(200)
        .await;
}

#[tokio::test]
async fn two_people_on_one_submission_do_not_overwrite_each_other() {
    let site = site().await;
    let id = sent(&site, "Ada", 10).await;
    let line = at("GET", &format!("submission_get&id={id}"));
    let seen = site.admin(&line).expect(200).await;
    let tag = seen.header("etag").to_owned();
    let unchanged = site.admin(&line).header("if-none-match", &tag).send().await;
    assert_eq!(unchanged.status, 304);
    let note = |text: &str| json!({"id": id, "inbox_notes": text});
    let with_tag =
        |text: &str| post(&site, "submission_update", note(text)).header("if-match", &tag);
    with_tag("mine").expect(200).await;
    with_tag("yours").refused(412, "stale").await;
    let mut with_rev = note("yours");
    with_rev["rev"] = json!(0);
    post(&site, "submission_update", with_rev.clone()).refused(409, "rev_conflict").await;
    let deletion = json!({"id": id, "rev": 0});
    post(&site, "submission_delete", deletion).refused(409, "rev_conflict").await;
    assert_eq!(get(&site, id).await["inbox_notes"], "mine");
    with_rev["rev"] = json!(1);
    post(&site, "submission_update", with_rev).expect(200).await;
    assert_eq!(site.admin(&line).header("if-none-match", &tag).send().await.status, 200);
}

#[tokio::test]
async fn what_is_deleted_takes_its_mails_along() {
    let site = mail::site_with("smtp://127.0.0.1:9").await;
    let mut funnel = crate::support::visits::leads();
    funnel["email_routings"] = json!([
        {"recipients": "{{ mail }}, sales@example.org", "subject": "Hello", "body_html": "x"},
    ]);
    site.funnel(funnel).await;
    let (first, second) = (sent(&site, "Ada", 10).await, sent(&site, "Bob", 10).await);
    let shown = get(&site, first).await;
    assert_eq!(shown["mails"].as_array().unwrap().len(), 2);
    assert_eq!(shown["mails"][0]["status"], "queued");
    let deleted = post(&site, "submission_delete", json!({"id": first})).expect(200).await.data();
    assert_eq!(deleted, json!({"id": first, "deleted": true}));
    post(&site, "submission_delete", json!({"id": first})).refused(404, "not_found").await;
    assert_eq!(site.database.count("select count(*) from cms_mails").await, 2);
    assert_eq!(get(&site, second).await["mails"].as_array().unwrap().len(), 2);
    for left in ["submissions", "events"] {
        let sql = format!("select count(*) from cms_formfunnel_{left}");
        assert_ne!(site.database.count(&sql).await, 0, "the other stays");
    }
    assert_eq!(site.raised("formfunnel.submission_deleted").await, 1);
}

#[tokio::test]
async fn whoever_may_see_the_inbox_can_be_assigned() {
    let site = site().await;
    let mut expected = Vec::new();
    for (name, rights, fits) in [
        ("ana", json!(["formfunnel_inbox_view"]), true),
        ("blind", json!(["formfunnel_inbox_edit"]), false),
        ("cy", json!("0"), true),
        ("dan", json!([]), false),
    ] {
        let person = site.person(name, rights).await;
        if fits {
            expected.push(json!({"id": person.id, "username": name}));
        }
    }
    let all = site.admin(&at("GET", "assignable_users")).expect(200).await;
    assert_eq!(all.data(), json!(expected));
    let first = site.admin(&at("GET", "assignable_users&limit=1")).expect(200).await.json();
    assert_eq!(first["data"], json!(expected[..1]));
    let next = first["meta"]["next"].as_str().unwrap();
    let next = site.admin(&at("GET", &format!("assignable_users&limit=1&cursor={next}")));
    assert_eq!(next.expect(200).await.data(), json!(expected[1..]));
}
