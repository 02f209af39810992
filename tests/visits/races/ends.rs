//! The end of a visit, and what else its visitor does.

use serde_json::json;

use super::{
    super::{ABANDONED, COMPLETED},
    ROUNDS, Shot, complete, open, race, saving,
};
use crate::support::{Visit, leads, with};

#[tokio::test(flavor = "multi_thread")]
async fn an_end_and_another_answer() {
    let site = open().await;
    let funnel = site.funnel(leads()).await;
    for round in 0..ROUNDS {
        let visit = site.ada(1).await;
        let other = json!({"session_uuid": visit.session, "node_id": funnel.node("who"),
                           "answers": {"name": "Eve"}});
        let shots = [complete(&visit.session), Shot::Visitor("step", other)];
        let [done, other] = race(&site, shots).await;
        assert!(matches!((done, other), (200, 409) | (422, 200)), "{round}: {done} {other}");
        for condition in [COMPLETED, "answers_json like '%Ada%'"] {
            assert_eq!(visit.is(condition).await, done == 200, "{round}: {condition}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_end_and_a_closed_page() {
    let site = open().await;
    site.funnel(saving()).await;
    for _ in 0..ROUNDS {
        let visit = site.ada(1).await;
        let closed = Shot::Beacon(visit.session.clone());
        assert_eq!(race(&site, [complete(&visit.session), closed]).await, [200, 204]);
        assert_eq!((visit.is(COMPLETED).await, visit.is(ABANDONED).await), (true, false));
    }
    assert_eq!(site.raised("formfunnel.completed").await, ROUNDS);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_beacons_tell_once() {
    let site = open().await;
    site.funnel(saving()).await;
    for round in 1..=ROUNDS {
        let visit = site.visit("leads").await;
        site.clock.advance(61 * 60_000);
        let closed = || Shot::Beacon(visit.session.clone());
        race(&site, [closed(), closed(), Shot::Round, Shot::Round]).await;
        // A beacon that came first has begun its own wait.
        site.clock.advance(60 * 60_000);
        race(&site, [Shot::Round, Shot::Round]).await;
        assert_eq!((site.raised("formfunnel.abandoned").await, site.mails().await), (round, round));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_and_the_end() {
    let site = open().await;
    site.funnel(leads()).await;
    for round in 0..ROUNDS {
        let visit = site.ada(9000).await;
        let file = Shot::File(visit.session.clone());
        let [sent, done] = race(&site, [file, complete(&visit.session)]).await;
        assert!(matches!((sent, done), (201 | 409, 200)), "{round}: {sent} {done}");
    }
    // None of them is an answer.
    site.clock.advance(25 * 3_600_000);
    site.process_abandoned().await;
    assert_eq!(site.database.rows("cms_formfunnel_uploads").await, 0);
}

/// The round removes old files while their visitor ends the visit that holds some of them.
#[tokio::test(flavor = "multi_thread")]
async fn old_files_are_removed_while_their_visit_ends() {
    let site = open().await;
    let mut long = with(leads(), json!({"settings_json": {"session_ttl_h": 100}}));
    long["nodes"][3]["config_json"]["fields"][1]["max_files"] = 10.into();
    site.funnel(long).await;
    for round in 0..ROUNDS {
        let visit = site.ada(9000).await;
        let mut files = Vec::new();
        for _ in 0..4 {
            files.push(visit.upload("paper", b"%PDF-1.7 x").await.json()["file"].clone());
        }
        visit.answers(json!({"paper": [files[2], files[0]]})).await;
        site.clock.advance(25 * 3_600_000);
        let shots = [complete(&visit.session), Shot::Round, Shot::Round];
        assert_eq!(race(&site, shots).await, [200, 200, 200], "{round}");
        let left = "cms_formfunnel_uploads where attached";
        assert_eq!(site.database.rows(left).await, 2 * (round + 1));
    }
    site.process_abandoned().await;
    assert_eq!(site.database.rows("cms_formfunnel_uploads").await, 2 * ROUNDS);
}

/// Two visits that write to the same two addresses, each in its own order: both count what the
/// addresses get in a day.
#[tokio::test(flavor = "multi_thread")]
async fn visits_with_the_same_addresses_end_together() {
    let site = open().await;
    let mail = json!({"recipients": "{{ mail }}, {{ other }}", "subject": "Hello {{ name }}"});
    let mut crossed = with(leads(), json!({"email_routings": [mail]}));
    crossed["nodes"][0]["config_json"]["fields"][2] = json!({"id": "other", "type": "email"});
    site.funnel(crossed).await;
    for round in 0..2 * ROUNDS {
        // New addresses each time: those of a day have a row already.
        let [a, b] = ["a", "b"].map(|name| format!("{name}{round}@example.com"));
        let ready = async |mail: &str, other: &str| -> Visit<'_> {
            let visit = site.visit("leads").await;
            visit.answers(json!({"name": "Ada", "mail": mail, "other": other})).await;
            visit.answers(json!({"budget": 1})).await;
            visit
        };
        let (one, two) = (ready(&a, &b).await, ready(&b, &a).await);
        let ends = [complete(&one.session), complete(&two.session)];
        assert_eq!(race(&site, ends).await, [200, 200], "{round}");
    }
    assert_eq!(site.mails().await, 8 * ROUNDS);
}
