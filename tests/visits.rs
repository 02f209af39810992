//! Visits of funnels: what holds across calls, whoever comes twice, late, or from another place.
//! What happens in which situation, and the test that shows it:
//!
//! | situation | test |
//! |---|---|
//! | a step with good answers | `routes::visits::step_leads_on_by_the_answers` |
//! | refused answers | `routes::visits::step_tells_all_that_is_wrong_and_stays` |
//! | without `node_id` | `the_same_step_again_changes_nothing` |
//! | the same step with the same answers again | the same |
//! | an earlier step with other answers | `going_back_cuts_the_way_and_keeps_answers_…` |
//! | a node that is no step on the way | `a_required_answer_cannot_be_skipped` |
//! | two calls at once | `two_calls_at_once_are_one_after_the_other`, `races` |
//! | answers for unknown fields | `routes::visits::a_strict_funnel_refuses_what_it_does_not_ask` |
//! | values for fields that nobody answers | `what_nobody_answers_is_left_aside` |
//! | `complete`, with the last answers | `routes::visits::complete_names_the_first_step_…` |
//! | `complete` again | `routes::visits::complete_answers_once_and_the_same_again` |
//! | `step`, `abandon` after that | the same |
//! | `abandon` | `routes::visits::abandon_marks_only_where_the_funnel_says_so`, `a_beacon_of_…` |
//! | `step` after `abandon` | `presence::every_call_of_who_was_away_brings_…` |
//! | the age of a visit at rest | `those_who_rest_are_marked_and_told_once` |
//! | an expired visit | `routes::visits::resume_shows_where_the_visitor_stands` |
//! | the funnel is edited, published, archived, deleted | `a_visit_keeps_its_version` |
//! | all of it at random | `model` |

mod answers;
mod bounds;
mod computed;
mod counters;
mod crash;
mod files;
mod law;
mod mails;
mod model;
mod presence;
mod races;
mod replay;
mod retention;
mod views;

use cms_core::{Cms, Random};
use serde_json::{Value as Json, json};

use crate::support::{
    Receiver, Site, TestDatabase, Visit, each, faults, has, leads, webhooks, with,
};

const COMPLETED: &str = "status = 'completed'";
const ABANDONED: &str = "status = 'abandoned'";

/// Another server of the site, which has read no version yet. Statements of the test go through the
/// first.
async fn another(site: &Site) -> Site {
    let builder = Cms::builder(site.cms.settings().clone()).clock(site.clock.clone());
    let cms = builder.random(Random::seeded(1 << 63)).open().await.unwrap();
    let api = cms_http::Api::new(cms.clone()).unwrap();
    let (clock, admin) = (site.clock.clone(), site.admin.clone());
    Site { cms, api, clock, database: TestDatabase::sqlite().await, admin }
}

fn name(reply: &Json) -> &Json {
    &reply["node"]["name"]
}

#[tokio::test]
async fn the_same_step_again_changes_nothing() {
    let site = Site::open().await;
    let funnel = site.funnel(leads()).await;
    let visit = site.visit("leads").await;
    let answers = json!({"name": "Ada"});
    let first = visit.answers(answers.clone()).await;
    for node in [Some(funnel.node("who")), None] {
        let again = visit.step(node, answers.clone()).expect(200).await.json();
        assert_eq!(again, first, "{node:?}");
    }
    let told = (site.raised("formfunnel.step_completed").await, visit.happened("answered").await);
    assert_eq!(told, (1, 1));
    // From further on, an earlier step with its own answers leads nowhere else.
    visit.answers(json!({"budget": 9000})).await;
    let again = visit.step(Some(funnel.node("who")), answers).expect(200).await.json();
    has!(again, {"/node/name": "budget", "answers": {"budget": 9000}});
    assert_eq!(name(&visit.resume().expect(200).await.json()), "call");
}

