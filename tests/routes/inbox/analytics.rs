//! `action=analytics`: the numbers of a funnel.

use serde_json::{Value as Json, json};

use super::{at, post, sent, site};
use crate::support::{Site, visits::leads};

const DAY: i64 = 24 * 3_600_000;

pub async fn numbers(site: &Site, more: &str) -> Json {
    let line = at("GET", &format!("analytics&funnel_id=leads{more}"));
    site.admin(&line).expect(200).await.data()
}

/// What says when the numbers were read, and how the rows of the inbox went on.
fn still(mut told: Json) -> Json {
    told["retained_from"] = Json::Null;
    told
}

#[tokio::test]
async fn a_funnel_without_visits_has_days_and_no_rates() {
    let site = site().await;
    let told = numbers(&site, "").await;
    let range = json!({"from": "2026-10-23", "to": "2026-11-21", "days": 30, "tz": "UTC"});
    assert_eq!(told["range"], range);
    assert_eq!(told["previous"]["range"]["to"], "2026-10-22");
    assert_eq!(told["series"].as_array().unwrap().len(), 30);
    assert_eq!(told["totals"]["started"], 0);
    assert_eq!(told["totals"]["completion_rate"], Json::Null);
    let steps: Vec<_> = told["steps"].as_array().unwrap().iter().map(|s| &s["node_name"]).collect();
    assert_eq!(steps, ["who", "budget", "call", "sorry", "thanks"]);
    assert_eq!(told["steps"][0]["dropoff_pct"], Json::Null);
    assert_eq!(told["retained_from"], Json::Null);
}

/// The same before and after the background has counted visits, and after they were removed.
#[tokio::test]
async fn numbers_stay_whatever_becomes_of_the_rows() {
    let site = Site::open().await;
    let mut funnel = leads();
    funnel["save_abandoned"] = 1.into();
    funnel["nodes"][1]["config_json"]["fields"].as_array_mut().unwrap().push(json!(
        {"id": "colour", "type": "single_choice", "label": "Colour", "options": [
            {"id": "red", "label": "Red"}, {"id": "blue", "label": "Blue"}]}));
    site.funnel(funnel).await;
    sent(&site, "Old", 10).await;
    site.clock.advance(31 * DAY);
    let ids = [sent(&site, "Ada", 10).await, sent(&site, "Bob", 9000).await];
    let start = json!({"funnel_id": "leads", "utm_source": "fair"});
    let session = site.visitor("start", start).expect(201).await.json()["session_uuid"].clone();
    let step = |answers: Json| json!({"session_uuid": session, "answers": answers});
    site.clock.advance(20_000);
    site.visitor("step", step(json!({"name": "Eve"}))).expect(200).await;
    site.visitor("step", step(json!({"budget": "much"}))).expect(422).await;
    site.clock.advance(40_000);
    site.visitor("step", step(json!({"budget": 10, "colour": "red"}))).expect(200).await;
    site.visitor("complete", json!({"session_uuid": session})).expect(200).await;
    let gone = site.visit("leads").await;
    gone.answers(json!({"name": "Gus"})).await;
    gone.abandon().await;
    let waiting = site.visit("leads").await;
    let spam = site.visit("leads").await;
    let trap = json!({"session_uuid": spam.session, "answers": {"name": "x"}, "trap": "x"});
    site.visitor("step", trap).expect(200).await;
    post(&site, "submission_update", json!({"id": ids[0], "inbox_status": "qualified"}))
        .expect(200)
        .await;

    let told = numbers(&site, "").await;
    let totals = &told["totals"];
    for (name, expected) in [
        ("started", 5),
        ("engaged", 4),
        ("completed", 3),
        ("abandoned", 1),
        ("in_progress", 1),
        ("spam", 1),
    ] {
        assert_eq!(totals[name], expected, "{name}: {totals}");
    }
    assert_eq!((&totals["completion_rate"], &totals["abandon_rate"]), (&json!(0.6), &json!(0.2)));
    assert_eq!(told["previous"]["totals"]["completed"], 1);
    let step = |name: &str| {
        let mut steps = told["steps"].as_array().unwrap().iter();
        steps.find(|step| step["node_name"] == name).unwrap().clone()
    };
    for (name, entered, answered, exited, waiting) in
        [("who", 5, 4, 0, 1), ("budget", 4, 3, 1, 0), ("call", 1, 1, 0, 0), ("sorry", 2, 2, 0, 0)]
    {
        let step = step(name);
        let found = ["entered", "answered", "exited", "waiting"].map(|name| step[name].clone());
        assert_eq!(found, [entered, answered, exited, waiting].map(Json::from), "{name}");
    }
    let budget = step("budget");
    assert_eq!((&budget["validation_errors"], &budget["dropoff_pct"]), (&json!(1), &json!(25.0)));
    assert_eq!(
        (&budget["top_error_field"], &budget["reach_pct"]),
        (&json!("budget"), &json!(80.0))
    );
    assert_eq!(step("who")["avg_dwell_s"], 5.0);
    let rich = told["branches"].as_array().unwrap().iter();
    let rich = rich.clone().find(|one| one["branch_label"] == "false").unwrap();
    assert_eq!((&rich["sessions"], &rich["share_pct"]), (&json!(2), &json!(66.6667)));
    assert_eq!(told["ends"][0]["end_kind"], "redirect");
    assert_eq!(
        (&told["ends"][0]["sessions"], &told["ends"][1]["sessions"]),
        (&json!(2), &json!(1))
    );
    assert_eq!(told["series"][29]["started"], 5);
    assert_eq!(
        told["sources"][1],
        json!({"utm_source": "fair", "started": 1, "completed": 1, "completion_rate": 1.0})
    );
    let colour = told["fields"].as_array().unwrap().iter().find(|one| one["field"] == "colour");
    assert_eq!(
        *colour.unwrap(),
        json!({"field": "colour", "type": "single_choice", "label": "Colour", "answered": 1,
               "blank": 2, "top": [{"value": "red", "label": "Red", "count": 1}]})
    );
    assert_eq!((&told["inbox"]["new"], &told["inbox"]["qualified"]), (&json!(4), &json!(1)));
    assert_eq!(told["versions"][0]["started"], 5);

    let process = async || site.cms.funnels().process_abandoned().await.unwrap();
    process().await;
    assert_eq!(numbers(&site, "").await, told, "completed ones are folded");
    let over = numbers(&site, "").await;
    for id in [ids[1], gone.column("id").await] {
        post(&site, "submission_delete", json!({"id": id})).expect(200).await;
    }
    assert_eq!(still(numbers(&site, "").await), still(over));
    let spam = format!("{}", spam.column("id").await);
    let rest = [ids[0].to_string(), spam, waiting.column("id").await.to_string()];
    let rest: Vec<i64> = rest.iter().map(|id| id.parse().unwrap()).collect();
    post(&site, "submissions_bulk", json!({"op": "delete", "ids": rest})).expect(200).await;
    let left = numbers(&site, "").await;
    assert_eq!(
        (&left["totals"]["abandoned"], &left["totals"]["in_progress"]),
        (&json!(2), &json!(0))
    );
    assert_eq!((&left["totals"]["started"], &left["totals"]["spam"]), (&json!(5), &json!(1)));
    assert_eq!((&left["inbox"], &left["fields"]), (&told["inbox"], &told["fields"]));
    assert_eq!(left["branches"], told["branches"]);
}

