//! Visits of funnels: what holds across calls, whoever comes twice, late, or from another place.

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
mod secret;
mod situations;
mod views;

use serde_json::{Value as Json, json};

use crate::support::{
    Receiver, Site,
    visits::{Visit, leads},
    webhooks,
};

const COMPLETED: &str = "case status when 'completed' then 1 else 0 end";
const ABANDONED: &str = "case status when 'abandoned' then 1 else 0 end";

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
    assert_eq!(
        (site.raised("formfunnel.step_completed").await, visit.happened("answered").await),
        (1, 1)
    );
    // From further on, an earlier step with its own answers leads nowhere else.
    visit.answers(json!({"budget": 9000})).await;
    let again = visit.step(Some(funnel.node("who")), answers).expect(200).await.json();
    assert_eq!(name(&again), "budget");
    assert_eq!(again["answers"], json!({"budget": 9000}));
    assert_eq!(name(&visit.resume().expect(200).await.json()), "call");
}

#[tokio::test]
async fn going_back_cuts_the_way_and_keeps_answers_to_show_them_again() {
    let site = Site::open().await;
    let funnel = site.funnel(leads()).await;
    let visit = site.visit("leads").await;
    visit.answers(json!({"name": "Ada"})).await;
    visit.answers(json!({"budget": 9000})).await;
    visit.answers(json!({"phone": "030 123456"})).await;
    let sorry = visit.step(Some(funnel.node("budget")), json!({"budget": 10})).expect(200).await;
    assert_eq!(name(&sorry.json()), "sorry");
    assert_eq!(visit.happened("rewound").await, 1);
    // What was answered on the way that was left is no answer any more, nor its step on the path.
    let refused = visit.step(Some(funnel.node("call")), json!({"phone": "1"}));
    let refused = refused.refused(409, "not_on_path").await.json();
    assert_eq!(refused["node_id"], funnel.node("sorry"));
    // The way back finds the number again.
    let call = visit.step(Some(funnel.node("budget")), json!({"budget": 9000})).expect(200).await;
    assert_eq!(call.json()["answers"], json!({"phone": "+4930123456"}));
    visit.step(Some(funnel.node("budget")), json!({"budget": 1})).expect(200).await;
    visit.complete(None).expect(200).await;
    let held = "case when answers_json like '%phone%' then 1 else 0 end";
    assert_eq!(visit.column(held).await, 0, "answers off the way are dropped at the end");
    // On the final way: presented who, budget, sorry.
    let on_path = "select count(*) from cms_formfunnel_events where on_path and kind = 'presented'";
    assert_eq!(site.database.count(on_path).await, 3);
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
        let refused =
            visit.step(Some(node), json!({"budget": 1})).refused(409, "not_on_path").await;
        assert_eq!(refused.json()["node_id"], who, "{node}");
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
    assert_eq!(visit.column(COMPLETED).await, 0);
    assert_eq!(site.raised("formfunnel.completed").await, 0);
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
        let rich =
            visit.column("case when answers_json like '%9000%' then 1 else 0 end").await == 1;
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
    let line = format!("GET /api/backend/formfunnel?action=get&id={}", funnel.id);
    let mut drawn = site.admin(&line).expect(200).await.data();
    let rev = drawn["rev"].clone();
    let nodes = drawn["nodes"].as_array_mut().unwrap();
    for node in nodes.iter_mut() {
        node["client_id"] = node["id"].clone();
        if node["name"] == "budget" {
            node["config_json"]["fields"] =
                json!([{"id": "age", "type": "number", "required": true}]);
        }
        if node["name"] == "rich?" {
            node["config_json"]["rules"]["rules"][0]["field"] = "age".into();
        }
    }
    let saved = json!({"id": funnel.id, "rev": rev, "nodes": nodes.clone()});
    site.admin("POST /api/backend/formfunnel?action=save").json(saved).expect(200).await;
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
    site.admin("POST /api/backend/formfunnel?action=save").json(off).expect(200).await;
    let start = site.visitor("start", json!({"funnel_id": "leads"}));
    start.refused(404, "funnel_not_available").await;
    visit.complete(None).expect(200).await;
    // Deleted: nothing is left.
    site.admin("POST /api/backend/formfunnel?action=delete")
        .json(json!({"id": funnel.id}))
        .expect(200)
        .await;
    new.step(None, json!({"age": 1})).refused(404, "not_found").await;
    for table in ["submissions", "events", "uploads"] {
        let count = format!("select count(*) from cms_formfunnel_{table}");
        assert_eq!(site.database.count(&count).await, 0, "{table}");
    }
}

