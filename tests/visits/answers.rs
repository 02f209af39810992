//! Answers that were acknowledged stay, whatever is called; what nobody answers is told once.

use serde_json::{Value as Json, json};

use crate::support::{Site, each, has, leads, with};

/// One step with three fields, of which one is required, then an end.
fn colours() -> Json {
    json!({
        "name": "Colours", "slug": "colours", "start_node_id": -1,
        "nodes": [
            {"client_id": -1, "type": "step", "name": "what", "config_json": {"fields": [
                {"id": "name", "type": "short_text", "required": true},
                {"id": "colour", "type": "single_choice", "allow_other": true,
                 "options": [{"id": "red"}, {"id": "blue"}]},
                {"id": "terms", "type": "consent", "must_accept": false},
            ]}},
            {"client_id": -2, "type": "end", "name": "thanks"},
        ],
        "edges": [{"from_node_id": -1, "to_node_id": -2}],
    })
}

/// Numbers and days as its visitors write them; what is stored is the same in every language.
#[tokio::test]
async fn a_german_funnel_takes_german_numbers_and_days() {
    let site = Site::open().await;
    let mut german = colours();
    german["language_short"] = "de".into();
    german["settings_json"] = json!({"timezone": "Europe/Berlin"});
    german["nodes"][0]["config_json"]["fields"] = json!([
        {"id": "size", "type": "number"}, {"id": "day", "type": "date"},
        {"id": "at", "type": "datetime"}, {"id": "to", "type": "address", "required_parts": []},
    ]);
    site.funnel(german).await;
    let visit = site.visit("colours").await;
    for (answers, code) in [
        (json!({"size": "1.500"}), "ambiguous"),
        (json!({"day": "11.24.2026"}), "format"),
        (json!({"at": "2027-03-28T02:30"}), "no_such_time"),
        (json!({"to": {"postal_code": "1011", "country": "DE"}}), "postal_code"),
    ] {
        let refused = visit.step(None, answers).refused(422, "validation_failed").await.json();
        assert_eq!(refused["errors"][0]["code"], code);
    }
    let given = json!({"size": "1.500,5", "day": "24.11.2026", "at": "24.11.2026 14:30",
                       "to": {"postal_code": "D-10115", "country": "de"}});
    visit.answers(given).await;
    let stored = [
        "\"size\":1500.5",
        "\"day\":\"2026-11-24\"",
        "\"at\":\"2026-11-24T14:30:00+01:00\"",
        "\"postal_code\":\"10115\"",
    ];
    for part in stored {
        assert!(visit.holds(part).await, "{part}");
    }
    visit.complete(None).expect(200).await;
}

#[tokio::test]
async fn what_nobody_can_answer_and_what_nobody_reads_is_told_at_publish() {
    let site = Site::open().await;
    let choice = json!({"id": "colour", "type": "single_choice", "required": true});
    let payment = json!({"id": "price", "type": "payment", "required": true, "amount_minor": 100});
    for (at, field, code) in [(1, choice, "bad_config"), (0, payment, "unknown_field_type")] {
        let mut closed = colours();
        closed["slug"] = format!("closed{at}").into();
        closed["settings_json"] = json!({"retention_day": 3, "theme": {}});
        closed["nodes"][0]["config_json"]["fields"][at] = field;
        let made = site.staff("create", closed).expect(201).await.data();
        if at == 1 {
            has!(made["warnings"][0], {"code": "unknown_setting",
                                       "path": "funnel.settings_json.retention_day"});
            assert_eq!(made["warnings"].as_array().unwrap().len(), 1);
        }
        let publish = site.staff("publish", json!({"id": made["id"]}));
        let refused = publish.refused(422, "not_publishable").await.json();
        let place = format!("nodes[0].config_json.fields[{at}]");
        has!(refused["errors"][0], {"code": code, "field": place});
    }
}

#[tokio::test]
async fn the_last_call_changes_only_what_it_names() {
    let site = Site::open().await;
    site.funnel(colours()).await;
    let visit = site.visit("colours").await;
    let teal = json!({"name": "Ada", "colour": "other", "colour.other": "teal", "terms": 1});
    visit.answers(teal).await;
    let agreed = "\"terms.at\":\"2026-11-21T09:30:00Z\"";
    site.clock.advance(5_000);
    visit.complete(Some(json!({"colour": "red", "shape": "round"}))).expect(200).await;
    for (part, stays) in
        [("\"name\":\"Ada\"", true), ("\"colour\":\"red\"", true), ("teal", false), (agreed, true)]
    {
        assert_eq!(visit.holds(part).await, stays, "{part}");
    }
    assert_eq!(site.raised("formfunnel.completed").await, 1);
    // What is named and blank is taken away; what is required cannot be.
    let visit = site.visit("colours").await;
    visit.answers(json!({"name": "Eve", "colour": "red"})).await;
    let refused = visit.complete(Some(json!({"name": ""}))).refused(422, "incomplete").await;
    assert_eq!(refused.json()["errors"][0]["field"], "name");
    visit.complete(Some(json!({"colour": null}))).expect(200).await;
    assert!(!visit.holds("colour").await && visit.holds("Eve").await);
    // Names that the last step does not ask for say nothing.
    let visit = site.visit("colours").await;
    visit.answers(json!({"name": "Bob"})).await;
    visit.complete(Some(json!({"shape": "round"}))).expect(200).await;
    assert!(visit.holds("Bob").await);
}

