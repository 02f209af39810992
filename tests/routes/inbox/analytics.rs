//! `action=analytics`: the numbers of a funnel.

use serde_json::{Value as Json, json};

use super::{at, sent, site, update};
use crate::support::{Site, each, has, leads, pick, with};

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
    has!(told, {"range": range, "/previous/range/to": "2026-10-22"});
    assert_eq!(told["series"].as_array().unwrap().len(), 30);
    has!(told["totals"], {"started": 0, "completion_rate": null});
    assert_eq!(each(&told["steps"], "node_name"), ["who", "budget", "call", "sorry", "thanks"]);
    has!(told, {"/steps/0/dropoff_pct": null, "retained_from": null});
}

/// Publishes a funnel that asks for a colour as well.
async fn coloured(site: &Site) {
    let mut funnel = with(leads(), json!({"save_abandoned": 1}));
    funnel["nodes"][1]["config_json"]["fields"].as_array_mut().unwrap().push(json!(
        {"id": "colour", "type": "single_choice", "label": "Colour", "options": [
            {"id": "red", "label": "Red"}, {"id": "blue", "label": "Blue"}]}));
    site.funnel(funnel).await;
}

/// The same before and after the background has counted visits, and after they were removed.
#[tokio::test]
async fn numbers_stay_whatever_becomes_of_the_rows() {
    let site = Site::open().await;
    coloured(&site).await;
    sent(&site, "Old", 10).await;
    site.clock.advance(31 * DAY);
    let ids = [sent(&site, "Ada", 10).await, sent(&site, "Bob", 9000).await];
    let start = json!({"funnel_id": "leads", "utm_source": "fair"});
    let eve = site.begun(site.visitor("start", start)).await;
    site.clock.advance(20_000);
    eve.answers(json!({"name": "Eve"})).await;
    eve.step(None, json!({"budget": "much"})).expect(422).await;
    site.clock.advance(40_000);
    eve.answers(json!({"budget": 10, "colour": "red"})).await;
    eve.complete(None).expect(200).await;
    let gone = site.visit("leads").await;
    gone.answers(json!({"name": "Gus"})).await;
    gone.abandon().await;
    let waiting = site.visit("leads").await;
    let spam = site.visit("leads").await;
    spam.call("step", json!({"answers": {"name": "x"}, "trap": "x"})).expect(200).await;
    update(&site, ids[0], json!({"inbox_status": "qualified"})).await;

    let told = numbers(&site, "").await;
    let totals = &told["totals"];
    has!(totals, {"started": 5, "engaged": 4, "completed": 3, "abandoned": 1, "in_progress": 1,
                  "spam": 1});
    has!(totals, {"completion_rate": 0.6, "abandon_rate": 0.2});
    assert_eq!(told["previous"]["totals"]["completed"], 1);
    let step = |name: &str| pick(&told["steps"], "node_name", name);
    for (name, entered, answered, exited, waiting) in
        [("who", 5, 4, 0, 1), ("budget", 4, 3, 1, 0), ("call", 1, 1, 0, 0), ("sorry", 2, 2, 0, 0)]
    {
        has!(step(name), {"entered": entered, "answered": answered, "exited": exited,
                          "waiting": waiting});
    }
    has!(step("budget"), {"validation_errors": 1, "dropoff_pct": 25.0,
                          "top_error_field": "budget", "reach_pct": 80.0});
    assert_eq!(step("who")["avg_dwell_s"], 5.0);
    has!(pick(&told["branches"], "branch_label", "false"), {"sessions": 2, "share_pct": 66.6667});
    has!(told, {"/ends/0/end_kind": "redirect", "/ends/0/sessions": 2, "/ends/1/sessions": 1,
                "/series/29/started": 5, "/sources/1": {"utm_source": "fair", "started": 1,
                                                        "completed": 1, "completion_rate": 1.0}});
    let colour = json!({"field": "colour", "type": "single_choice", "label": "Colour",
                        "answered": 1, "blank": 2,
                        "top": [{"value": "red", "label": "Red", "count": 1}]});
    assert_eq!(*pick(&told["fields"], "field", "colour"), colour);
    has!(told, {"/inbox/new": 4, "/inbox/qualified": 1, "/versions/0/started": 5});

    site.process_abandoned().await;
    assert_eq!(numbers(&site, "").await, told, "completed ones are folded");
    let over = numbers(&site, "").await;
    for id in [ids[1], gone.column("id").await] {
        site.staff("submission_delete", json!({"id": id})).expect(200).await;
    }
    assert_eq!(still(numbers(&site, "").await), still(over));
    let rest = [ids[0], spam.column("id").await, waiting.column("id").await];
    site.staff("submissions_bulk", json!({"op": "delete", "ids": rest})).expect(200).await;
    let left = numbers(&site, "").await;
    has!(left, {"/totals/abandoned": 2, "/totals/in_progress": 0, "/totals/started": 5,
                "/totals/spam": 1, "inbox": told["inbox"], "fields": told["fields"],
                "branches": told["branches"]});
}

#[tokio::test]
async fn visits_that_have_expired_are_over() {
    let site = site().await;
    site.visit("leads").await;
    let over = async |abandoned: i64| {
        let told = numbers(&site, "").await;
        has!(told["totals"], {"abandoned": abandoned, "in_progress": 1 - abandoned});
    };
    over(0).await;
    // Before anybody has counted it, and after.
    site.clock.advance(DAY);
    over(1).await;
    site.process_abandoned().await;
    over(1).await;
}

