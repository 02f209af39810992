//! Forms: what becomes of an answered form, and of a hostile one.

mod browser;
mod hostile;

use cms_core::{Actor, Code};
use serde_json::{Value as Json, json};

use crate::support::{Ask, Receiver, Site, site::NOW, webhooks};

/// A form as its author saves it.
pub fn contact() -> Json {
    json!({"name": "contact", "fields": [
        {"id": "name", "type": "short_text", "label": "Name", "required": true},
        {"id": "mail", "type": "email"},
        {"id": "message", "type": "long_text"},
    ]})
}

/// Saves a form of this name, with members beside or instead of those of [`contact`].
pub async fn open(site: &Site, name: &str, others: Json) -> Json {
    let mut form = contact();
    form["name"] = name.into();
    form.as_object_mut().unwrap().extend(others.as_object().unwrap().clone());
    site.admin("POST /api/backend/item?table=forms").json(form).expect(201).await.data()
}

/// A visitor's call.
pub fn submit(site: &Site, answered: Json) -> Ask {
    site.ask("POST /api/form/submit").json(answered)
}

const SUBMISSIONS: &str = "select count(*) from cms_form_submissions";

#[tokio::test]
async fn a_submission_is_stored_with_its_event_or_not_at_all() {
    let site = webhooks::site().await;
    let receiver = Receiver::start(200).await;
    site.webhook(&receiver.url, &["form.submitted"]).await;
    let others = json!({"title": "Write to us", "thanks": "Thank you", "redirect_url": "/thanks"});
    open(&site, "contact", others).await;
    let answers = json!({"name": " Ada ", "mail": "ada@EXAMPLE.org", "keywords": "left aside"});
    let reply = submit(&site, json!({"form": "contact", "answers": answers})).expect(201).await;
    let expected = json!({"id": 1, "thanks": "Thank you", "redirect_url": "/thanks"});
    assert_eq!(reply.data(), expected);
    site.worker().step().await.unwrap();
    let sent = receiver.deliveries()[0].json();
    assert_eq!(sent["event"], "form.submitted");
    assert_eq!(
        sent["data"],
        json!({
            "form": {"id": 1, "name": "contact", "title": "Write to us"},
            "submission": {"id": 1, "created_at": "2026-11-21T09:30:00Z"},
            "answers": [
                {"field": "name", "type": "short_text", "label": "Name", "value": "Ada"},
                {"field": "mail", "type": "email", "label": "", "value": "ada@example.org"},
            ],
        })
    );
    // By its id, as a number and as text.
    for form in [json!(1), json!("1")] {
        submit(&site, json!({"form": form, "answers": {"name": "Bob"}})).expect(201).await;
    }
    // All that is wrong is told at once, and nothing is kept.
    let wrong = json!({"form": "contact", "answers": {"mail": "ada", "message": 7}});
    let refused = submit(&site, wrong).refused(422, "validation_failed").await.json();
    let told: Vec<_> =
        refused["errors"].as_array().unwrap().iter().map(|e| (&e["field"], &e["code"])).collect();
    let told: Vec<_> = told.iter().map(|(field, code)| format!("{field} {code}")).collect();
    assert_eq!(told, [r#""name" "required""#, r#""mail" "format""#, r#""message" "type""#]);
    assert_eq!(site.database.count(SUBMISSIONS).await, 3);
}

#[tokio::test]
async fn programs_are_answered_as_people_and_raise_nothing() {
    let site = Site::open().await;
    open(&site, "contact", json!({"min_seconds": 3, "thanks": "Thank you"})).await;
    let events = "select count(*) from cms_events where name = 'form.submitted'";
    let mut id = 0;
    for (beside, spam) in [
        (json!({"seconds": 3}), false),
        (json!({"seconds": 60.5, "trap": ""}), false),
        (json!({"seconds": 60, "trap": "http://spam.example"}), true),
        (json!({"seconds": 2.9}), true),
        (json!({}), true),
    ] {
        let before = site.database.count(events).await;
        let mut answered = json!({"form": "contact", "answers": {"name": "Ada"}});
        answered.as_object_mut().unwrap().extend(beside.as_object().unwrap().clone());
        let reply = submit(&site, answered).expect(201).await;
        id += 1;
        assert_eq!(reply.data(), json!({"id": id, "thanks": "Thank you"}), "{beside}");
        let raised = site.database.count(events).await - before;
        assert_eq!(raised, i64::from(!spam), "{beside}");
        let path = format!("GET /api/backend/forms/submissions?id={id}");
        assert_eq!(site.admin(&path).expect(200).await.data()["spam"], spam, "{beside}");
    }
    let list = site.admin("GET /api/backend/forms/submissions?spam=false").expect(200).await;
    assert_eq!(list.data().as_array().unwrap().len(), 2);
}

/// The form may change between the call and the turn of its change.
#[tokio::test]
async fn a_form_counts_as_it_is_when_its_submission_is_stored() {
    let site = Site::open().await;
    open(&site, "contact", json!({"recipients": ["a@example.org"]})).await;
    let answered = json!({"form": "contact", "answers": {"name": "Ada", "mail": "ada@x.org"}});
    let form = json!([{"id": "mail", "type": "email"}]);
    let needed = json!([{"id": "age", "type": "number", "required": true}]);
    let mails = "select count(*) from cms_mails where recipient = 'b@example.org'";
    for (patch, outcome) in [
        (json!({"recipients": ["b@example.org"]}), Ok("Ada · ada@x.org")),
        (json!({"fields": form}), Ok("ada@x.org")),
        (json!({"fields": needed}), Err(Code::ValidationFailed)),
        (json!({"active": false, "fields": form}), Err(Code::NotFound)),
    ] {
        let active = site.cms.forms().active(&"contact".to_owned().into()).await.unwrap();
        let read = serde_json::from_value(answered.clone()).unwrap();
        let judged = site.cms.forms().judge(active, read).unwrap();
        let line = "PATCH /api/backend/item?table=forms&id=1";
        site.admin(line).json(patch.clone()).expect(200).await;
        let before = site.database.count(SUBMISSIONS).await;
        let mut change = site.cms.change(Actor::System).await.unwrap();
        let received = site.cms.forms().receive(&mut change, judged).await;
        match (received, outcome) {
            (Ok(received), Ok(summary)) => {
                change.commit().await.unwrap();
                let stored = site.cms.forms().submission(received.id).await.unwrap();
                assert_eq!(stored.submission.summary, summary, "{patch}");
            }
            (Err(error), Err(code)) => {
                drop(change);
                assert_eq!(error.code(), code, "{patch}");
                assert_eq!(site.database.count(SUBMISSIONS).await, before, "{patch}");
                // As it was, for the next.
                let whole = json!({"fields": contact()["fields"]});
                site.admin(line).json(whole).expect(200).await;
            }
            (received, _) => panic!("{patch}: {received:?}"),
        }
    }
    assert_eq!(site.database.count(mails).await, 2);
}

/// A change that is dropped leaves no submission, event, mail or audit row.
#[tokio::test]
async fn a_dropped_change_leaves_nothing() {
    let site = Site::open().await;
    open(&site, "contact", json!({"recipients": ["a@example.org"]})).await;
    let counts = "select (select count(*) from cms_form_submissions) \
                  + (select count(*) from cms_events) + (select count(*) from cms_mails) \
                  + (select count(*) from cms_audit)";
    let before = site.database.count(counts).await;
    let answered = json!({"form": "contact", "answers": {"name": "Ada"}});
    for kept in [false, true] {
        let active = site.cms.forms().active(&"contact".to_owned().into()).await.unwrap();
        let read = serde_json::from_value(answered.clone()).unwrap();
        let judged = site.cms.forms().judge(active, read).unwrap();
        let mut change = site.cms.change(Actor::System).await.unwrap();
        site.cms.forms().receive(&mut change, judged).await.unwrap();
        if kept {
            change.commit().await.unwrap();
        } else {
            drop(change);
        }
        let grown = site.database.count(counts).await - before;
        assert_eq!(grown, if kept { 4 } else { 0 });
    }
}

#[tokio::test]
async fn a_form_is_mailed_a_hundred_times_an_hour_at_most() {
    let site = Site::open().await;
    open(&site, "contact", json!({"recipients": ["a@example.org"]})).await;
    let rows = "insert into cms_form_submissions (form_id, created_at, spam, summary, answers) \
                values (1, {at}, {spam}, '', '[]')";
    let row = async |at: i64, spam: bool| {
        let row = rows.replace("{at}", &at.to_string()).replace("{spam}", &spam.to_string());
        site.database.run(row).await;
    };
    for _ in 0..99 {
        row(NOW - 3_599_000, false).await;
        row(NOW, true).await;
    }
    row(NOW - 3_600_000, false).await;
    let events = "select count(*) from cms_events where name = 'form.submitted'";
    for (mails, raised) in [(1, 1), (1, 2)] {
        let answered = json!({"form": "contact", "answers": {"name": "Ada"}});
        submit(&site, answered).expect(201).await;
        assert_eq!(site.database.count("select count(*) from cms_mails").await, mails);
        assert_eq!(site.database.count(events).await, raised);
    }
    site.clock.advance(3_600_000);
    submit(&site, json!({"form": "contact", "answers": {"name": "Ada"}})).expect(201).await;
    assert_eq!(site.database.count("select count(*) from cms_mails").await, 2);
}

#[tokio::test]
async fn forms_keep_submissions_as_long_as_they_say() {
    let site = Site::open().await;
    let day = 24 * 3_600_000;
    open(&site, "short", json!({"retention_days": 2})).await;
    open(&site, "long", json!({"retention_days": 10})).await;
    open(&site, "kept", json!({})).await;
    for form in ["short", "long", "kept"] {
        submit(&site, json!({"form": form, "answers": {"name": "Ada"}})).expect(201).await;
    }
    for (days, left) in [(1, 3), (1, 2), (7, 2), (1, 1), (1000, 1)] {
        site.clock.advance(days * day);
        site.cms.expire().await.unwrap();
        assert_eq!(site.database.count(SUBMISSIONS).await, left, "{days} days later");
    }
}

#[tokio::test]
async fn more_submissions_than_a_batch_go_on_their_last_day() {
    let site = Site::open().await;
    open(&site, "short", json!({"retention_days": 2})).await;
    full(&site, 1001).await;
    for (later, left) in [(2 * 24 * 3_600_000 - 1, 1001), (1, 0)] {
        site.clock.advance(later);
        site.cms.expire().await.unwrap();
        assert_eq!(site.database.count(SUBMISSIONS).await, left);
    }
}

/// Each minute asks for old submissions, so that must not read them all.
#[tokio::test]
async fn old_submissions_are_found_by_an_index() {
    let site = Site::open().await;
    for form in ["short", "other"] {
        open(&site, form, json!({"retention_days": 2})).await;
    }
    full(&site, 20_000).await;
    // Those of another form are older.
    let older = "update cms_form_submissions set form_id = 2, created_at = created_at - 1000000 \
                 where id > 100";
    site.database.run(older.to_owned()).await;
    if site.database.is_postgres() {
        site.database.run("analyze cms_form_submissions".to_owned()).await;
    }
    for horizon in [NOW - 1, NOW] {
        let plan = site.cms.forms().expiry_plan(1, horizon).await.unwrap().join("\n");
        assert!(plan.contains("cms_form_submissions_by_form"), "{plan}");
    }
}

/// Gives the form 1 so many submissions.
async fn full(site: &Site, submissions: u32) {
    let rows = format!(
        "insert into cms_form_submissions (form_id, created_at, spam, summary, answers) \
         select 1, {NOW}, false, '', '[]' from (with recursive n (i) as \
         (select 1 union all select i + 1 from n where i < {submissions}) select i from n) numbers"
    );
    site.database.run(rows).await;
}

#[tokio::test]
async fn a_repeated_call_of_a_key_is_one_submission() {
    let site = Site::open().await;
    open(&site, "contact", json!({})).await;
    let key = site.key(&["POST /api/form/submit"]).await;
    let answered = json!({"form": "contact", "answers": {"name": "Ada"}});
    for _ in 0..2 {
        let ask = submit(&site, answered.clone()).key(&key).header("idempotency-key", "one");
        assert_eq!(ask.expect(201).await.data(), json!({"id": 1}));
    }
    assert_eq!(site.database.count(SUBMISSIONS).await, 1);
    let without = site.key(&["GET /api/pages"]).await;
    submit(&site, answered).key(&without).refused(401, "api_key_forbidden").await;
}

#[tokio::test]
async fn each_recipient_gets_a_mail_and_programs_cause_none() {
    let site = Site::open().await;
    let mails = "select count(*) from cms_mails";
    let recipients = json!(["a@example.org", "b@example.org"]);
    let others = json!({"title": "Write to us", "recipients": recipients, "min_seconds": 3});
    open(&site, "contact", others).await;
    let answers = json!({"name": "<b>Ada</b>", "mail": "ada@example.org", "message": "a\n=1+1"});
    let answered = json!({"form": "contact", "answers": answers, "seconds": 9});
    submit(&site, answered).expect(201).await;
    for recipient in ["a@example.org", "b@example.org"] {
        let sent = format!(
            "{mails} where recipient = '{recipient}' and reply_to = 'ada@example.org' \
             and purpose = 'form.notice' and cause = 'submission 1' \
             and subject = 'Write to us: <b>Ada</b> · ada@example.org · a =1+1' \
             and body_text like '%Name%<b>Ada</b>%' and body_html not like '%<b>%' \
             and body_html like '%&lt;b&gt;Ada&lt;/b&gt;%a<br>%=1+1%'"
        );
        assert_eq!(site.database.count(&sent).await, 1, "{recipient}");
    }
    // A program's submission, a refused one and one of a change that is dropped cause no mail.
    let spam = json!({"form": "contact", "answers": {"name": "x"}, "trap": "x", "seconds": 9});
    submit(&site, spam).expect(201).await;
    let refused = json!({"form": "contact", "answers": {}, "seconds": 9});
    submit(&site, refused).refused(422, "validation_failed").await;
    assert_eq!(site.database.count(mails).await, 2);
    // Answers of any size: the mail is cut, the submission is whole.
    let rows: Vec<_> = (0..20).map(|_| json!({"c": "\"".repeat(40_000)})).collect();
    let fields = json!([{"id": "rows", "type": "repeater",
                         "columns": [{"id": "c", "type": "long_text", "max_length": 50_000}]}]);
    open(&site, "long", json!({"fields": fields, "recipients": ["c@example.org"]})).await;
    let long = json!({"form": "long", "answers": {"rows": rows[..12]}});
    submit(&site, long).expect(201).await;
    assert_eq!(site.database.count(mails).await, 3);
}
