//! What happens in which situation, and the test that shows it:
//!
//! | situation | test |
//! |---|---|
//! | a step with good answers | `routes::visits::step_leads_on_by_the_answers` |
//! | refused answers | `routes::visits::step_tells_all_that_is_wrong_and_stays` |
//! | without `node_id` | `visits::the_same_step_again_changes_nothing` |
//! | the same step with the same answers again | the same |
//! | an earlier step with other answers | `visits::going_back_cuts_the_way_and_keeps_answers_…` |
//! | a node that is no step on the way | `visits::a_required_answer_cannot_be_skipped` |
//! | two calls at once | `visits::two_calls_at_once_are_one_after_the_other`, `visits::races` |
//! | answers for unknown fields | `routes::visits::a_strict_funnel_refuses_what_it_does_not_ask` |
//! | values for fields that nobody answers | `what_nobody_answers_is_left_aside` |
//! | `complete`, with the last answers | `routes::visits::complete_names_the_first_step_…` |
//! | `complete` again | `routes::visits::complete_answers_once_and_the_same_again` |
//! | `step`, `abandon` after that | the same |
//! | `abandon` | `routes::visits::abandon_marks_only_where_the_funnel_says_so`, `a_beacon_of_…` |
//! | `step` after `abandon` | `visits::presence::every_call_of_who_was_away_brings_…` |
//! | the age of a visit at rest | `visits::those_who_rest_are_marked_and_told_once` |
//! | an expired visit | `routes::visits::resume_shows_where_the_visitor_stands` |
//! | the funnel is edited, published, archived, deleted | `visits::a_visit_keeps_its_version` |
//! | all of it at random | `visits::model` |

use serde_json::json;

use super::ABANDONED;
use crate::support::{Site, visits::leads};

#[tokio::test]
async fn what_nobody_answers_is_left_aside() {
    let site = Site::open().await;
    let mut told = leads();
    let fields = told["nodes"][0]["config_json"]["fields"].as_array_mut().unwrap();
    fields.push(json!({"id": "note", "type": "statement", "html": "Welcome"}));
    fields.push(json!({"id": "twice", "type": "calculated", "expression": "budget * 2"}));
    site.funnel(told).await;
    let visit = site.visit("leads").await;
    let sent = json!({"name": "Ada", "note": "x", "twice": 1, "campaign": "y", "nobody": 7});
    let mut ignored = visit.answers(sent).await["ignored"].as_array().unwrap().clone();
    ignored.sort_by_key(ToString::to_string);
    assert_eq!(json!(ignored), json!(["campaign", "nobody", "note", "twice"]));
    visit.complete(Some(json!({"budget": 4, "twice": 1}))).expect(200).await;
    let held = r#"{"budget":4,"campaign":"none","name":"Ada","twice":8}"#;
    let same = format!("case when answers_json = '{held}' then 1 else 0 end");
    assert_eq!(visit.column(&same).await, 1);
}

/// What a page makes up takes no room in the database.
#[tokio::test]
async fn names_of_nobody_are_not_noted() {
    let site = Site::open().await;
    let mut strict = leads();
    strict["settings_json"] = json!({"strict": true});
    site.funnel(strict).await;
    let visit = site.visit("leads").await;
    let many: serde_json::Map<_, _> =
        (0..4000).map(|n| (format!("{n}{}", "x".repeat(90)), json!(1))).collect();
    let refused = visit.step(None, json!(many)).refused(422, "validation_failed").await;
    let told = refused.json()["errors"].as_array().unwrap().len();
    assert_eq!(told, 101, "a hundred of them, and what is missing");
    assert_eq!(visit.happened("invalid").await, 1);
    let mut two = json!({"name": "Ada"});
    two["x".repeat(100_000)] = json!(1);
    visit.step(None, two.clone()).refused(422, "validation_failed").await;
    assert_eq!(visit.happened("invalid").await, 2);
    let longest = "select cast(max(length(field)) as bigint) from cms_formfunnel_events";
    assert_eq!(site.database.count(longest).await, 4, "name");
    let told =
        "select count(*) from cms_formfunnel_events where kind = 'invalid' and field is null";
    assert_eq!(site.database.count(told).await, 1);
}

/// Each call of a page that may not call is refused, and nothing happens.
#[tokio::test]
async fn a_beacon_of_a_strange_page_marks_nothing() {
    let site = Site::open().await;
    let mut saving = leads();
    saving["save_abandoned"] = 1.into();
    site.funnel(saving).await;
    let visit = site.visit("leads").await;
    for action in ["abandon", "step", "complete", "resume"] {
        let body = json!({"session_uuid": visit.session, "answers": {"name": "Eve"}});
        let ask = || site.visitor(action, body.clone());
        let strange = [("origin", "https://evil.example"), ("referer", "https://evil.example/a")];
        for (header, value) in strange {
            ask().header(header, value).refused(403, "origin_not_allowed").await;
        }
    }
    assert_eq!((visit.column(ABANDONED).await, visit.column("rev").await), (0, 1));
    let own = site.visitor("abandon", json!({"session_uuid": visit.session}));
    own.header("origin", "https://cms.test").expect(204).await;
    assert_eq!(visit.column(ABANDONED).await, 1);
}
