//! Who is written to at the end of a visit.

use serde_json::{Value as Json, json};

use crate::support::{Site, each, has, leads, with};

impl Site {
    pub(super) async fn mails(&self) -> i64 {
        self.database.rows("cms_mails").await
    }
}

/// Those with a budget go to sales, others to the office; who is away is written about too.
fn routed() -> Json {
    let rich = json!({"rules": [{"field": "budget", "op": "greater_or_equal", "value": 5000}]});
    json!({"save_abandoned": 1, "email_routings": [
        {"recipients": "sales@example.org, {{ mail }}", "cc": "boss@example.org",
         "condition_json": rich, "subject": "Lead: {{ name }}",
         "body_html": "<p>{{ name }} has {{ budget | nothing }}</p>",
         "auto_reply_enabled": 1, "auto_reply_subject": "Thank you",
         "auto_reply_body_html": "Dear {{ name }}"},
        {"recipients": "office@example.org", "subject": "Other"},
        {"recipients": "never@example.org", "subject": "Too late"},
        {"recipients": "away@example.org", "subject": "Away", "trigger_event": "abandoned"},
    ]})
}

#[tokio::test]
async fn the_first_rule_that_matches_writes() {
    let site = Site::open().await;
    site.leads(routed()).await;
    let rich = site.visit("leads").await;
    rich.answers(json!({"name": "O'Brien <b>, x@example.org", "mail": "ada@example.com"})).await;
    rich.answers(json!({"budget": 9000})).await;
    assert_eq!(site.mails().await, 0);
    rich.complete(None).expect(200).await;
    rich.complete(None).expect(200).await;
    let to =
        async |to: &str| site.database.rows(&format!("cms_mails where recipient = '{to}'")).await;
    for (recipient, mails) in [
        ("sales@example.org", 1),
        ("boss@example.org", 1),
        // As a recipient, and for the confirmation.
        ("ada@example.com", 2),
        ("x@example.org", 0),
    ] {
        assert_eq!(to(recipient).await, mails, "{recipient}");
    }
    for (which, mails) in [
        (
            "subject = 'Lead: O''Brien <b>, x@example.org' \
             and body_html like '%O&#39;Brien &lt;b&gt;%'",
            3,
        ),
        ("reply_to = 'ada@example.com' and recipient <> 'ada@example.com'", 2),
        ("reply_to is null and recipient = 'ada@example.com'", 2),
        ("auto_reply and subject = 'Thank you'", 1),
        // Rationed too: the visitor named this address.
        ("auto_reply and recipient = 'ada@example.com' and subject like 'Lead: %'", 1),
    ] {
        assert_eq!(site.database.rows(&format!("cms_mails where {which}")).await, mails, "{which}");
    }
    let poor = site.visit("leads").await;
    poor.answers(json!({"name": "Bob"})).await;
    poor.complete(Some(json!({"budget": 1}))).expect(200).await;
    assert_eq!(to("office@example.org").await, 1);
    let away = site.visit("leads").await;
    away.abandon().await;
    away.abandon().await;
    assert_eq!(site.mails().await, 5);
    site.clock.advance(3_600_000);
    site.process_abandoned().await;
    site.process_abandoned().await;
    assert_eq!((to("away@example.org").await, site.mails().await), (1, 6));
    assert_eq!(away.happened("mail").await, 1);
}

#[tokio::test]
async fn mails_are_queued_with_the_end_or_not_at_all() {
    let site = Site::open().await;
    site.leads(routed()).await;
    let visit = site.ada(1).await;
    let found = site.cms.funnels().visit(&visit.session).await.unwrap();
    let call = serde_json::from_value(json!({"session_uuid": visit.session})).unwrap();
    let mut change = site.cms.change(cms_core::Actor::Visitor).await.unwrap();
    let _ = site.cms.funnels().complete(&mut change, &found, &call).await.unwrap();
    drop(change);
    assert_eq!((site.mails().await, site.raised("formfunnel.completed").await), (0, 0));
    visit.complete(None).expect(200).await;
    assert_eq!((site.mails().await, site.raised("formfunnel.completed").await), (1, 1));
}