#[tokio::test]
async fn going_back_cuts_the_way_and_keeps_answers_to_show_them_again() {
    let site = Site::open().await;
    let funnel = site.funnel(leads()).await;
    let visit = site.ada(9000).await;
    visit.answers(json!({"phone": "030 123456"})).await;
    let back = async |budget: i64| {
        let step = visit.step(Some(funnel.node("budget")), json!({"budget": budget}));
        step.expect(200).await.json()
    };
    assert_eq!(name(&back(10).await), "sorry");
    assert_eq!(visit.happened("rewound").await, 1);
    // What was answered on the way that was left is no answer any more, nor its step on the path.
    let refused = visit.step(Some(funnel.node("call")), json!({"phone": "1"}));
    let refused = refused.refused(409, "not_on_path").await.json();
    assert_eq!(refused["node_id"], funnel.node("sorry"));
    // The way back finds the number again.
    assert_eq!(back(9000).await["answers"], json!({"phone": "+4930123456"}));
    back(1).await;
    visit.complete(None).expect(200).await;
    assert!(!visit.holds("phone").await, "answers off the way are dropped");
    // On the final way: presented who, budget, sorry.
    let on_path = "cms_formfunnel_events where on_path and kind = 'presented'";
    assert_eq!(site.database.rows(on_path).await, 3);
}

#[tokio::test]
async fn a_required_answer_cannot_be_skipped() {
    let site = Site::open().await;
    let funnel = site.funnel(leads()).await;
    let visit = site.visit("leads").await;
    let [who, budget, rich, call, sorry] =
        ["who", "budget", "rich?", "call", "sorry"].map(|name| funnel.node(name));
    // By leaving it out.
    visit.step(None, json!({})).refused(422, "validation_failed").await;
    // By another node's id: one to come, a condition, an end, one of nobody.
    for node in [budget, rich, call, sorry, 999] {
        let other = visit.step(Some(node), json!({"budget": 1}));
        assert_eq!(other.refused(409, "not_on_path").await.json()["node_id"], who, "{node}");
    }
    // By completing early.
    visit.complete(None).refused(422, "incomplete").await;
    visit.complete(Some(json!({"budget": 1}))).refused(422, "incomplete").await;
    // By going back.
    visit.answers(json!({"name": "Ada"})).await;
    visit.answers(json!({"budget": 1})).await;
    visit.step(Some(who), json!({"name": ""})).refused(422, "validation_failed").await;
    visit.step(Some(who), json!({"name": "Eve"})).expect(200).await;
    let refused = visit.complete(None).refused(422, "incomplete").await.json();
    assert_eq!(refused["node_id"], budget, "the way begins again behind the step");
    assert_eq!((visit.is(COMPLETED).await, site.raised("formfunnel.completed").await), (false, 0));
}

#[tokio::test]
async fn two_calls_at_once_are_one_after_the_other() {
    let site = Site::open().await;
    let funnel = site.funnel(leads()).await;
    for round in 0..5 {
        let visit = site.visit("leads").await;
        let who = Some(funnel.node("who"));
        // A double click.
        let before = site.raised("formfunnel.step_completed").await;
        let click = || async { visit.step(who, json!({"name": "Ada"})).expect(200).await.json() };
        let (one, two) = tokio::join!(click(), click());
        assert_eq!(one, two, "{round}");
        assert_eq!(site.raised("formfunnel.step_completed").await, before + 1);
        // Two different answers: one after the other, the way fits the last.
        let budget = Some(funnel.node("budget"));
        let answer = |budget_of: i64| {
            let step = visit.step(budget, json!({"budget": budget_of}));
            async move { step.expect(200).await.json() }
        };
        tokio::join!(answer(1), answer(9000));
        let at = visit.resume().expect(200).await.json();
        let rich = visit.holds("9000").await;
        assert_eq!(name(&at), if rich { "call" } else { "sorry" }, "{round}");
        // Completed by both, once.
        visit.step(budget, json!({"budget": 1})).expect(200).await;
        let before = site.raised("formfunnel.completed").await;
        let done = || async { visit.complete(None).expect(200).await.json() };
        let (one, two) = tokio::join!(done(), done());
        assert_eq!(one, two, "{round}");
        assert_eq!(site.raised("formfunnel.completed").await, before + 1);
    }
}