#[tokio::test]
async fn versions_and_days_are_asked_for() {
    let site = site().await;
    sent(&site, "Ada", 10).await;
    site.staff("publish", json!({"id": 1})).expect(200).await;
    let rename = json!({"id": 1, "funnel": {"settings_json": {"min_seconds": 0}}});
    site.staff("save", rename).expect(200).await;
    site.staff("publish", json!({"id": 1})).expect(200).await;
    site.clock.advance(DAY);
    sent(&site, "Bob", 10).await;
    for (more, started) in [
        ("", 2),
        ("&version=1", 1),
        ("&version=2&tz=UTC", 1),
        ("&from=2026-11-22", 1),
        ("&from=2026-11-20&to=2026-11-21", 1),
    ] {
        assert_eq!(numbers(&site, more).await["totals"]["started"], started, "{more}");
    }
    for (wrong, status, code) in [
        ("nobody", 404, "not_found"),
        ("leads&version=9", 404, "not_found"),
        ("leads&from=tomorrow", 400, "bad_query"),
        ("leads&to=2026-13-01", 400, "bad_query"),
        ("leads&from=2026-11-30", 400, "bad_query"),
        ("leads&from=2020-01-01", 400, "bad_query"),
        ("leads&tz=Europe/Berlin", 400, "bad_query"),
        ("leads&version=x", 400, "bad_query"),
        ("leads&day=2026-11-21", 400, "bad_query"),
    ] {
        site.admin(&at("GET", &format!("analytics&funnel_id={wrong}"))).refused(status, code).await;
    }
}

/// Days begin where the funnel is; moving it changes no number of the past.
#[tokio::test]
async fn days_are_those_of_the_funnel() {
    let site = Site::open().await;
    site.leads(json!({"settings_json": {"timezone": "Pacific/Auckland"}})).await;
    sent(&site, "Ada", 10).await;
    site.clock.advance(2 * 3_600_000);
    sent(&site, "Bob", 10).await;
    let told = numbers(&site, "").await;
    has!(told["range"], {"to": "2026-11-22", "tz": "Pacific/Auckland"});
    has!(told["series"], {"/28/started": 1, "/29/started": 1});
    let moved = json!({"id": 1, "funnel": {"settings_json": {"timezone": "UTC"}}});
    site.staff("save", moved).expect(200).await;
    has!(numbers(&site, "").await, {"/range/tz": "Pacific/Auckland", "/totals/started": 2});
    site.staff("publish", json!({"id": 1})).expect(200).await;
    sent(&site, "Cy", 10).await;
    site.process_abandoned().await;
    let told = numbers(&site, "").await;
    has!(told, {"/range/tz": "UTC", "/range/to": "2026-11-22", "/totals/started": 3,
                "/series/28/started": 2, "/series/29/started": 1});
}

/// Steps that exclude each other ask for one field, each with options of its own.
#[tokio::test]
async fn answers_have_the_labels_of_every_step_that_asks() {
    let site = Site::open().await;
    let colour = |id: &str, label: &str| {
        let options = json!([{"id": id, "label": label}]);
        json!({"id": "colour", "type": "single_choice", "options": options})
    };
    let mut funnel = leads();
    funnel["nodes"][3]["config_json"]["fields"].as_array_mut().unwrap().push(colour("red", "Red"));
    let fields = json!({"fields": [colour("blue", "Blue")]});
    let cheap = json!({"client_id": -7, "type": "step", "name": "cheap", "config_json": fields});
    funnel["nodes"].as_array_mut().unwrap().push(cheap);
    funnel["edges"][3]["to_node_id"] = json!(-7);
    let on = json!({"from_node_id": -7, "to_node_id": -6, "branch_label": "default"});
    funnel["edges"].as_array_mut().unwrap().push(on);
    site.funnel(funnel).await;
    let visit = site.ada(10).await;
    visit.answers(json!({"colour": "blue"})).await;
    visit.complete(None).expect(200).await;
    let fields = numbers(&site, "").await["fields"].clone();
    has!(pick(&fields, "field", "colour"), {"/top/0/value": "blue", "/top/0/label": "Blue"});
}

/// Visits that no counter has yet, because mails wait for a provider, are read page by page.
#[tokio::test]
async fn answers_of_many_open_visits_are_each_counted_once() {
    let site = Site::open().await;
    coloured(&site).await;
    sent(&site, "Ada", 10).await;
    let columns = "status, day, folded, completed_at, path_json, answers_json";
    site.copy_visits(650, "s.id = 1", columns).await;
    let earlier = "update cms_formfunnel_submissions set day = '2026-11-20' where id % 3 = 0";
    site.database.run(earlier).await;
    let fields = numbers(&site, "").await["fields"].clone();
    has!(pick(&fields, "field", "colour"), {"answered": 0, "blank": 651});
}

/// Numbers of a few open visits are read by an index, whatever else there is.
#[tokio::test]
async fn numbers_are_read_by_indexes() {
    let site = site().await;
    sent(&site, "Ada", 10).await;
    site.process_abandoned().await;
    sent(&site, "Bob", 10).await;
    site.copy_visits(20_000, "s.id = 1", "status, day, folded").await;
    site.copy_events().await;
    for sql in site.cms.funnels().reads_of_analytics() {
        let bound = ["1", "'2026-11-01'", "'2026-11-30'", "cast(null as bigint)", "0"];
        let bound = (1..6).zip(bound).rev();
        let sql =
            bound.fold(sql.to_owned(), |sql, (n, value)| sql.replace(&format!("${n}"), value));
        let plan = site.database.plan(&sql).await;
        for table in ["cms_formfunnel_submissions", "s", "cms_formfunnel_events", "e"] {
            assert!(!plan.iter().any(|one| one == table), "{sql} scans {table}: {plan:?}");
        }
    }
}