#[tokio::test]
async fn visits_that_have_expired_are_over() {
    let site = site().await;
    site.visit("leads").await;
    let of = async || {
        let totals = numbers(&site, "").await["totals"].clone();
        (totals["abandoned"].as_i64(), totals["in_progress"].as_i64())
    };
    assert_eq!(of().await, (Some(0), Some(1)));
    site.clock.advance(DAY);
    assert_eq!(of().await, (Some(1), Some(0)), "before anybody has counted it");
    site.cms.funnels().process_abandoned().await.unwrap();
    assert_eq!(of().await, (Some(1), Some(0)));
}

#[tokio::test]
async fn versions_and_days_are_asked_for() {
    let site = site().await;
    sent(&site, "Ada", 10).await;
    post(&site, "publish", json!({"id": 1})).expect(200).await;
    let rename = json!({"id": 1, "funnel": {"settings_json": {"min_seconds": 0}}});
    post(&site, "save", rename).expect(200).await;
    post(&site, "publish", json!({"id": 1})).expect(200).await;
    site.clock.advance(DAY);
    sent(&site, "Bob", 10).await;
    let started = async |more: &str| numbers(&site, more).await["totals"]["started"].clone();
    assert_eq!(started("").await, 2);
    assert_eq!(started("&version=1").await, 1);
    assert_eq!(started("&version=2&tz=UTC").await, 1);
    assert_eq!(started("&from=2026-11-22").await, 1);
    assert_eq!(started("&from=2026-11-20&to=2026-11-21").await, 1);
    let refused = async |more: &str, status, code: &str| {
        let line = at("GET", &format!("analytics&funnel_id={more}"));
        site.admin(&line).refused(status, code).await;
    };
    refused("nobody", 404, "not_found").await;
    refused("leads&version=9", 404, "not_found").await;
    for wrong in [
        "from=tomorrow",
        "to=2026-13-01",
        "from=2026-11-30",
        "from=2020-01-01",
        "tz=Europe/Berlin",
        "version=x",
        "day=2026-11-21",
    ] {
        refused(&format!("leads&{wrong}"), 400, "bad_query").await;
    }
}

