//! Sessions that call without end: each writes only so much, and none lives for ever.

use serde_json::json;

use super::{
    COMPLETED,
    presence::{is_away, saving},
};
use crate::support::{Site, Visit, leads, with_leads};

#[tokio::test]
async fn a_session_writes_only_so_much() {
    let site = with_leads().await;
    let visit = site.visit("leads").await;
    visit.set("rev = 100").await;
    visit.step(None, json!({})).refused(422, "validation_failed").await;
    visit.resume().expect(200).await;
    visit.complete(None).refused(422, "incomplete").await;
    assert_eq!((visit.happened("invalid").await, visit.happened("resumed").await), (0, 0));
    site.clock.advance(23 * 3_600_000);
    visit.resume().expect(200).await;
    site.clock.advance(2 * 3_600_000);
    visit.answers(json!({"name": "Ada"})).await;
    visit.answers(json!({"budget": 1})).await;
    visit.set("rev = 500").await;
    visit.step(None, json!({"budget": 2})).refused(410, "session_expired").await;
    visit.resume().refused(410, "session_expired").await;
    visit.complete(None).expect(200).await;
    assert!(visit.is(COMPLETED).await);
}

/// Rows of a session, and what it is counted by.
async fn left(visit: &Visit<'_>) -> (i64, i64) {
    let events = "(select count(*) from cms_formfunnel_events e where e.submission_id = \
                  cms_formfunnel_submissions.id)";
    (visit.column("rev").await, visit.column(events).await)
}

#[tokio::test]
async fn no_loop_of_calls_leaves_rows_without_end() {
    let site = Site::open().await;
    let funnel = site.funnel(saving("leads")).await;
    let who = Some(funnel.node("who"));
    let name = || json!({"name": "Ada"});
    for call in ["complete", "step", "the same step", "resume", "upload", "rest"] {
        let visit = site.ada(9000).await;
        let mut seen = Vec::new();
        for round in 0..130 {
            match call {
                "complete" => drop(visit.complete(Some(json!({"phone": "x"}))).expect(422).await),
                "step" => drop(visit.step(None, json!({"phone": "x"})).expect(422).await),
                "the same step" => drop(visit.step(who, name()).expect(200).await),
                "resume" => drop(visit.resume().expect(200).await),
                "upload" => drop(visit.upload("paper", b"%PDF-1.7 x").await),
                _ => {
                    visit.resume().expect(200).await;
                    site.clock.advance(61 * 60_000);
                    site.process_abandoned().await;
                }
            }
            // Twenty files are the most.
            assert!(!is_away(&visit).await || call == "rest" || call == "upload", "{call}");
            visit.abandon().await;
            assert!(is_away(&visit).await, "{call} {round}");
            if round >= 110 {
                seen.push(left(&visit).await);
            }
        }
        seen.dedup();
        assert_eq!(seen.len(), 1, "{call}: {seen:?}");
        assert!(seen[0].0 <= 110, "{call}: {seen:?}");
    }
}

#[tokio::test]
async fn a_trap_is_noted_however_often_a_session_has_changed() {
    let site = Site::open().await;
    site.funnel(saving("leads")).await;
    // The second answers the same step again.
    for (action, answers, status) in [
        ("step", json!({}), 422),
        ("step", json!({"name": "Ada"}), 200),
        ("complete", json!({}), 422),
    ] {
        let visit = site.visit("leads").await;
        visit.answers(json!({"name": "Ada"})).await;
        visit.set("rev = 200").await;
        visit.call(action, json!({"answers": answers, "trap": "x"})).expect(status).await;
        assert!(visit.is("is_spam and rev = 200").await, "{action} {answers}");
    }
    // Also when only an earlier step is not finished.
    let visit = site.ada(9000).await;
    let sent = visit.upload("paper", b"%PDF-1.7 x").await.json();
    visit.answers(json!({"paper": [sent["file"]]})).await;
    site.database.run("delete from cms_formfunnel_uploads").await;
    visit.call("complete", json!({"trap": "x"})).refused(422, "incomplete").await;
    assert!(visit.is("is_spam").await);
}

/// A step before the last is not finished, and its visitor changes the last one for ever.
#[tokio::test]
async fn a_spent_session_changes_only_to_be_completed() {
    let site = Site::open().await;
    let mut asking = leads();
    asking["nodes"][0]["config_json"]["fields"][1] = json!(
        {"id": "paper0", "type": "file_upload", "allowed_types": ["application/pdf"]});
    site.funnel(asking).await;
    let visit = site.visit("leads").await;
    let sent = visit.upload("paper0", b"%PDF-1.7 x").await.json();
    visit.answers(json!({"name": "Ada", "paper0": [sent["file"]]})).await;
    visit.answers(json!({"budget": 9000})).await;
    visit.answers(json!({"phone": "030 123456"})).await;
    site.database.run("create table kept as select * from cms_formfunnel_uploads").await;
    site.database.run("delete from cms_formfunnel_uploads").await;
    visit.set("rev = 500").await;
    let before = (left(&visit).await, site.raised("formfunnel.step_completed").await);
    for phone in ["030 123457", "030 123458"] {
        visit.complete(Some(json!({"phone": phone}))).refused(422, "incomplete").await;
    }
    assert_eq!((left(&visit).await, site.raised("formfunnel.step_completed").await), before);
    site.database.run("insert into cms_formfunnel_uploads select * from kept").await;
    visit.complete(Some(json!({"phone": "030 123459"}))).expect(200).await;
    assert!(visit.is(COMPLETED).await);
    assert!(visit.holds("123459").await);
}

#[tokio::test]
async fn no_session_lives_for_ever() {
    let site = Site::open().await;
    site.leads(json!({"settings_json": {"session_ttl_h": 1}})).await;
    let visit = site.visit("leads").await;
    for _ in 0..59 {
        site.clock.advance(30 * 60_000);
        visit.resume().expect(200).await;
    }
    site.clock.advance(30 * 60_000);
    visit.resume().refused(410, "session_expired").await;
}