#[tokio::test]
async fn a_visit_keeps_its_version() {
    let site = Site::open().await;
    let funnel = site.funnel(leads()).await;
    let visit = site.visit("leads").await;
    visit.answers(json!({"name": "Ada"})).await;
    // The budget step asks for something else now, and the funnel is published again.
    let mut drawn = site.get(&format!("/api/backend/formfunnel?action=get&id={}", funnel.id)).await;
    for node in drawn["nodes"].as_array_mut().unwrap() {
        node["client_id"] = node["id"].clone();
        if node["name"] == "budget" {
            node["config_json"]["fields"] =
                json!([{"id": "age", "type": "number", "required": true}]);
        }
        if node["name"] == "rich?" {
            node["config_json"]["rules"]["rules"][0]["field"] = "age".into();
        }
    }
    let saved = json!({"id": funnel.id, "rev": drawn["rev"], "nodes": drawn["nodes"]});
    site.staff("save", saved).expect(200).await;
    let unpublished = site.visit("leads").await;
    let budget = unpublished.answers(json!({"name": "Bob"})).await;
    assert_eq!(budget["node"]["config"]["fields"][0]["id"], "budget", "not before it is published");
    site.publish(funnel.id).await;
    let new = site.visit("leads").await;
    let age = new.answers(json!({"name": "Eve"})).await;
    assert_eq!(age["node"]["config"]["fields"][0]["id"], "age");
    assert_eq!(name(&visit.answers(json!({"budget": 9000})).await), "call");
    // Archived: nobody begins, who is under way goes on.
    let off = json!({"id": funnel.id, "funnel": {"status": "archived"}});
    site.staff("save", off).expect(200).await;
    site.visitor("start", json!({"funnel_id": "leads"})).refused(404, "funnel_not_available").await;
    visit.complete(None).expect(200).await;
    // Deleted: nothing is left.
    site.staff("delete", json!({"id": funnel.id})).expect(200).await;
    new.step(None, json!({"age": 1})).refused(404, "not_found").await;
    for table in ["submissions", "events", "uploads"] {
        assert_eq!(site.database.rows(&format!("cms_formfunnel_{table}")).await, 0, "{table}");
    }
}

#[tokio::test]
async fn a_funnel_closes_on_a_day_or_after_some_submissions() {
    let site = Site::open().await;
    site.leads(json!({"slug": "few", "settings_json": {"max_submissions": 1}})).await;
    let closes = json!({"closes_at": "2026-11-21T10:00:00Z"});
    site.leads(json!({"slug": "short", "settings_json": closes})).await;
    let finish = async |visit: &Visit<'_>| {
        visit.answers(json!({"name": "Ada"})).await;
        visit.complete(Some(json!({"budget": 1}))).expect(200).await;
    };
    let (one, late, under_way) =
        (site.visit("few").await, site.visit("few").await, site.visit("short").await);
    finish(&one).await;
    site.clock.advance(1_800_000);
    for slug in ["few", "short"] {
        let start = site.visitor("start", json!({"funnel_id": slug}));
        start.refused(404, "funnel_not_available").await;
    }
    finish(&late).await;
    finish(&under_way).await;
    // What is removed was sent all the same.
    for visit in [&one, &late] {
        let id = visit.column("id").await;
        site.staff("submission_delete", json!({"id": id})).expect(200).await;
    }
    site.visitor("start", json!({"funnel_id": "few"})).refused(404, "funnel_not_available").await;
}

