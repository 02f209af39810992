//! Answers that were acknowledged stay, whatever is called; what nobody answers is told once.

use serde_json::{Value as Json, json};

use crate::support::{
    Site,
    visits::{Visit, leads},
};

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

async fn answered(visit: &Visit<'_>, part: &str) -> bool {
    let column = format!("case when answers_json like '%{part}%' then 1 else 0 end");
    visit.column(&column).await == 1
}

#[tokio::test]
async fn a_payment_that_nobody_can_make_is_not_published() {
    let site = Site::open().await;
    let mut paid = colours();
    paid["nodes"][0]["config_json"]["fields"][0] =
        json!({"id": "price", "type": "payment", "required": true, "amount_minor": 100});
    let line = "POST /api/backend/formfunnel?action=create";
    let id = site.admin(line).json(paid).expect(201).await.data()["id"].clone();
    let line = "POST /api/backend/formfunnel?action=publish";
    let refused = site.admin(line).json(json!({"id": id})).refused(422, "not_publishable").await;
    let told = refused.json()["errors"][0].clone();
    assert_eq!(told["code"], "unknown_field_type");
    assert_eq!(told["field"], "nodes[0].config_json.fields[0]");
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
        assert!(answered(&visit, part).await, "{part}");
    }
    visit.complete(None).expect(200).await;
}

#[tokio::test]
async fn what_nobody_can_answer_and_what_nobody_reads_is_told_at_publish() {
    let site = Site::open().await;
    let mut closed = colours();
    closed["settings_json"] = json!({"retention_day": 3, "theme": {}});
    closed["nodes"][0]["config_json"]["fields"][1] =
        json!({"id": "colour", "type": "single_choice", "required": true});
    let line = "POST /api/backend/formfunnel?action=create";
    let created = site.admin(line).json(closed).expect(201).await.data();
    let warning = &created["warnings"][0];
    assert_eq!(
        (&warning["code"], &warning["path"]),
        (&json!("unknown_setting"), &json!("funnel.settings_json.retention_day"))
    );
    assert_eq!(created["warnings"].as_array().unwrap().len(), 1);
    let line = "POST /api/backend/formfunnel?action=publish";
    let body = json!({"id": created["id"]});
    let refused = site.admin(line).json(body).refused(422, "not_publishable").await.json();
    let told = &refused["errors"][0];
    assert_eq!(
        (&told["code"], &told["field"]),
        (&json!("bad_config"), &json!("nodes[0].config_json.fields[1]"))
    );
}

#[tokio::test]
async fn the_last_call_changes_only_what_it_names() {
    let site = Site::open().await;
    site.funnel(colours()).await;
    let visit = site.visit("colours").await;
    visit
        .answers(json!({"name": "Ada", "colour": "other", "colour.other": "teal", "terms": 1}))
        .await;
    let agreed = "\"terms.at\":\"2026-11-21T09:30:00Z\"";
    site.clock.advance(5_000);
    visit.complete(Some(json!({"colour": "red", "shape": "round"}))).expect(200).await;
    for (part, stays) in
        [("\"name\":\"Ada\"", true), ("\"colour\":\"red\"", true), ("teal", false), (agreed, true)]
    {
        assert_eq!(answered(&visit, part).await, stays, "{part}");
    }
    assert_eq!(site.raised("formfunnel.completed").await, 1);
    // What is named and blank is taken away; what is required cannot be.
    let visit = site.visit("colours").await;
    visit.answers(json!({"name": "Eve", "colour": "red"})).await;
    let refused = visit.complete(Some(json!({"name": ""}))).refused(422, "incomplete").await;
    assert_eq!(refused.json()["errors"][0]["field"], "name");
    visit.complete(Some(json!({"colour": null}))).expect(200).await;
    assert!(!answered(&visit, "colour").await && answered(&visit, "Eve").await);
    // Names that the last step does not ask for say nothing.
    let visit = site.visit("colours").await;
    visit.answers(json!({"name": "Bob"})).await;
    visit.complete(Some(json!({"shape": "round"}))).expect(200).await;
    assert!(answered(&visit, "Bob").await);
}

#[tokio::test]
async fn an_open_step_keeps_what_was_answered_before_it_was_left() {
    let site = Site::open().await;
    let funnel = site.funnel(leads()).await;
    let visit = site.visit("leads").await;
    visit.answers(json!({"name": "Ada"})).await;
    visit.answers(json!({"budget": 9000})).await;
    visit.answers(json!({"phone": "030 123456"})).await;
    let budget = Some(funnel.node("budget"));
    visit.step(budget, json!({"budget": 1})).expect(200).await;
    visit.step(budget, json!({"budget": 9000})).expect(200).await;
    visit.complete(None).expect(200).await;
    assert!(answered(&visit, "+4930123456").await);
}

#[tokio::test]
async fn the_last_call_never_goes_back() {
    let site = Site::open().await;
    let funnel = site.funnel(leads()).await;
    let visit = site.visit("leads").await;
    visit.answers(json!({"name": "Ada"})).await;
    let early = visit.complete(Some(json!({"name": "Eve"}))).refused(422, "incomplete").await;
    assert_eq!(early.json()["node_id"], funnel.node("budget"));
    assert!(answered(&visit, "Ada").await, "the step before was not answered again");
    assert_eq!(visit.happened("rewound").await, 0);
    assert_eq!(visit.resume().expect(200).await.json()["node"]["name"], "budget");
}

#[tokio::test]
async fn a_hidden_field_of_two_branches_has_one_value() {
    let site = Site::open().await;
    let mut funnel = leads();
    let hidden = |param: &str, otherwise: &str| {
        let kind = "hidden";
        json!({"id": "source", "type": kind, "param": param, "default": otherwise})
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
        let started = site.visitor("start", body).expect(201).await.json();
        let session = started["session_uuid"].as_str().unwrap().to_owned();
        let visit = Visit { site: &site, session };
        assert!(answered(&visit, &format!("\"source\":\"{source}\"")).await, "{page}");
        visit.answers(json!({"name": "Ada"})).await;
        visit.answers(json!({"budget": 1})).await;
        visit.complete(Some(json!({"why": "x"}))).expect(200).await;
        // Told once: in the summary, and in the event.
        let told = "(length(summary) - length(replace(summary, 'one', '')))";
        if source == "one" {
            assert_eq!(visit.column(told).await, 3);
        }
    }
    let twice = "select count(*) from cms_events where name = 'formfunnel.completed' \
                 and body like '%\"source\"%\"source\"%'";
    assert_eq!(site.database.count(twice).await, 0);
}
