//! Who is written to at the end of a visit.

use serde_json::{Value as Json, json};

use crate::support::{
    Site,
    visits::{Visit, leads},
};

impl Site {
    pub(super) async fn mails(&self) -> i64 {
        self.database.count("select count(*) from cms_mails").await
    }
}

/// Those with a budget go to sales, others to the office; who is away is written about too.
fn routed() -> Json {
    let mut funnel = leads();
    let rich = json!({"rules": [{"field": "budget", "op": "greater_or_equal", "value": 5000}]});
    funnel["save_abandoned"] = 1.into();
    funnel["email_routings"] = json!([
        {"recipients": "sales@example.org, {{ mail }}", "cc": "boss@example.org",
         "condition_json": rich, "subject": "Lead: {{ name }}",
         "body_html": "<p>{{ name }} has {{ budget | nothing }}</p>",
         "auto_reply_enabled": 1, "auto_reply_subject": "Thank you",
         "auto_reply_body_html": "Dear {{ name }}"},
        {"recipients": "office@example.org", "subject": "Other"},
        {"recipients": "never@example.org", "subject": "Too late"},
        {"recipients": "away@example.org", "subject": "Away", "trigger_event": "abandoned"},
    ]);
    funnel
}

#[tokio::test]
async fn the_first_rule_that_matches_writes() {
    let site = Site::open().await;
    site.funnel(routed()).await;
    let rich = site.visit("leads").await;
    rich.answers(json!({"name": "O'Brien <b>, x@example.org", "mail": "ada@example.com"})).await;
    rich.answers(json!({"budget": 9000})).await;
    assert_eq!(site.mails().await, 0);
    rich.complete(None).expect(200).await;
    rich.complete(None).expect(200).await;
    let to = |to: &str| format!("select count(*) from cms_mails where recipient = '{to}'");
    for (recipient, mails) in [
        ("sales@example.org", 1),
        ("boss@example.org", 1),
        // As a recipient, and for the confirmation.
        ("ada@example.com", 2),
        ("x@example.org", 0),
    ] {
        assert_eq!(site.database.count(&to(recipient)).await, mails, "{recipient}");
    }
    let whole = "select count(*) from cms_mails \
                 where subject = 'Lead: O''Brien <b>, x@example.org' \
                 and body_html like '%O&#39;Brien &lt;b&gt;%' and reply_to = 'ada@example.com'";
    assert_eq!(site.database.count(whole).await, 3);
    let replies = "select count(*) from cms_mails where auto_reply and subject = 'Thank you'";
    assert_eq!(site.database.count(replies).await, 1);
    let rationed = "select count(*) from cms_mails where auto_reply and recipient = \
                    'ada@example.com' and subject like 'Lead: %'";
    assert_eq!(site.database.count(rationed).await, 1, "the visitor named this address");
    let poor = site.visit("leads").await;
    poor.answers(json!({"name": "Bob"})).await;
    poor.complete(Some(json!({"budget": 1}))).expect(200).await;
    assert_eq!(site.database.count(&to("office@example.org")).await, 1);
    let away = site.visit("leads").await;
    away.abandon().await;
    away.abandon().await;
    assert_eq!(site.mails().await, 5);
    site.clock.advance(3_600_000);
    site.cms.funnels().process_abandoned().await.unwrap();
    site.cms.funnels().process_abandoned().await.unwrap();
    assert_eq!(site.database.count(&to("away@example.org")).await, 1);
    assert_eq!(site.mails().await, 6);
    assert_eq!(away.happened("mail").await, 1);
}

