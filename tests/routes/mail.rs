//! `/api/backend/mail`: providers, a test, the log, another try; what the operator sees of them.

use cms_core::mail::LogFilter;
use serde_json::json;

use crate::support::{
    Receiver, Site, each, has,
    mail::{Say, Smtp, mailing, over_http, scripted, served},
};

#[tokio::test]
async fn the_log_tells_of_every_mail_and_attempt() {
    let (_smtp, site) = scripted(|n| if n == 0 { Say::To("450 later") } else { Say::Take }).await;
    let (first, second) = (site.mail("ana@example.com").await, site.mail("ida@example.com").await);
    site.admin(&format!("GET /api/backend/mail/log?id={first}")).expect(200).await;
    site.send_mails().await;
    let list =
        async |query: &str| each(&site.get(&format!("/api/backend/mail/log{query}")).await, "id");
    let page = site.admin("GET /api/backend/mail/log?limit=1").expect(200).await.json();
    let next = page["meta"]["next"].as_str().unwrap();
    for (query, expected) in [
        ("", vec![second, first]),
        // Addresses keep their capitals.
        ("?to=IDA@example.com", vec![]),
        ("?to=ida@EXAMPLE.com", vec![second]),
        ("?purpose=form.notice&limit=1", vec![second]),
        ("?purpose=other", vec![]),
        (&format!("?since={}", cms_core::rfc3339(site.clock.now() + 1000)), vec![]),
        (&format!("?limit=1&cursor={next}"), vec![first]),
    ] {
        assert_eq!(list(query).await, expected, "{query}");
    }
    let (queued, done) = (list("?status=queued").await, list("?status=sent").await);
    assert_eq!((queued.len(), done.len()), (1, 1));
    let detail = site.get(&format!("/api/backend/mail/log?id={}", queued[0])).await;
    has!(detail, {"status": "queued", "reason": "smtp: at the recipient: 450 later",
                  "text": "Hi\n"});
    assert_eq!(each(&detail["attempts"], "outcome"), ["deferred"]);
    for (query, status, code) in [
        ("?id=4711", 404, "not_found"),
        ("?to=ana", 400, "bad_query"),
        ("?status=gone", 400, "bad_query"),
        ("?nothing=1", 400, "bad_query"),
    ] {
        site.admin(&format!("GET /api/backend/mail/log{query}")).refused(status, code).await;
    }
}

/// However the log is filtered, an index finds the page; the worker keeps its own indexes.
#[tokio::test]
async fn the_log_is_read_by_an_index() {
    let site = Site::open().await;
    let rows = "insert into cms_mails (purpose, message_id, recipient, subject, body_text, \
                auto_reply, status, next_attempt_at, created_at) select case when i % 4000 = 0 \
                then 'test' else 'form.notice' end, 'm' || i, 'a' || i || '@example.com', '', '', \
                false, case when i % 100 = 0 then 'failed' when i % 3 = 0 then 'queued' else \
                'sent' end, 1000000 + i, i";
    site.database.fill(rows, 20_000).await;
    let text = |text: &str| Some(text.to_owned());
    let of = |fill: &dyn Fn(&mut LogFilter)| {
        let mut filter = LogFilter::default();
        fill(&mut filter);
        filter
    };
    let (status, purpose) = ("cms_mails_by_status", "cms_mails_by_purpose");
    for (index, filter) in [
        (status, of(&|one| one.status = text("failed"))),
        (status, of(&|one| (one.status, one.purpose) = (text("failed"), text("test")))),
        (purpose, of(&|one| one.purpose = text("test"))),
        (purpose, of(&|one| (one.status, one.purpose) = (text("sent"), text("test")))),
        ("cms_mails_by_recipient", of(&|one| one.to = text("a9@example.com"))),
    ] {
        let plan = site.cms.mail().plan(&filter).await.unwrap().join("\n");
        // PostgreSQL knows which of two filters matches less.
        let other = filter.purpose.is_some() && plan.contains(purpose);
        assert!(plan.contains(index) || other, "{filter:?}: {plan}");
    }
    for plan in site.cms.mail().postman_plans(1_000_050).await.unwrap() {
        let plan = plan.join("\n");
        assert!(plan.contains("cms_mails_due"), "{plan}");
        assert!(!plan.contains(status), "{plan}");
    }
}

