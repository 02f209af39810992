//! Forms: what becomes of an answered form, and of a hostile one.

mod browser;
mod hostile;

use cms_core::{Actor, Code, forms::JudgedAnswers};
use serde_json::{Value as Json, json};

use crate::support::{Ask, Receiver, Site, faults, has, site::NOW, webhooks, with};

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
    let form = with(with(contact(), json!({"name": name})), others);
    site.create("/api/backend/item?table=forms", form).await
}

/// The form is answered by Ada.
fn ada(form: &str) -> Json {
    json!({"form": form, "answers": {"name": "Ada"}})
}

/// A form as it is, and answers that it has taken, not yet stored.
async fn judged(site: &Site, answered: Json) -> JudgedAnswers {
    let active = site.cms.forms().active(&"contact".to_owned().into()).await.unwrap();
    site.cms.forms().judge(active, serde_json::from_value(answered).unwrap()).unwrap()
}

/// A visitor's call.
pub fn submit(site: &Site, answered: Json) -> Ask {
    site.ask("POST /api/form/submit").json(answered)
}

const SUBMISSIONS: &str = "cms_form_submissions";

#[tokio::test]
async fn a_submission_is_stored_with_its_event_or_not_at_all() {
    let site = webhooks::site().await;
    let receiver = Receiver::start(200).await;
    site.webhook(&receiver.url, &["form.submitted"]).await;
    let others = json!({"title": "Write to us", "thanks": "Thank you", "redirect_url": "/thanks"});
    open(&site, "contact", others).await;
    let answers = json!({"name": " Ada ", "mail": "ada@EXAMPLE.org", "keywords": "left aside"});
    let reply = submit(&site, json!({"form": "contact", "answers": answers})).expect(201).await;
    assert_eq!(reply.data(), json!({"id": 1, "thanks": "Thank you", "redirect_url": "/thanks"}));
    site.worker().step().await.unwrap();
    let sent = receiver.deliveries()[0].json();
    has!(sent, {"event": "form.submitted", "data": {
        "form": {"id": 1, "name": "contact", "title": "Write to us"},
        "submission": {"id": 1, "created_at": "2026-11-21T09:30:00Z"},
        "answers": [
            {"field": "name", "type": "short_text", "label": "Name", "value": "Ada"},
            {"field": "mail", "type": "email", "label": "", "value": "ada@example.org"},
        ],
    }});
    // By its id, as a number and as text.
    for form in [json!(1), json!("1")] {
        submit(&site, json!({"form": form, "answers": {"name": "Bob"}})).expect(201).await;
    }
    // All that is wrong is told at once, and nothing is kept.
    let wrong = json!({"form": "contact", "answers": {"mail": "ada", "message": 7}});
    let refused = submit(&site, wrong).refused(422, "validation_failed").await.json();
    assert_eq!(faults(&refused), ["name required", "mail format", "message type"]);
    assert_eq!(site.database.rows(SUBMISSIONS).await, 3);
}

#[tokio::test]
async fn programs_are_answered_as_people_and_raise_nothing() {
    let site = Site::open().await;
    open(&site, "contact", json!({"min_seconds": 3, "thanks": "Thank you"})).await;
    for (id, beside, spam) in [
        (1, json!({"seconds": 3}), false),
        (2, json!({"seconds": 60.5, "trap": ""}), false),
        (3, json!({"seconds": 60, "trap": "http://spam.example"}), true),
        (4, json!({"seconds": 2.9}), true),
        (5, json!({}), true),
    ] {
        let before = site.raised("form.submitted").await;
        let reply = submit(&site, with(ada("contact"), beside.clone())).expect(201).await;
        assert_eq!(reply.data(), json!({"id": id, "thanks": "Thank you"}), "{beside}");
        let raised = site.raised("form.submitted").await - before;
        assert_eq!(raised, i64::from(!spam), "{beside}");
        let stored = site.get(&format!("/api/backend/forms/submissions?id={id}")).await;
        assert_eq!(stored["spam"], spam, "{beside}");
    }
    let list = site.get("/api/backend/forms/submissions?spam=false").await;
    assert_eq!(list.as_array().unwrap().len(), 2);
}