#[tokio::test]
async fn a_funnel_closes_on_a_day_or_after_some_submissions() {
    let site = Site::open().await;
    let mut few = leads();
    few["slug"] = "few".into();
    few["settings_json"] = json!({"max_submissions": 1});
    site.funnel(few).await;
    let mut short = leads();
    short["slug"] = "short".into();
    short["settings_json"] = json!({"closes_at": "2026-11-21T10:00:00Z"});
    site.funnel(short).await;
    let (one, late) = (site.visit("few").await, site.visit("few").await);
    let finish = async |visit: &Visit<'_>| {
        visit.answers(json!({"name": "Ada"})).await;
        visit.answers(json!({"budget": 1})).await;
        visit.complete(None).expect(200).await;
    };
    finish(&one).await;
    site.visitor("start", json!({"funnel_id": "few"})).refused(404, "funnel_not_available").await;
    finish(&late).await;
    let under_way = site.visit("short").await;
    site.clock.advance(1_800_000);
    site.visitor("start", json!({"funnel_id": "short"})).refused(404, "funnel_not_available").await;
    finish(&under_way).await;
}

#[tokio::test]
async fn those_who_rest_are_marked_and_told_once() {
    let site = Site::open().await;
    let mut saving = leads();
    saving["save_abandoned"] = 1.into();
    saving["abandon_after_min"] = 30.into();
    site.funnel(saving).await;
    let mut silent = leads();
    silent["slug"] = "silent".into();
    site.funnel(silent).await;
    let (resting, active, other) =
        (site.visit("leads").await, site.visit("leads").await, site.visit("silent").await);
    let process = async || site.cms.funnels().process_abandoned().await.unwrap();
    site.clock.advance(29 * 60_000);
    assert_eq!(process().await, 0);
    active.answers(json!({"name": "Ada"})).await;
    site.clock.advance(60_000);
    assert_eq!(process().await, 1, "counted from the last activity");
    assert_eq!(process().await, 0);
    let marked = async |visit: &Visit<'_>| visit.column(ABANDONED).await;
    assert_eq!((marked(&resting).await, marked(&active).await, marked(&other).await), (1, 0, 0));
    assert_eq!(site.raised("formfunnel.abandoned").await, 1);
    // Who comes back and leaves again is told to nobody.
    resting.answers(json!({"name": "Bob"})).await;
    assert_eq!(marked(&resting).await, 0);
    site.clock.advance(31 * 60_000);
    assert_eq!(process().await, 2);
    assert_eq!(site.raised("formfunnel.abandoned").await, 2, "once for each");
    // Two processes at once.
    let both = site.visit("leads").await;
    site.clock.advance(31 * 60_000);
    let (one, two) = tokio::join!(process(), process());
    assert_eq!((one + two, marked(&both).await), (1, 1));
}

#[tokio::test]
async fn programs_are_answered_as_people_and_raise_nothing() {
    let site = Site::open().await;
    let mut slow = leads();
    slow["settings_json"] = json!({"min_seconds": 5});
    slow["email_routings"] = json!([{"recipients": "a@example.org", "subject": "Lead"}]);
    site.funnel(slow).await;
    let spam = "case when is_spam then 1 else 0 end";
    let completed = async |seconds: i64, trap: &str| {
        let visit = site.visit("leads").await;
        let body = json!({"session_uuid": visit.session, "answers": {"name": "Ada"}, "trap": trap});
        site.visitor("step", body).expect(200).await;
        site.clock.advance(seconds * 1000);
        let done = visit.complete(Some(json!({"budget": 1}))).expect(200).await.json();
        assert_eq!(done["status"], "completed");
        visit.column(spam).await
    };
    assert_eq!(completed(60, "").await, 0);
    assert_eq!((site.raised("formfunnel.completed").await, site.mails().await), (1, 1));
    assert_eq!(completed(60, "http://spam.example").await, 1);
    assert_eq!(completed(4, "").await, 1);
    assert_eq!((site.raised("formfunnel.completed").await, site.mails().await), (1, 1));
    // The answers of the last step come with the trap.
    let visit = site.visit("leads").await;
    visit.answers(json!({"name": "Ada"})).await;
    let before = site.raised("formfunnel.step_completed").await;
    let answers = json!({"budget": 1});
    let last = json!({"session_uuid": visit.session, "answers": answers, "trap": "x"});
    site.visitor("complete", last).expect(200).await;
    assert_eq!(site.raised("formfunnel.step_completed").await, before);
}