#[tokio::test]
async fn a_test_tells_what_each_provider_said() {
    let (smtp, site) = served(Say::Take).await;
    let test = |body| site.admin("POST /api/backend/mail/test").json(body);
    let sent = test(json!({"to": "ana@example.com"})).expect(200).await.data();
    has!(sent, {"status": "sent", "provider": "smtp", "purpose": "test", "tries": 0});
    assert_eq!(smtp.taken().len(), 1);
    assert!(smtp.taken()[0].message.contains("multipart/alternative"));
    let audits = "cms_audit where table_name = 'mail' and action = 'test'";
    assert_eq!(site.database.rows(audits).await, 1);
    for (body, field) in [
        (json!({"to": "ana"}), "to"),
        (json!({"to": "ana@example.com", "provider": "newsletter"}), "provider"),
    ] {
        let refused = test(body).refused(422, "validation_failed").await.json();
        assert_eq!(refused["errors"][0]["field"], field);
    }
    let once = || test(json!({"to": "ida@example.com"})).header("idempotency-key", "one");
    let (first, again) = (once().expect(200).await, once().expect(200).await);
    assert_eq!(first.data()["id"], again.data()["id"]);
    has!(again.data(), {"status": "sending", "tries": 0});
    assert_eq!(smtp.taken().len(), 2, "a repetition sends nothing");
}

#[tokio::test]
async fn a_test_is_tried_once_and_may_choose_a_provider_that_rests() {
    let broken = Receiver::start(503).await;
    let smtp = Smtp::start(Say::Take).await;
    let site = mailing(|mail| {
        mail.transactional = over_http("json", &broken.url);
        mail.smtp_url = Some(cms_core::Secret::new(&*smtp.url));
    })
    .await;
    for count in 1..=6 {
        let body = json!({"to": "ana@example.com", "provider": "transactional"});
        let tested = site.post("/api/backend/mail/test", body).await;
        has!(tested, {"status": "failed", "reason": "transactional: answered 503", "tries": 0});
        assert_eq!(broken.count(), count, "also while it rests");
        if count == 1 {
            let status = site.get("/api/backend/status").await;
            let server = broken.url.trim_end_matches("/hook");
            let told = format!("transactional ({server}) failed the last time: answered 503");
            let mut findings = status["findings"].as_array().unwrap().iter();
            assert!(findings.any(|one| one["found"] == *told), "{status}");
        }
    }
    assert_eq!(smtp.connections(), 0);
    let providers = site.get("/api/backend/mail/providers").await;
    let rests_until = cms_core::rfc3339(site.clock.now() + 30_000);
    assert_eq!(
        providers,
        json!([
            {
                "name": "transactional", "place": 1, "kind": "json",
                "server": broken.url.trim_end_matches("/hook"), "state": "resting", "faults": 5,
                "rests_until": rests_until, "reason": "answered 503",
            },
            {
                "name": "smtp", "place": 2, "kind": "smtp",
                "server": smtp.url.trim_start_matches("smtp://"), "state": "ready", "faults": 0,
                "rests_until": null, "reason": null,
            },
        ])
    );
    site.clock.advance(86_400_000);
    site.send_mails().await;
    assert_eq!(broken.count(), 6, "a test is not tried again");
}

#[tokio::test]
async fn mails_are_tried_again_when_asked() {
    let (smtp, site) = scripted(|n| if n == 0 { Say::To("550 5.1.1 no") } else { Say::Take }).await;
    let id = site.try_mail("ana@example.com").await;
    let retry = |ids| site.admin("POST /api/backend/mail/retry").json(json!({"ids": ids}));
    retry(vec![id, 4711]).refused(404, "not_found").await;
    assert_eq!(site.mail_detail(id).await.mail.status, "failed", "all or none");
    retry(vec![]).refused(422, "validation_failed").await;
    assert_eq!(retry(vec![id, id]).expect(200).await.data(), json!({"queued": 1}));
    site.send_mails().await;
    assert_eq!(site.mail_story(id).await, "sent: smtp recipient, smtp sent");
    retry(vec![id]).refused(409, "conflict").await;
    site.send_mails().await;
    assert_eq!(smtp.taken().len(), 1);
}

#[tokio::test]
async fn the_state_of_the_outbox_is_told_and_old_mails_go() {
    let (_smtp, site) = served(Say::Take).await;
    site.mail("ana@example.com").await;
    site.clock.advance(7_000);
    let ready = site.ask("GET /readyz").expect(200).await.data();
    has!(ready, {"mail": "none", "mail_age_ms": 7_000});
    site.send_mails().await;
    site.clock.advance(2_000);
    assert_eq!(site.ask("GET /readyz").expect(200).await.data()["mail_age_ms"], 0);
    assert_eq!(site.cms.mail().outcomes().done, 1);
    for (days, left) in [(29, 1), (1, 0)] {
        site.clock.advance(days * 86_400_000);
        site.cms.expire().await.unwrap();
        for table in ["cms_mails", "cms_mail_attempts"] {
            assert_eq!(site.database.rows(table).await, left, "{table} after {days} days");
        }
    }
}