/// The form may change between the call and the turn of its change.
#[tokio::test]
async fn a_form_counts_as_it_is_when_its_submission_is_stored() {
    let site = Site::open().await;
    open(&site, "contact", json!({"recipients": ["a@example.org"]})).await;
    let answered = json!({"form": "contact", "answers": {"name": "Ada", "mail": "ada@x.org"}});
    let form = json!([{"id": "mail", "type": "email"}]);
    let needed = json!([{"id": "age", "type": "number", "required": true}]);
    for (patch, outcome) in [
        (json!({"recipients": ["b@example.org"]}), Ok("Ada · ada@x.org")),
        (json!({"fields": form}), Ok("ada@x.org")),
        (json!({"fields": needed}), Err(Code::ValidationFailed)),
        (json!({"active": false, "fields": form}), Err(Code::NotFound)),
    ] {
        let judged = judged(&site, answered.clone()).await;
        let line = "/api/backend/item?table=forms&id=1";
        site.patch(line, patch.clone()).await;
        let before = site.database.rows(SUBMISSIONS).await;
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
                assert_eq!(site.database.rows(SUBMISSIONS).await, before, "{patch}");
                // As it was, for the next.
                site.patch(line, json!({"fields": contact()["fields"]})).await;
            }
            (received, _) => panic!("{patch}: {received:?}"),
        }
    }
    assert_eq!(site.database.rows("cms_mails where recipient = 'b@example.org'").await, 2);
}

/// A change that is dropped leaves no submission, event, mail or audit row.
#[tokio::test]
async fn a_dropped_change_leaves_nothing() {
    let site = Site::open().await;
    open(&site, "contact", json!({"recipients": ["a@example.org"]})).await;
    let counts = async || {
        let mut counts = Vec::new();
        for table in [SUBMISSIONS, "cms_events", "cms_mails", "cms_audit"] {
            counts.push(site.database.rows(table).await);
        }
        counts
    };
    for kept in [false, true] {
        let before = counts().await;
        let judged = judged(&site, ada("contact")).await;
        let mut change = site.cms.change(Actor::System).await.unwrap();
        site.cms.forms().receive(&mut change, judged).await.unwrap();
        if kept {
            change.commit().await.unwrap();
        } else {
            drop(change);
        }
        let grown: Vec<_> = before.iter().map(|rows| rows + i64::from(kept)).collect();
        assert_eq!(counts().await, grown, "{kept}");
    }
}

#[tokio::test]
async fn a_form_is_mailed_a_hundred_times_an_hour_at_most() {
    let site = Site::open().await;
    open(&site, "contact", json!({"recipients": ["a@example.org"]})).await;
    full(&site, 99, NOW - 3_599_000, false).await;
    full(&site, 99, NOW, true).await;
    full(&site, 1, NOW - 3_600_000, false).await;
    for (later, mails, raised) in [(0, 1, 1), (0, 1, 2), (3_600_000, 2, 3)] {
        site.clock.advance(later);
        submit(&site, ada("contact")).expect(201).await;
        let told = (site.database.rows("cms_mails").await, site.raised("form.submitted").await);
        assert_eq!(told, (mails, raised));
    }
}

#[tokio::test]
async fn forms_keep_submissions_as_long_as_they_say() {
    let site = Site::open().await;
    let day = 24 * 3_600_000;
    open(&site, "short", json!({"retention_days": 2})).await;
    open(&site, "long", json!({"retention_days": 10})).await;
    open(&site, "kept", json!({})).await;
    for form in ["short", "long", "kept"] {
        submit(&site, ada(form)).expect(201).await;
    }
    for (days, left) in [(1, 3), (1, 2), (7, 2), (1, 1), (1000, 1)] {
        site.clock.advance(days * day);
        site.cms.expire().await.unwrap();
        assert_eq!(site.database.rows(SUBMISSIONS).await, left, "{days} days later");
    }
}

#[tokio::test]
async fn more_submissions_than_a_batch_go_on_their_last_day() {
    let site = Site::open().await;
    open(&site, "short", json!({"retention_days": 2})).await;
    full(&site, 1001, NOW, false).await;
    for (later, left) in [(2 * 24 * 3_600_000 - 1, 1001), (1, 0)] {
        site.clock.advance(later);
        site.cms.expire().await.unwrap();
        assert_eq!(site.database.rows(SUBMISSIONS).await, left);
    }
}