#[tokio::test]
async fn events_tell_answers_and_no_secret() {
    let site = webhooks::site().await;
    let receiver = Receiver::start(200).await;
    let names = ["started", "step_completed", "completed", "abandoned"];
    let names = names.map(|name| format!("formfunnel.{name}"));
    site.webhook(&receiver.url, &names.each_ref().map(String::as_str)).await;
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
    assert_eq!(
        raised,
        [
            "formfunnel.completed",
            "formfunnel.started",
            "formfunnel.step_completed",
            "formfunnel.step_completed",
        ]
    );
    for one in &sent {
        assert!(!one.json().to_string().contains(&visit.session), "the session is a secret");
    }
    let done = sent.iter().map(|one| one.json()).find(|one| one["event"] == "formfunnel.completed");
    let data = done.unwrap()["data"].clone();
    assert_eq!(data["funnel"]["slug"], "leads");
    assert_eq!(data["submission"]["reference"], reference);
    let path = ["who", "budget", "sorry"].map(|name| funnel.node(name));
    assert_eq!(data["submission"]["path"], json!(path));
    assert_eq!(
        data["answers"],
        json!([
            {"field": "keywords", "type": "short_text", "label": "Name", "value": "bicycles"},
            {"field": "budget", "type": "number", "label": "Budget", "value": 1},
            {"field": "campaign", "type": "hidden", "label": "", "value": "none"},
        ])
    );
}

#[tokio::test]
async fn conditions_are_explained() {
    let site = Site::open().await;
    let line = "POST /api/backend/formfunnel?action=explain";
    let rule = json!({"field": "a", "op": "contains", "value": ""});
    let asked = json!({"condition": {"rules": [rule]}, "answers": {"a": "x"}});
    let said = site.admin(line).json(asked.clone()).expect(200).await.data();
    assert_eq!(said["result"], false);
    assert_eq!(said["trace"][0]["path"], "rules[0]");
    assert_eq!(
        (&said["problems"][0]["code"], &said["problems"][0]["path"]),
        (&json!("value_blank"), &json!("rules[0].value"))
    );
    let mut strict = asked;
    strict["validate"] = true.into();
    let refused = site.admin(line).json(strict).refused(422, "validation_failed").await.json();
    assert_eq!(refused["errors"][0]["code"], "value_blank");
    assert_eq!(site.admin(line).json(json!({})).expect(200).await.data()["result"], true);
    site.ask(line).json(json!({})).refused(401, "login_required").await;
    let other = site.person("Eve", json!(["keys_keys_view"])).await;
    let ask = site.ask(line).bearer(&other.token);
    ask.json(json!({})).refused(403, "permission_denied").await;
}

#[tokio::test]
async fn a_funnel_is_tried_by_its_author() {
    let site = Site::open().await;
    let funnel = site.funnel(leads()).await;
    let line = "POST /api/backend/formfunnel?action=test";
    let tried = async |answers: Json| {
        let asked = json!({"id": funnel.id, "answers": answers});
        site.admin(line).json(asked).expect(200).await.data()
    };
    let names = |tried: &Json| {
        let path = tried["path"].as_array().unwrap().iter();
        path.map(|node| node["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>().join(" ")
    };
    let rich = tried(json!({"name": "Ada", "budget": 9000, "colour": "red"})).await;
    assert_eq!(names(&rich), "who budget rich? call thanks");
    assert_eq!((&rich["completes"], &rich["ignored"]), (&json!(true), &json!(["colour"])));
    assert_eq!(rich["path"][2]["branch"], "true");
    assert_eq!(rich["path"][2]["trace"][0]["answer"], 9000);
    let stuck = tried(json!({"name": "Ada"})).await;
    assert_eq!((names(&stuck).as_str(), &stuck["completes"]), ("who budget", &json!(false)));
    assert_eq!(stuck["path"][1]["errors"][0]["code"], "required");
    assert_eq!(site.database.count("select count(*) from cms_formfunnel_submissions").await, 0);
}