#[tokio::test]
async fn routing_is_tried_without_a_mail() {
    let site = Site::open().await;
    let funnel = site.leads(routed()).await;
    let tried = async |trigger: &str, answers: Json| {
        let asked = json!({"funnel_id": funnel.id, "trigger": trigger, "answers": answers});
        site.staff("routing_test", asked).expect(200).await.data()
    };
    let rich = tried("completed", json!({"name": "Ada", "budget": 5000})).await;
    assert_eq!(each(&rich["rules"], "matches"), [true, true, true]);
    assert_eq!(rich["chosen"], rich["rules"][0]["id"]);
    assert_eq!(each(&rich["mails"], "to"), ["sales@example.org", "boss@example.org"]);
    assert_eq!(rich["mails"][0]["text"], "Ada has 5000");
    assert_eq!(rich["skipped"].as_array().unwrap().len(), 2, "no address was answered");
    let poor = tried("completed", json!({"budget": 1})).await;
    has!(poor, {"/rules/0/matches": false, "chosen": poor["rules"][1]["id"],
                "/rules/0/trace/0/answer": 1});
    has!(poor["errors"], {"/0/field": "name", "/0/code": "required"});
    let away = tried("abandoned", json!({})).await;
    assert_eq!(away["mails"][0]["to"], "away@example.org");
    assert_eq!(away["errors"], json!(null), "who leaves has not answered all");
    let wrong = json!({"funnel_id": funnel.id, "trigger": "paid"});
    site.staff("routing_test", wrong).refused(422, "validation_failed").await;
    assert_eq!(site.mails().await, 0);
}

/// What is tried for a German funnel is what its visitors bring about.
#[tokio::test]
async fn routing_counts_answers_as_visits_do() {
    let site = Site::open().await;
    let rich = json!({"rules": [{"field": "budget", "op": "greater_or_equal", "value": 5000}]});
    let called = json!({"rules": [{"field": "phone", "op": "is_not_empty"}]});
    let mails = json!([
        {"recipients": "gross@example.org", "condition_json": rich, "body_html": "{{*}}"},
        {"recipients": "phone@example.org", "condition_json": called},
        {"recipients": "klein@example.org"},
    ]);
    let german = json!({"language_short": "de", "email_routings": mails});
    let funnel = site.leads(german).await;
    for (answers, to, refused) in [
        (json!({"name": "Ada", "budget": "6000,5"}), "gross@example.org", vec![]),
        (
            json!({"name": "Ada", "budget": "6000,5", "phone": "7"}),
            "gross@example.org",
            vec!["phone"],
        ),
        (json!({"name": "Ada", "budget": 9000, "paper": ["a"]}), "gross@example.org", vec![]),
        // The telephone is asked for on the other way only.
        (
            json!({"name": "Ada", "budget": "4999,5", "phone": "030 123456"}),
            "klein@example.org",
            vec![],
        ),
        (json!({"name": "Ada", "budget": "unsinn"}), "klein@example.org", vec!["budget"]),
        (json!({"budget": 9000}), "gross@example.org", vec!["name"]),
    ] {
        let asked = json!({"funnel_id": funnel.id, "answers": answers});
        let tried = site.staff("routing_test", asked).expect(200).await.data();
        assert_eq!(each(&tried["mails"], "to"), [to], "{answers}");
        let errors = tried["errors"].as_array().into_iter().flatten();
        let fields: Vec<_> = errors.map(|fault| fault["field"].as_str().unwrap()).collect();
        assert_eq!(fields, refused, "{answers}");
        if !refused.is_empty() {
            continue;
        }
        let to_them = format!("cms_mails where recipient = '{to}'");
        let before = site.database.rows(&to_them).await;
        let visit = site.visit("leads").await;
        visit.answers(json!({"name": "Ada"})).await;
        visit.answers(json!({"budget": answers["budget"]})).await;
        visit.complete(None).expect(200).await;
        assert_eq!(site.database.rows(&to_them).await, before + 1, "{answers}");
    }
    // Hidden fields have their default, as at a start.
    let answers = json!({"name": "Ada", "budget": 9000});
    let asked = json!({"funnel_id": funnel.id, "answers": answers});
    let tried = site.staff("routing_test", asked).expect(200).await.data();
    let text = tried["mails"][0]["text"].as_str().unwrap();
    assert!(text.contains("campaign: none"), "{text}");
}

