//! Two calls at once: whichever comes first, the other finds what it left.

use serde_json::json;

use super::{ABANDONED, COMPLETED};
use crate::support::{Site, visits::leads};

const ROUNDS: i64 = 5;

#[tokio::test]
async fn an_end_and_another_answer() {
    let site = Site::open().await;
    let funnel = site.funnel(leads()).await;
    for round in 0..ROUNDS {
        let visit = site.visit("leads").await;
        visit.answers(json!({"name": "Ada"})).await;
        visit.answers(json!({"budget": 1})).await;
        let other = visit.step(Some(funnel.node("who")), json!({"name": "Eve"}));
        let (done, other) = tokio::join!(visit.complete(None).send(), other.send());
        let (done, other) = (done.status.as_u16(), other.status.as_u16());
        assert!(matches!((done, other), (200, 409) | (422, 200)), "{round}: {done} {other}");
        assert_eq!(visit.column(COMPLETED).await, i64::from(done == 200));
        let is_ada = "case when answers_json like '%Ada%' then 1 else 0 end";
        assert_eq!(visit.column(is_ada).await, i64::from(done == 200), "{round}");
    }
}

#[tokio::test]
async fn an_end_and_a_closed_page() {
    let site = Site::open().await;
    let mut saving = leads();
    saving["save_abandoned"] = 1.into();
    site.funnel(saving).await;
    for _ in 0..ROUNDS {
        let visit = site.visit("leads").await;
        visit.answers(json!({"name": "Ada"})).await;
        visit.answers(json!({"budget": 1})).await;
        let (done, ()) = tokio::join!(visit.complete(None).expect(200), visit.abandon());
        assert_eq!(done.json()["status"], "completed");
        assert_eq!((visit.column(COMPLETED).await, visit.column(ABANDONED).await), (1, 0));
    }
    assert_eq!(site.raised("formfunnel.completed").await, ROUNDS);
}

#[tokio::test]
async fn two_beacons_tell_once() {
    let site = Site::open().await;
    let mut saving = leads();
    saving["save_abandoned"] = 1.into();
    saving["email_routings"] = json!([
        {"recipients": "a@example.org", "subject": "Away", "trigger_event": "abandoned"}]);
    site.funnel(saving).await;
    for round in 1..=ROUNDS {
        let visit = site.visit("leads").await;
        site.clock.advance(61 * 60_000);
        let process = async || site.cms.funnels().process_abandoned().await.unwrap();
        tokio::join!(visit.abandon(), visit.abandon(), process());
        assert_eq!((site.raised("formfunnel.abandoned").await, site.mails().await), (round, round));
    }
}

#[tokio::test]
async fn a_file_and_the_end() {
    let site = Site::open().await;
    site.funnel(leads()).await;
    for round in 0..ROUNDS {
        let visit = site.visit("leads").await;
        visit.answers(json!({"name": "Ada"})).await;
        visit.answers(json!({"budget": 9000})).await;
        let (sent, done) =
            tokio::join!(visit.upload("paper", b"%PDF-1.7 x"), visit.complete(None).expect(200));
        assert_eq!(done.json()["status"], "completed");
        assert!(matches!(sent.status.as_u16(), 201 | 409), "{round}: {}", sent.text());
    }
    // None of them is an answer.
    site.clock.advance(25 * 3_600_000);
    site.cms.funnels().process_abandoned().await.unwrap();
    assert_eq!(site.database.count("select count(*) from cms_formfunnel_uploads").await, 0);
}

#[tokio::test]
async fn a_step_and_the_end_of_its_funnel() {
    let site = Site::open().await;
    for round in 0..ROUNDS {
        let funnel = site.funnel(leads()).await;
        let visit = site.visit("leads").await;
        let delete = site.admin("POST /api/backend/formfunnel?action=delete");
        let delete = delete.json(json!({"id": funnel.id})).expect(200);
        let step = visit.step(None, json!({"name": "Ada"})).send();
        let (_, step) = tokio::join!(delete, step);
        assert!(matches!(step.status.as_u16(), 200 | 404), "{round}: {}", step.text());
        visit.step(None, json!({"budget": 1})).refused(404, "not_found").await;
        let left = "select count(*) from cms_formfunnel_events";
        assert_eq!(site.database.count(left).await, 0);
    }
}