#[tokio::test]
async fn those_who_rest_are_marked_and_told_once() {
    let site = Site::open().await;
    site.leads(json!({"save_abandoned": 1, "abandon_after_min": 30})).await;
    site.leads(json!({"slug": "silent"})).await;
    let (resting, active, other) =
        (site.visit("leads").await, site.visit("leads").await, site.visit("silent").await);
    let process = || site.process_abandoned();
    site.clock.advance(29 * 60_000);
    assert_eq!(process().await, 0);
    active.answers(json!({"name": "Ada"})).await;
    site.clock.advance(60_000);
    assert_eq!(process().await, 1, "counted from the last activity");
    assert_eq!(process().await, 0);
    for (visit, marked) in [(&resting, true), (&active, false), (&other, false)] {
        assert_eq!(visit.is(ABANDONED).await, marked, "{}", visit.session);
    }
    assert_eq!(site.raised("formfunnel.abandoned").await, 1);
    // Who comes back and leaves again is told to nobody.
    resting.answers(json!({"name": "Bob"})).await;
    assert!(!resting.is(ABANDONED).await);
    site.clock.advance(31 * 60_000);
    assert_eq!(process().await, 2);
    assert_eq!(site.raised("formfunnel.abandoned").await, 2, "once for each");
    // Two processes at once.
    let both = site.visit("leads").await;
    site.clock.advance(31 * 60_000);
    let (one, two) = tokio::join!(process(), process());
    assert_eq!((one + two, both.is(ABANDONED).await), (1, true));
}

#[tokio::test]
async fn programs_are_answered_as_people_and_raise_nothing() {
    let site = Site::open().await;
    let mails = json!([{"recipients": "a@example.org", "subject": "Lead"}]);
    site.leads(json!({"settings_json": {"min_seconds": 5}, "email_routings": mails})).await;
    let completed = async |seconds: i64, trap: &str| {
        let visit = site.visit("leads").await;
        visit.call("step", json!({"answers": {"name": "Ada"}, "trap": trap})).expect(200).await;
        site.clock.advance(seconds * 1000);
        let done = visit.complete(Some(json!({"budget": 1}))).expect(200).await.json();
        assert_eq!(done["status"], "completed");
        visit.is("is_spam").await
    };
    for (seconds, trap, spam) in [(60, "", false), (60, "http://spam.example", true), (4, "", true)]
    {
        assert_eq!(completed(seconds, trap).await, spam, "{seconds} {trap}");
        let told = (site.raised("formfunnel.completed").await, site.mails().await);
        assert_eq!(told, (1, 1), "{seconds} {trap}");
    }
    // The answers of the last step come with the trap.
    let visit = site.visit("leads").await;
    visit.answers(json!({"name": "Ada"})).await;
    let before = site.raised("formfunnel.step_completed").await;
    visit.call("complete", json!({"answers": {"budget": 1}, "trap": "x"})).expect(200).await;
    assert_eq!(site.raised("formfunnel.step_completed").await, before);
}

#[tokio::test]
async fn events_tell_answers_and_no_secret() {
    let site = webhooks::site().await;
    let receiver = Receiver::start(200).await;
    let started = ["formfunnel.started", "formfunnel.step_completed"];
    let ended = ["formfunnel.completed", "formfunnel.abandoned"];
    site.webhook(&receiver.url, &[started, ended].concat()).await;
    let mut tricky = leads();
    tricky["nodes"][0]["config_json"]["fields"][0]["id"] = "keywords".into();
    let funnel = site.funnel(tricky).await;
    let visit = site.visit("leads").await;
    visit.answers(json!({"keywords": "bicycles"})).await;
    visit.answers(json!({"budget": 1})).await;
    let reference = visit.complete(None).expect(200).await.json()["reference"].clone();
    for _ in 0..8 {
        site.worker().step().await.unwrap();
    }
    let sent = receiver.deliveries();
    let mut raised: Vec<_> = sent.iter().map(|one| one.json()["event"].clone()).collect();
    raised.sort_by_key(Json::to_string);
    let names = ["completed", "started", "step_completed", "step_completed"];
    assert_eq!(raised, names.map(|name| format!("formfunnel.{name}")));
    for one in &sent {
        assert!(!one.json().to_string().contains(&visit.session), "the session is a secret");
    }
    let done = sent.iter().map(|one| one.json()).find(|one| one["event"] == "formfunnel.completed");
    let data = done.unwrap()["data"].clone();
    let path = ["who", "budget", "sorry"].map(|name| funnel.node(name));
    has!(data, {"/funnel/slug": "leads", "/submission/reference": reference,
                "/submission/path": path, "answers": [
        {"field": "keywords", "type": "short_text", "label": "Name", "value": "bicycles"},
        {"field": "budget", "type": "number", "label": "Budget", "value": 1},
        {"field": "campaign", "type": "hidden", "label": "", "value": "none"},
    ]});
}

