//! Sessions that call without end: each writes only so much, and none lives for ever.

use serde_json::json;

use super::{
    COMPLETED,
    presence::{SPAM, is_away, saving},
};
use crate::support::{
    Site,
    visits::{Visit, leads},
};

#[tokio::test]
async fn a_session_writes_only_so_much() {
    let site = Site::open().await;
    site.funnel(leads()).await;
    let visit = site.visit("leads").await;
    let set = async |rev: i64| {
        let sql = format!("update cms_formfunnel_submissions set rev = {rev}");
        site.database.run(sql).await;
    };
    set(100).await;
    visit.step(None, json!({})).refused(422, "validation_failed").await;
    visit.resume().expect(200).await;
    visit.complete(None).refused(422, "incomplete").await;
    assert_eq!((visit.happened("invalid").await, visit.happened("resumed").await), (0, 0));
    site.clock.advance(23 * 3_600_000);
    visit.resume().expect(200).await;
    site.clock.advance(2 * 3_600_000);
    visit.answers(json!({"name": "Ada"})).await;
    visit.answers(json!({"budget": 1})).await;
    set(500).await;
    visit.step(None, json!({"budget": 2})).refused(410, "session_expired").await;
    visit.resume().refused(410, "session_expired").await;
    visit.complete(None).expect(200).await;
    assert_eq!(visit.column(COMPLETED).await, 1);
}

/// Rows of a session, and what it is counted by.
async fn left(visit: &Visit<'_>) -> (i64, i64) {
    let events = "select count(*) from cms_formfunnel_events e join cms_formfunnel_submissions s \
                  on s.id = e.submission_id where s.session_uuid = ";
    let events = format!("{events}'{}'", visit.session);
    (visit.column("rev").await, visit.site.database.count(&events).await)
}

#[tokio::test]
async fn no_loop_of_calls_leaves_rows_without_end() {
    let site = Site::open().await;
    let funnel = site.funnel(saving("leads")).await;
    let who = Some(funnel.node("who"));
    let name = || json!({"name": "Ada"});
    for call in ["complete", "step", "the same step", "resume", "upload", "rest"] {
        let visit = site.visit("leads").await;
        visit.answers(name()).await;
        visit.answers(json!({"budget": 9000})).await;
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
                    site.cms.funnels().process_abandoned().await.unwrap();
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
    let often = async || {
        let sql = "update cms_formfunnel_submissions set rev = 200".to_owned();
        site.database.run(sql).await;
    };
    for action in ["step", "the same step", "complete"] {
        let visit = site.visit("leads").await;
        visit.answers(json!({"name": "Ada"})).await;
        often().await;
        let (line, answers, status) = match action {
            "step" => ("step", json!({}), 422),
            "complete" => ("complete", json!({}), 422),
            _ => ("step", json!({"name": "Ada"}), 200),
        };
        let body = json!({"session_uuid": visit.session, "answers": answers, "trap": "x"});
        site.visitor(line, body).expect(status).await;
        assert_eq!(visit.column(SPAM).await, 1, "{action}");
        assert_eq!(visit.column("rev").await, 200, "{action}");
    }
    // Also when only an earlier step is not finished.
    let visit = site.visit("leads").await;
    visit.answers(json!({"name": "Ada"})).await;
    visit.answers(json!({"budget": 9000})).await;
    let sent = visit.upload("paper", b"%PDF-1.7 x").await.json();
    visit.answers(json!({"paper": [sent["file"]]})).await;
    site.database.run("delete from cms_formfunnel_uploads".to_owned()).await;
    let body = json!({"session_uuid": visit.session, "trap": "x"});
    site.visitor("complete", body).refused(422, "incomplete").await;
    assert_eq!(visit.column(SPAM).await, 1);
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
    let keep = "create table kept as select * from cms_formfunnel_uploads".to_owned();
    site.database.run(keep).await;
    site.database.run("delete from cms_formfunnel_uploads".to_owned()).await;
    let spent = "update cms_formfunnel_submissions set rev = 500".to_owned();
    site.database.run(spent).await;
    let before = (left(&visit).await, site.raised("formfunnel.step_completed").await);
    for phone in ["030 123457", "030 123458"] {
        let answers = Some(json!({"phone": phone}));
        visit.complete(answers).refused(422, "incomplete").await;
    }
    assert_eq!((left(&visit).await, site.raised("formfunnel.step_completed").await), before);
    let back = "insert into cms_formfunnel_uploads select * from kept".to_owned();
    site.database.run(back).await;
    visit.complete(Some(json!({"phone": "030 123459"}))).expect(200).await;
    assert_eq!(visit.column(COMPLETED).await, 1);
    assert_eq!(visit.column("case when answers_json like '%123459%' then 1 else 0 end").await, 1);
}

#[tokio::test]
async fn no_session_lives_for_ever() {
    let site = Site::open().await;
    let mut short = leads();
    short["settings_json"] = json!({"session_ttl_h": 1});
    site.funnel(short).await;
    let visit = site.visit("leads").await;
    for _ in 0..59 {
        site.clock.advance(30 * 60_000);
        visit.resume().expect(200).await;
    }
    site.clock.advance(30 * 60_000);
    visit.resume().refused(410, "session_expired").await;
}