#[tokio::test]
async fn an_open_step_keeps_its_answers_and_the_last_call_never_goes_back() {
    let site = Site::open().await;
    let funnel = site.funnel(leads()).await;
    let visit = site.ada(9000).await;
    visit.answers(json!({"phone": "030 123456"})).await;
    let budget = Some(funnel.node("budget"));
    visit.step(budget, json!({"budget": 1})).expect(200).await;
    visit.step(budget, json!({"budget": 9000})).expect(200).await;
    visit.complete(None).expect(200).await;
    assert!(visit.holds("+4930123456").await);
    // The last call never goes back.
    let visit = site.visit("leads").await;
    visit.answers(json!({"name": "Ada"})).await;
    let early = visit.complete(Some(json!({"name": "Eve"}))).refused(422, "incomplete").await;
    assert_eq!(early.json()["node_id"], funnel.node("budget"));
    assert!(visit.holds("Ada").await, "the step before was not answered again");
    assert_eq!(visit.happened("rewound").await, 0);
    assert_eq!(visit.resume().expect(200).await.json()["node"]["name"], "budget");
}

#[tokio::test]
async fn answers_of_a_step_that_is_shown_again_do_not_count() {
    let site = Site::open().await;
    let rich = json!({"rules": [{"field": "budget", "op": "greater_than", "value": 5000}]});
    let rule = json!({"recipients": "{{ mail }}", "subject": "Has {{ budget | nothing }}",
                      "trigger_event": "abandoned"});
    let first = with(rule.clone(), json!({"condition_json": rich, "subject": "Rich"}));
    let mails = json!([first, rule]);
    let funnel = site.leads(json!({"save_abandoned": 1, "email_routings": mails})).await;
    let visit = site.visit("leads").await;
    let who = json!({"name": "Ada", "mail": "ada@example.com"});
    visit.answers(who.clone()).await;
    visit.answers(json!({"budget": 9000})).await;
    assert!(visit.is("summary like '%9000%'").await);
    let other = with(who, json!({"name": "Eve"}));
    let back = visit.step(Some(funnel.node("who")), other).expect(200).await.json();
    has!(back, {"/node/name": "budget", "answers": {"budget": 9000}});
    visit.abandon().await;
    site.clock.advance(3_600_000);
    site.process_abandoned().await;
    assert!(visit.is("summary like '%Eve%' and summary not like '%9000%'").await);
    let line =
        format!("/api/backend/formfunnel?action=submission_get&id={}", visit.column("id").await);
    let shown = site.get(&line).await;
    assert_eq!(each(&shown["answers"], "field"), ["name", "mail", "campaign"]);
    has!(shown["path_resolved"][1], {"name": "budget", "answers": [], "ways": []});
    assert_eq!(each(&shown["mails"], "subject"), ["Has nothing"]);
    for (event, number) in [("step_completed", 1), ("abandoned", 0)] {
        let told = "body like '%\"field\":\"budget\"%'";
        let told = format!("cms_events where name = 'formfunnel.{event}' and {told}");
        assert_eq!(site.database.rows(&told).await, number, "{event}");
    }
    // The visitor finds the answer again, and sends it.
    assert_eq!(visit.resume().expect(200).await.json()["answers"], json!({"budget": 9000}));
    visit.answers(json!({"budget": 9000})).await;
    assert!(visit.is("summary like '%9000%'").await);
}

#[tokio::test]
async fn a_hidden_field_of_two_branches_has_one_value() {
    let site = Site::open().await;
    let mut funnel = leads();
    let hidden = |param, default| {
        let field = json!({"id": "source", "type": "hidden"});
        with(field, json!({"param": param, "default": default}))
    };
    funnel["nodes"][3]["config_json"]["fields"][0] = hidden("s", "rich");
    // The other branch asks for it too, from another parameter.
    funnel["nodes"].as_array_mut().unwrap().push(json!(
        {"client_id": -7, "type": "step", "name": "poor", "config_json": {"fields": [
            hidden("t", "poor"), {"id": "why", "type": "short_text"}]}}
    ));
    funnel["edges"][3]["to_node_id"] = (-7).into();
    funnel["edges"].as_array_mut().unwrap().push(json!({"from_node_id": -7, "to_node_id": -6}));
    site.funnel(funnel).await;
    for (page, source) in [
        ("https://example.org/?s=one&t=two", "one"),
        ("https://example.org/?t=two", "two"),
        ("https://example.org/?s=&t=two", "two"),
        ("https://example.org/", "rich"),
    ] {
        let body = json!({"funnel_id": "leads", "source_url": page});
        let visit = site.begun(site.visitor("start", body)).await;
        assert!(visit.holds(&format!("\"source\":\"{source}\"")).await, "{page}");
        visit.answers(json!({"name": "Ada"})).await;
        visit.answers(json!({"budget": 1})).await;
        visit.complete(Some(json!({"why": "x"}))).expect(200).await;
        // Told once: in the summary, and in the event.
        if source == "one" {
            let told = "length(summary) - length(replace(summary, 'one', ''))";
            assert_eq!(visit.column(told).await, 3);
        }
    }
    let twice = "cms_events where name = 'formfunnel.completed' \
                 and body like '%\"source\"%\"source\"%'";
    assert_eq!(site.database.rows(twice).await, 0);
}