#[tokio::test]
async fn conditions_are_explained() {
    let site = Site::open().await;
    let line = "/api/backend/formfunnel?action=explain";
    let explain = |body: Json| site.staff("explain", body);
    let rule = json!({"field": "a", "op": "contains", "value": ""});
    let asked = json!({"condition": {"rules": [rule]}, "answers": {"a": "x"}});
    let said = explain(asked.clone()).expect(200).await.data();
    has!(said, {"result": false, "/trace/0/path": "rules[0]", "/problems/0/code": "value_blank",
                "/problems/0/path": "rules[0].value"});
    let strict = explain(with(asked, json!({"validate": true})));
    let refused = strict.refused(422, "validation_failed").await.json();
    has!(refused, {"/errors/0/code": "value_blank", "/errors/0/field": "rules[0].value"});
    let whole = explain(json!({"condition": "a", "validate": true}));
    let refused = whole.refused(422, "validation_failed").await.json();
    has!(refused, {"detail": "Please correct: condition.", "/errors/0/field": "condition"});
    assert_eq!(explain(json!({})).expect(200).await.data()["result"], true);
    let ask = || site.ask(&format!("POST {line}")).json(json!({}));
    ask().refused(401, "login_required").await;
    let other = site.person("Eve", json!(["keys_keys_view"])).await;
    ask().bearer(&other.token).refused(403, "permission_denied").await;
}

/// A condition alone has no funnel: the time is that of the site. It is half past nine in UTC.
#[tokio::test]
async fn conditions_are_explained_where_the_site_is() {
    let site = Site::with(|all| all.timezone = "Europe/Berlin".to_owned()).await;
    let rule = json!({"field": "_hour", "op": "equals", "value": 10});
    let said = site.staff("explain", json!({"condition": {"rules": [rule]}})).expect(200).await;
    has!(said.data(), {"result": true, "/trace/0/answer": 10});
}

#[tokio::test]
async fn a_funnel_is_tried_by_its_author() {
    let site = Site::open().await;
    let funnel = site.funnel(leads()).await;
    let tried = async |answers: Json| {
        let asked = json!({"id": funnel.id, "answers": answers});
        site.staff("test", asked).expect(200).await.data()
    };
    let rich = tried(json!({"name": "Ada", "budget": 9000, "colour": "red"})).await;
    assert_eq!(each(&rich["path"], "name"), ["who", "budget", "rich?", "call", "thanks"]);
    has!(rich, {"completes": true, "ignored": ["colour"], "/path/2/branch": "true",
                "/path/2/trace/0/answer": 9000});
    let stuck = tried(json!({"name": "Ada"})).await;
    assert_eq!(each(&stuck["path"], "name"), ["who", "budget"]);
    has!(stuck, {"completes": false, "/path/1/errors/0/code": "required"});
    assert_eq!(site.database.rows("cms_formfunnel_submissions").await, 0);
}

/// What conditions find around the answers can be said with them, also in `preview`.
#[tokio::test]
async fn both_sides_of_a_split_are_tried() {
    let site = Site::open().await;
    for (slug, field, op, value, yes, no) in [
        ("half", "_bucket", "less_than", json!(50), json!(10), json!(70)),
        ("campaign", "_utm.source", "equals", json!("mail"), json!("mail"), json!("web")),
        ("hour", "_hour", "less_than", json!(5), json!(4), json!(9)),
        ("tongue", "_lang", "equals", json!("it"), json!("it"), json!("de")),
    ] {
        let rules = json!({"rules": [{"field": field, "op": op, "value": value}]});
        let mut split = with(leads(), json!({"slug": slug}));
        split["nodes"][2]["config_json"]["rules"] = rules.clone();
        split["email_routings"] = json!([{"recipients": "a@example.org", "condition_json": rules,
                                          "subject": format!("{{{{ {field} }}}}")}]);
        let funnel = site.funnel(split).await;
        for (around, branch, is_chosen) in [(&yes, "true", true), (&no, "false", false)] {
            let answers = json!({"name": "Ada", "budget": 1, field: around});
            let asked = json!({"id": funnel.id, "answers": answers});
            let tried = site.staff("test", asked).expect(200).await.data();
            has!(tried, {"ignored": [], "/path/2/branch": branch,
                         "/path/2/trace/0/answer": around});
            let asked = json!({"funnel_id": funnel.id, "answers": answers});
            let routed = site.staff("routing_test", asked.clone()).expect(200).await.data();
            assert_eq!(!routed["chosen"].is_null(), is_chosen, "{field} {around}: {routed}");
            if is_chosen {
                let subject = around.as_str().map_or_else(|| around.to_string(), str::to_owned);
                assert_eq!(routed["mails"][0]["subject"], subject);
            }
            let asked = with(asked, json!({"node_id": funnel.node("budget")}));
            let shown = site.staff("preview", asked).expect(200).await.data();
            assert_eq!(shown["trace"][1]["branch_label"], branch, "{field} {around}");
        }
    }
}