/// Each minute asks for old submissions, so that must not read them all.
#[tokio::test]
async fn old_submissions_are_found_by_an_index() {
    let site = Site::open().await;
    for form in ["short", "other"] {
        open(&site, form, json!({"retention_days": 2})).await;
    }
    full(&site, 20_000, NOW, false).await;
    // Those of another form are older.
    let older = "update cms_form_submissions set form_id = 2, created_at = created_at - 1000000 \
                 where id > 100";
    site.database.run(older).await;
    if site.database.is_postgres() {
        site.database.run("analyze cms_form_submissions").await;
    }
    for horizon in [NOW - 1, NOW] {
        let plan = site.cms.forms().expiry_plan(1, horizon).await.unwrap().join("\n");
        assert!(plan.contains("cms_form_submissions_by_form"), "{plan}");
    }
}

/// Gives the form 1 so many submissions.
async fn full(site: &Site, submissions: usize, at: i64, spam: bool) {
    let rows = format!(
        "insert into cms_form_submissions (form_id, created_at, spam, summary, answers) \
         select 1, {at}, {spam}, '', '[]'"
    );
    site.database.fill(&rows, submissions).await;
}

#[tokio::test]
async fn a_repeated_call_of_a_key_is_one_submission() {
    let site = Site::open().await;
    open(&site, "contact", json!({})).await;
    let key = site.key(&["POST /api/form/submit"]).await;
    for _ in 0..2 {
        let ask = submit(&site, ada("contact")).key(&key).header("idempotency-key", "one");
        assert_eq!(ask.expect(201).await.data(), json!({"id": 1}));
    }
    assert_eq!(site.database.rows(SUBMISSIONS).await, 1);
    let without = site.key(&["GET /api/pages"]).await;
    submit(&site, ada("contact")).key(&without).refused(401, "api_key_forbidden").await;
}

#[tokio::test]
async fn each_recipient_gets_a_mail_and_programs_cause_none() {
    let site = Site::open().await;
    let recipients = json!(["a@example.org", "b@example.org"]);
    let others = json!({"title": "Write to us", "recipients": recipients, "min_seconds": 3});
    open(&site, "contact", others).await;
    let answers = json!({"name": "<b>Ada</b>", "mail": "ada@example.org", "message": "a\n=1+1"});
    submit(&site, json!({"form": "contact", "answers": answers, "seconds": 9})).expect(201).await;
    for recipient in ["a@example.org", "b@example.org"] {
        let sent = format!(
            "cms_mails where recipient = '{recipient}' and reply_to = 'ada@example.org' \
             and purpose = 'form.notice' and cause = 'submission 1' \
             and subject = 'Write to us: <b>Ada</b> · ada@example.org · a =1+1' \
             and body_text like '%Name%<b>Ada</b>%' and body_html not like '%<b>%' \
             and body_html like '%&lt;b&gt;Ada&lt;/b&gt;%a<br>%=1+1%'"
        );
        assert_eq!(site.database.rows(&sent).await, 1, "{recipient}");
    }
    // A program's submission, a refused one and one of a change that is dropped cause no mail.
    let spam = json!({"form": "contact", "answers": {"name": "x"}, "trap": "x", "seconds": 9});
    submit(&site, spam).expect(201).await;
    let refused = json!({"form": "contact", "answers": {}, "seconds": 9});
    submit(&site, refused).refused(422, "validation_failed").await;
    assert_eq!(site.database.rows("cms_mails").await, 2);
    // Answers of any size: the mail is cut, the submission is whole.
    let rows: Vec<_> = (0..20).map(|_| json!({"c": "\"".repeat(40_000)})).collect();
    let fields = json!([{"id": "rows", "type": "repeater",
                         "columns": [{"id": "c", "type": "long_text", "max_length": 50_000}]}]);
    open(&site, "long", json!({"fields": fields, "recipients": ["c@example.org"]})).await;
    submit(&site, json!({"form": "long", "answers": {"rows": rows[..12]}})).expect(201).await;
    assert_eq!(site.database.rows("cms_mails").await, 3);
}