#[tokio::test]
async fn mails_are_queued_with_the_end_or_not_at_all() {
    let site = Site::open().await;
    site.funnel(routed()).await;
    let visit = site.visit("leads").await;
    visit.answers(json!({"name": "Ada"})).await;
    visit.answers(json!({"budget": 1})).await;
    let found = site.cms.funnels().visit(&visit.session).await.unwrap();
    let call = json!({"session_uuid": visit.session});
    let call = serde_json::from_value(call).unwrap();
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
    let funnel = site.funnel(routed()).await;
    let line = "POST /api/backend/formfunnel?action=routing_test";
    let tried = async |trigger: &str, answers: Json| {
        let asked = json!({"funnel_id": funnel.id, "trigger": trigger, "answers": answers});
        site.admin(line).json(asked).expect(200).await.data()
    };
    let rich = tried("completed", json!({"name": "Ada", "budget": 5000})).await;
    let matches: Vec<_> =
        rich["rules"].as_array().unwrap().iter().map(|rule| &rule["matches"]).collect();
    assert_eq!(matches, [true, true, true]);
    assert_eq!(rich["chosen"], rich["rules"][0]["id"]);
    let told: Vec<_> = rich["mails"].as_array().unwrap().iter().map(|mail| &mail["to"]).collect();
    assert_eq!(told, ["sales@example.org", "boss@example.org"]);
    assert_eq!(rich["mails"][0]["text"], "Ada has 5000");
    assert_eq!(rich["skipped"].as_array().unwrap().len(), 2, "no address was answered");
    let poor = tried("completed", json!({"budget": 1})).await;
    assert_eq!(
        (&poor["rules"][0]["matches"], &poor["chosen"]),
        (&json!(false), &poor["rules"][1]["id"])
    );
    assert_eq!(poor["rules"][0]["trace"][0]["answer"], 1);
    let away = tried("abandoned", json!({})).await;
    assert_eq!(away["mails"][0]["to"], "away@example.org");
    let wrong = json!({"funnel_id": funnel.id, "trigger": "paid"});
    site.admin(line).json(wrong).refused(422, "validation_failed").await;
    assert_eq!(site.mails().await, 0);
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
    let mut funnel = leads();
    funnel["save_abandoned"] = 1.into();
    funnel["language_short"] = "en".into();
    funnel["settings_json"] = json!({"page_url": "https://example.org/offer?x=1"});
    funnel["email_routings"] = json!([
        {"recipients": "sales@example.org", "body_html": body(&done)},
        {"recipients": "{{ mail }}", "body_html": body(&left), "trigger_event": "abandoned"},
    ]);
    let line = "POST /api/backend/formfunnel?action=create";
    let created = site.admin(line).json(funnel).expect(201).await.data();
    assert_eq!(created["warnings"], json!([]), "the check knows what the docs list");
    site.publish(created["id"].as_i64().unwrap()).await;
    let told = |mail: &Json, tokens: &[String]| {
        let text = mail["text"].as_str().unwrap();
        for name in tokens.iter().map(|token| token.trim_matches(['{', '}'])) {
            let (_, rest) = text.split_once(&format!("{name}=")).unwrap();
            let value = rest.split(';').next().unwrap();
            assert!(!value.trim().is_empty(), "{name}: {text}");
        }
        assert!(text.contains("Ada;ada@example.com;Name;"), "{text}");
    };
    let begin = json!({"funnel_id": "leads", "utm_source": "a", "utm_medium": "b",
                       "utm_campaign": "c", "utm_term": "d", "utm_content": "e"});
    let started = site.visitor("start", begin).expect(201).await.json();
    let session = started["session_uuid"].as_str().unwrap().to_owned();
    let visit = Visit { site: &site, session };
    visit.answers(json!({"name": "Ada", "mail": "ada@example.com"})).await;
    visit.abandon().await;
    site.clock.advance(3_600_000);
    site.cms.funnels().process_abandoned().await.unwrap();
    let mail = async |id: i64| {
        site.admin(&format!("GET /api/backend/mail/log?id={id}")).expect(200).await.data()
    };
    let away = mail(1).await;
    told(&away, &left);
    let text = away["text"].as_str().unwrap();
    let token = text.split("https://example.org/offer?x=1#cms-resume=").nth(1).unwrap();
    let token = token.split(';').next().unwrap();
    let link = json!({"token": token});
    let back = site.visitor("resume", link.clone()).expect(200).await.json();
    assert_eq!(
        (&back["session_uuid"], &back["node"]["name"]),
        (&visit.session.clone().into(), &json!("budget"))
    );
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