#[tokio::test]
async fn what_nobody_answers_is_left_aside() {
    let site = Site::open().await;
    let mut told = leads();
    told["nodes"][0]["config_json"]["fields"].as_array_mut().unwrap().extend([
        json!({"id": "note", "type": "statement", "html": "Welcome"}),
        json!({"id": "twice", "type": "calculated", "expression": "budget * 2"}),
    ]);
    site.funnel(told).await;
    let visit = site.visit("leads").await;
    let sent = json!({"name": "Ada", "note": "x", "twice": 1, "campaign": "y", "nobody": 7});
    let mut ignored = visit.answers(sent).await["ignored"].as_array().unwrap().clone();
    ignored.sort_by_key(ToString::to_string);
    assert_eq!(json!(ignored), json!(["campaign", "nobody", "note", "twice"]));
    visit.complete(Some(json!({"budget": 4, "twice": 1}))).expect(200).await;
    let held = r#"{"budget":4,"campaign":"none","name":"Ada","twice":8}"#;
    assert!(visit.is(&format!("answers_json = '{held}'")).await);
}

/// What a page makes up takes no room in the database.
#[tokio::test]
async fn names_of_nobody_are_not_noted() {
    let site = Site::open().await;
    site.leads(json!({"settings_json": {"strict": true}})).await;
    let visit = site.visit("leads").await;
    let many: serde_json::Map<_, _> =
        (0..4000).map(|n| (format!("{n}{}", "x".repeat(90)), json!(1))).collect();
    let refused = visit.step(None, json!(many)).refused(422, "validation_failed").await.json();
    assert_eq!(faults(&refused).len(), 101, "a hundred of them, and what is missing");
    assert_eq!(visit.happened("invalid").await, 1);
    let two = json!({"name": "Ada", "x".repeat(100_000): 1});
    visit.step(None, two).refused(422, "validation_failed").await;
    assert_eq!(visit.happened("invalid").await, 2);
    let longest = "select cast(max(length(field)) as bigint) from cms_formfunnel_events";
    assert_eq!(site.database.count(longest).await, 4, "name");
    let told = "cms_formfunnel_events where kind = 'invalid' and field is null";
    assert_eq!(site.database.rows(told).await, 1);
}

/// Each call of a page that may not call is refused, and nothing happens.
#[tokio::test]
async fn a_beacon_of_a_strange_page_marks_nothing() {
    let site = Site::open().await;
    site.leads(json!({"save_abandoned": 1})).await;
    let visit = site.visit("leads").await;
    for action in ["abandon", "step", "complete", "resume"] {
        let strange = [("origin", "https://evil.example"), ("referer", "https://evil.example/a")];
        for (header, value) in strange {
            let ask = visit.call(action, json!({"answers": {"name": "Eve"}}));
            ask.header(header, value).refused(403, "origin_not_allowed").await;
        }
    }
    assert_eq!((visit.is(ABANDONED).await, visit.column("rev").await), (false, 1));
    visit.call("abandon", json!({})).header("origin", "https://cms.test").expect(204).await;
    assert!(visit.is(ABANDONED).await);
}