/// The tokens of the service's own that the docs list.
fn documented() -> Vec<String> {
    let rows =
        include_str!("../../docs/funnels.md").lines().filter(|line| line.starts_with("| `{{_"));
    let tokens = rows.flat_map(|row| row.split('`').filter(|part| part.starts_with("{{_")));
    tokens.map(str::to_owned).collect()
}

#[tokio::test]
async fn every_token_of_the_docs_stands_for_something() {
    let site = Site::open().await;
    let own = documented();
    assert!(own.len() > 15, "{own:?}");
    let (left, done): (Vec<_>, Vec<_>) =
        own.iter().cloned().partition(|token| token == "{{_resume_url}}");
    let body = |tokens: &[String]| {
        let rows = tokens
            .iter()
            .map(|token| format!("<p>{}={token};</p>", token.trim_matches(['{', '}'])));
        rows.collect::<String>() + "{{ name }};{{ mail | none }};{{ label:name }};{{*}}{{*:table}}"
    };
    let funnel = json!({
        "save_abandoned": 1, "language_short": "en",
        "settings_json": {"page_url": "https://example.org/offer?x=1"},
        "email_routings": [
            {"recipients": "sales@example.org", "body_html": body(&done)},
            {"recipients": "{{ mail }}", "body_html": body(&left), "trigger_event": "abandoned"}],
    });
    let created = site.staff("create", with(leads(), funnel)).expect(201).await.data();
    assert_eq!(created["warnings"], json!([]), "the check knows what the docs list");
    site.publish(created["id"].as_i64().unwrap()).await;
    let told = |mail: &Json, tokens: &[String]| {
        let text = mail["text"].as_str().unwrap();
        for name in tokens.iter().map(|token| token.trim_matches(['{', '}'])) {
            let (_, rest) = text.split_once(&format!("{name}=")).unwrap();
            assert!(!rest.split(';').next().unwrap().trim().is_empty(), "{name}: {text}");
        }
        assert!(text.contains("Ada;ada@example.com;Name;"), "{text}");
    };
    let begin = json!({"funnel_id": "leads", "utm_source": "a", "utm_medium": "b",
                       "utm_campaign": "c", "utm_term": "d", "utm_content": "e"});
    let visit = site.begun(site.visitor("start", begin)).await;
    visit.answers(json!({"name": "Ada", "mail": "ada@example.com"})).await;
    visit.abandon().await;
    site.clock.advance(3_600_000);
    site.process_abandoned().await;
    let mail = async |id: i64| site.get(&format!("/api/backend/mail/log?id={id}")).await;
    let away = mail(1).await;
    told(&away, &left);
    let text = away["text"].as_str().unwrap();
    let token = text.split("https://example.org/offer?x=1#cms-resume=").nth(1).unwrap();
    let token = token.split(';').next().unwrap();
    let link = json!({"token": token});
    let back = site.visitor("resume", link.clone()).expect(200).await.json();
    has!(back, {"session_uuid": visit.session, "/node/name": "budget"});
    for (wrong, status, code) in [
        (json!({"token": format!("{token}A")}), 404, "not_found"),
        (json!({"token": visit.session}), 404, "not_found"),
        (json!({"token": token, "session_uuid": visit.session}), 422, "validation_failed"),
        (json!({}), 422, "validation_failed"),
    ] {
        site.visitor("resume", wrong).refused(status, code).await;
    }
    visit.answers(json!({"budget": 1})).await;
    visit.complete(None).expect(200).await;
    told(&mail(2).await, &done);
    site.visitor("resume", link).refused(409, "already_completed").await;
}