/// Days begin where the funnel is; moving it changes no number of the past.
#[tokio::test]
async fn days_are_those_of_the_funnel() {
    let site = Site::open().await;
    let mut there = leads();
    there["settings_json"] = json!({"timezone": "Pacific/Auckland"});
    site.funnel(there).await;
    sent(&site, "Ada", 10).await;
    site.clock.advance(2 * 3_600_000);
    sent(&site, "Bob", 10).await;
    let told = numbers(&site, "").await;
    assert_eq!(
        (&told["range"]["to"], &told["range"]["tz"]),
        (&json!("2026-11-22"), &json!("Pacific/Auckland"))
    );
    let days: Vec<_> = (28..30).map(|at| told["series"][at]["started"].clone()).collect();
    assert_eq!(days, [1, 1]);
    let moved = json!({"id": 1, "funnel": {"settings_json": {"timezone": "UTC"}}});
    post(&site, "save", moved).expect(200).await;
    post(&site, "publish", json!({"id": 1})).expect(200).await;
    sent(&site, "Cy", 10).await;
    site.cms.funnels().process_abandoned().await.unwrap();
    let told = numbers(&site, "&to=2026-11-22").await;
    assert_eq!(told["totals"]["started"], 3);
    assert_eq!(
        (&told["series"][28]["started"], &told["series"][29]["started"]),
        (&json!(2), &json!(1))
    );
}

/// Visits that no counter has yet, because mails wait for a provider, are read page by page.
#[tokio::test]
async fn answers_of_many_open_visits_are_each_counted_once() {
    let site = Site::open().await;
    let mut funnel = leads();
    funnel["nodes"][1]["config_json"]["fields"].as_array_mut().unwrap().push(json!(
        {"id": "colour", "type": "single_choice", "label": "Colour", "options": [
            {"id": "red", "label": "Red"}, {"id": "blue", "label": "Blue"}]}));
    site.funnel(funnel).await;
    sent(&site, "Ada", 10).await;
    let copies = "with recursive n(i) as (select 1 union all select i + 1 from n where i < 650) \
                  insert into cms_formfunnel_submissions (funnel_id, version_id, version, \
                  session_uuid, status, day, folded, started_at, last_activity_at, expires_at, \
                  completed_at, path_json, answers_json) \
                  select funnel_id, version_id, version, session_uuid || n.i, status, \
                  case when n.i % 3 = 0 then '2026-11-20' else day end, folded, \
                  started_at, 0, 0, completed_at, path_json, answers_json \
                  from cms_formfunnel_submissions s, n where s.id = 1";
    site.database.run(copies.to_owned()).await;
    let fields = numbers(&site, "").await["fields"].clone();
    let colour = fields.as_array().unwrap().iter().find(|one| one["field"] == "colour").unwrap();
    assert_eq!((&colour["answered"], &colour["blank"]), (&json!(0), &json!(651)));
}

/// Numbers of a few open visits are read by an index, whatever else there is.
#[tokio::test]
async fn numbers_are_read_by_indexes() {
    let site = site().await;
    sent(&site, "Ada", 10).await;
    site.cms.funnels().process_abandoned().await.unwrap();
    sent(&site, "Bob", 10).await;
    let copies = "with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000) \
                  insert into cms_formfunnel_submissions (funnel_id, version_id, version, \
                  session_uuid, status, day, folded, started_at, last_activity_at, expires_at) \
                  select funnel_id, version_id, version, session_uuid || n.i, status, day, folded, \
                  started_at, 0, 0 from cms_formfunnel_submissions s, n where s.id = 1";
    site.database.run(copies.to_owned()).await;
    let events = "insert into cms_formfunnel_events (submission_id, seq, kind, node_id, edge_id, \
                  on_path, at, dwell_ms) select s.id, e.seq, e.kind, e.node_id, e.edge_id, \
                  e.on_path, e.at, e.dwell_ms from cms_formfunnel_submissions s, \
                  cms_formfunnel_events e where e.submission_id = 1 and s.id > 2";
    site.database.run(events.to_owned()).await;
    site.database.run("analyze".to_owned()).await;
    for sql in site.cms.funnels().reads_of_analytics() {
        let bound = ["1", "'2026-11-01'", "'2026-11-30'", "cast(null as bigint)", "0"];
        let bound = bound.iter().enumerate().rev();
        let sql = bound
            .fold(sql.to_owned(), |sql, (at, value)| sql.replace(&format!("${}", at + 1), value));
        let plan = site.database.plan(&sql).await;
        for table in ["cms_formfunnel_submissions", "s", "cms_formfunnel_events", "e"] {
            assert!(!plan.iter().any(|one| one == table), "{sql} scans {table}: {plan:?}");
        }
    }
}
