//! Who is there and who has left: visits that rest and come back.

use cms_core::settings::Settings;
use cms_http::Peer;
use serde_json::{Value as Json, json};

use super::{ABANDONED, another};
use crate::support::{Site, Visit, leads, with, with_leads};

/// Marks those who leave, and those who rest for an hour.
pub(super) fn saving(slug: &str) -> Json {
    with(leads(), json!({"slug": slug, "save_abandoned": 1}))
}

pub(super) async fn is_away(visit: &Visit<'_>) -> bool {
    visit.is(ABANDONED).await
}

#[tokio::test]
async fn every_call_of_who_was_away_brings_the_visit_back() {
    let site = Site::open().await;
    let funnel = site.funnel(saving("leads")).await;
    let visit = site.visit("leads").await;
    let same = || visit.step(Some(funnel.node("who")), json!({"name": "Ada"}));
    visit.answers(json!({"name": "Ada"})).await;
    visit.abandon().await;
    assert!(is_away(&visit).await);
    for (call, status) in
        [(same(), 200), (visit.resume(), 200), (visit.step(None, json!({"budget": "much"})), 422)]
    {
        visit.abandon().await;
        let reply = call.expect(status).await;
        assert!(!is_away(&visit).await, "by {}", reply.text());
    }
    visit.answers(json!({"budget": 9000})).await;
    visit.abandon().await;
    assert_eq!(visit.upload("paper", b"%PDF-1.7 x").await.status, 201);
    assert!(!is_away(&visit).await, "by a file");
    assert_eq!(visit.happened("answered").await, 2);
}

/// A reload is a beacon and a return.
#[tokio::test]
async fn event_and_mail_wait_after_a_beacon_and_are_dropped_by_a_return() {
    let site = Site::open().await;
    site.leads(json!({"save_abandoned": 1, "abandon_after_min": 30, "email_routings": [
        {"recipients": "away@example.org", "subject": "Away", "trigger_event": "abandoned"}]}))
        .await;
    let told = async || (site.raised("formfunnel.abandoned").await, site.mails().await);
    let after = async |minutes: i64| {
        site.clock.advance(minutes * 60_000);
        // Two processes at once; one of them was started after the beacon.
        let other = another(&site).await;
        let (one, two) = tokio::join!(site.process_abandoned(), other.process_abandoned());
        other.cms.close().await;
        one + two
    };
    let visit = site.visit("leads").await;
    for _ in 0..3 {
        visit.abandon().await;
        assert_eq!((after(29).await, is_away(&visit).await, told().await), (0, true, (0, 0)));
        visit.resume().expect(200).await;
        assert_eq!((after(1).await, is_away(&visit).await, told().await), (0, false, (0, 0)));
    }
    let left = site.clock.now();
    visit.abandon().await;
    // Only the first beacon counts: the page is closed already.
    assert_eq!(after(20).await, 0);
    visit.abandon().await;
    assert_eq!((after(9).await, told().await), (0, (0, 0)));
    assert_eq!((after(1).await, told().await), (1, (1, 1)));
    assert_eq!(visit.column("abandoned_at").await, left, "the time of the beacon");
    assert_eq!((visit.happened("mail").await, visit.happened("abandoned").await), (1, 4));
    // A second time is told to nobody, and neither is who comes back to the end.
    visit.resume().expect(200).await;
    visit.abandon().await;
    assert_eq!((after(31).await, told().await), (0, (1, 1)));
    let other = site.visit("leads").await;
    other.answers(json!({"name": "Ada"})).await;
    other.abandon().await;
    other.answers(json!({"budget": 1})).await;
    other.abandon().await;
    other.complete(None).expect(200).await;
    assert_eq!((after(31).await, told().await), (0, (1, 1)));
    // A program is marked, and nobody is told.
    let spam = site.visit("leads").await;
    spam.call("step", json!({"answers": {"name": "x"}, "trap": "x"})).expect(200).await;
    spam.abandon().await;
    assert_eq!((after(31).await, is_away(&spam).await, told().await), (0, true, (1, 1)));
}

/// The wait may be longer than a session lives.
#[tokio::test]
async fn who_stays_away_is_told_of_also_after_the_session_has_expired() {
    let site = Site::open().await;
    let ttl = json!({"session_ttl_h": 1});
    site.leads(json!({"save_abandoned": 1, "abandon_after_min": 180, "settings_json": ttl})).await;
    let visit = site.visit("leads").await;
    visit.abandon().await;
    for (minutes, raised, folded) in [(120, 0, false), (60, 1, true)] {
        site.clock.advance(minutes * 60_000);
        site.process_abandoned().await;
        let told = (site.raised("formfunnel.abandoned").await, visit.is("folded").await);
        assert_eq!(told, (raised, folded), "{minutes}");
    }
}

#[tokio::test]
async fn the_same_step_again_renews_the_time_and_notes_the_trap() {
    let site = Site::open().await;
    let funnel = site.funnel(saving("leads")).await;
    let visit = site.visit("leads").await;
    let (who, name) = (Some(funnel.node("who")), json!({"name": "Ada"}));
    let first = visit.answers(name.clone()).await;
    for _ in 0..3 {
        site.clock.advance(50 * 60_000);
        assert_eq!(visit.step(who, name.clone()).expect(200).await.json(), first);
        assert_eq!(site.process_abandoned().await, 0);
    }
    visit.call("step", json!({"node_id": who, "answers": name, "trap": "x"})).expect(200).await;
    assert!(visit.is("is_spam").await);
    let other = site.visit("leads").await;
    other.call("complete", json!({"trap": "x"})).refused(422, "incomplete").await;
    assert!(other.is("is_spam").await, "also when the call is refused");
}

/// The versions of a funnel cannot be read any more.
async fn break_versions(site: &Site, funnel: i64) {
    let broken = "update cms_formfunnel_versions set definition = '{\"nodes\":[{\"id\":0}]}'";
    site.database.run(format!("{broken} where funnel_id = {funnel}")).await;
}

#[tokio::test]
async fn one_visit_that_cannot_be_read_stops_no_other() {
    let site = Site::open().await;
    let broken = site.funnel(saving("broken")).await;
    site.funnel(saving("leads")).await;
    let (first, second) = (site.visit("broken").await, site.visit("leads").await);
    break_versions(&site, broken.id).await;
    site.clock.advance(61 * 60_000);
    let other = another(&site).await;
    assert_eq!(other.process_abandoned().await, 1);
    assert!(is_away(&second).await && !is_away(&first).await);
    other.cms.close().await;
}

#[tokio::test]
async fn only_visits_that_are_due_are_looked_at() {
    let site = Site::open().await;
    site.funnel(saving("leads")).await;
    site.leads(json!({"slug": "silent"})).await;
    let due = "case when abandon_due_at is null then 0 else abandon_due_at - last_activity_at end";
    let (watched, other) = (site.visit("leads").await, site.visit("silent").await);
    assert_eq!((watched.column(due).await, other.column(due).await), (3_600_000, 0));
    watched.answers(json!({"name": "Ada"})).await;
    assert_eq!(watched.column(due).await, 3_600_000);
    watched.abandon().await;
    assert_eq!(watched.column(due).await, 3_600_000, "then event and mails go out");
    site.clock.advance(3_600_000);
    site.process_abandoned().await;
    assert_eq!(watched.column(due).await, 0);
    watched.answers(json!({"budget": 1})).await;
    watched.complete(None).expect(200).await;
    assert_eq!(watched.column(due).await, 0);
    if !site.database.is_postgres() {
        let plan = "explain query plan select id from cms_formfunnel_submissions \
                    where abandon_due_at <= 7 and (abandon_due_at, id) > (1, 1) \
                    order by abandon_due_at, id limit 5";
        let mut connection = site.database.sqlite_connection().await;
        let rows: Vec<(i64, i64, i64, String)> =
            sqlx::query_as(plan).fetch_all(&mut connection).await.unwrap();
        let told: Vec<_> = rows.into_iter().map(|row| row.3).collect();
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].contains("INDEX cms_formfunnel_submissions_due"), "{told:?}");
    }
}

#[tokio::test]
async fn the_time_of_a_step_counts_from_when_it_was_shown() {
    let site = Site::open().await;
    let funnel = site.funnel(leads()).await;
    let visit = site.visit("leads").await;
    site.clock.advance(10_000);
    visit.step(None, json!({})).expect(422).await;
    visit.resume().expect(200).await;
    site.clock.advance(5_000);
    visit.answers(json!({"name": "Ada"})).await;
    site.clock.advance(2_000);
    visit.answers(json!({"budget": 1})).await;
    // Nobody knows how long a step was seen that is answered again.
    site.clock.advance(9_000);
    visit.step(Some(funnel.node("who")), json!({"name": "Eve"})).expect(200).await;
    let dwell = "select cast(sum(dwell_ms) as bigint) from cms_formfunnel_events";
    let known = "select count(dwell_ms) from cms_formfunnel_events";
    assert_eq!((site.database.count(dwell).await, site.database.count(known).await), (17_000, 2));
}

#[tokio::test]
async fn a_beacon_gets_the_same_answer_whatever_it_is() {
    let site = Site::open().await;
    let funnel = site.funnel(saving("leads")).await;
    let visit = site.visit("leads").await;
    let body = json!({"session_uuid": visit.session}).to_string();
    let send = async |line: &str, body: &str| {
        site.ask(line).header("content-type", "text/plain").body(body).expect(204).await;
    };
    send("POST /api/formfunnel/abandon?x=1", &"x".repeat(100)).await;
    assert!(!is_away(&visit).await);
    // More than any file may have.
    let most = site.cms.settings().media.max_bytes as usize;
    send("POST /api/formfunnel/abandon", &" ".repeat(most + 1)).await;
    // Too late: the visit has expired, and nobody is told that it was left.
    site.clock.advance(25 * 3_600_000);
    send("POST /api/formfunnel/abandon", &body).await;
    assert_eq!((is_away(&visit).await, site.raised("formfunnel.abandoned").await), (false, 0));
    // A version that cannot be read; nobody says what the body is.
    let visit = site.visit("leads").await;
    break_versions(&site, funnel.id).await;
    let other = another(&site).await;
    let request = http::Request::post("/api/formfunnel/abandon").header("host", "cms.test");
    let body = http_body_util::Full::new(bytes::Bytes::from(visit.session.clone()));
    assert_eq!(other.api.handle(request.body(body).unwrap()).await.status(), 204);
    other.cms.close().await;
}

#[tokio::test]
async fn a_step_and_the_round_at_once_are_one_after_the_other() {
    let site = Site::open().await;
    site.funnel(saving("leads")).await;
    for round in 0..5 {
        let visit = site.visit("leads").await;
        site.clock.advance(61 * 60_000);
        let step = visit.step(None, json!({"name": "Ada"})).expect(200);
        let (marked, reply) = tokio::join!(site.process_abandoned(), step);
        assert_eq!(reply.json()["node"]["name"], "budget", "{round}");
        assert!(!is_away(&visit).await, "the visitor is there, whoever came first");
        let told = site.raised("formfunnel.abandoned").await;
        assert_eq!(visit.happened("abandoned").await as u64, marked, "{round}");
        assert!(told <= round + 1);
        visit.answers(json!({"budget": 1})).await;
        visit.complete(None).expect(200).await;
    }
}

#[tokio::test]
async fn a_visitor_has_one_text_for_a_day() {
    let site = with_leads().await;
    let other = another(&site).await;
    let texts = "select count(distinct client_hash) from cms_formfunnel_submissions";
    for (days, peer, count) in [
        (0, "192.0.2.1:1000", 1),
        (0, "192.0.2.1:2000", 1),
        (0, "192.0.2.2:1000", 2),
        (1, "192.0.2.1:1000", 3),
    ] {
        site.clock.advance(days * 86_400_000);
        for server in [&site, &other] {
            let start = server.visitor("start", json!({"funnel_id": "leads"}));
            start.peer(Peer(peer.parse().unwrap())).expect(201).await;
        }
        assert_eq!(site.database.count(texts).await, count, "{days} {peer}");
    }
    // The salt of yesterday is gone.
    assert_eq!(site.database.rows("cms_formfunnel_salt").await, 1);
    let today = site.clock.now() / 86_400_000;
    assert_eq!(site.database.count("select day from cms_formfunnel_salt").await, today);
    other.cms.close().await;
}

/// The host of the start call counts: those of later calls may be others.
#[tokio::test]
async fn links_lead_to_the_host_of_the_start_call() {
    let hosts = |settings: &mut Settings| {
        settings.allowed_hosts = vec!["known.example".to_owned(), "cms.test".to_owned()];
    };
    let own = |settings: &mut Settings| settings.site_url = Some("https://own.example".to_owned());
    let as_it_is: fn(&mut Settings) = |_| {};
    for (change, first, later, host) in [
        (as_it_is, "cms.example", "cms.example", "cms.example"),
        (as_it_is, "cms.example:8443", "cms.example:8443", "cms.example:8443"),
        (hosts, "known.example", "known.example", "known.example"),
        (hosts, "known.example", "cms.test", "known.example"),
        (own, "evil.example", "evil.example", "own.example"),
    ] {
        let site = Site::with(change).await;
        let mail = json!({"recipients": "a@example.org", "subject": "url={{_submission.url}}"});
        site.leads(json!({"email_routings": [mail]})).await;
        let start = || site.visitor("start", json!({"funnel_id": "leads"}));
        let visit = site.begun(start().header("host", first)).await;
        visit.step(None, json!({"name": "Ada"})).header("host", later).expect(200).await;
        visit.complete(Some(json!({"budget": 1}))).header("host", later).expect(200).await;
        let subject = site.database.text("select subject from cms_mails").await;
        let (link, _) = subject.split_once("/api/backend/formfunnel?").expect(&subject);
        assert_eq!(link, format!("url=https://{host}"), "{first} {later}");
        if first == "known.example" {
            start().header("host", "evil.example").refused(421, "unknown_host").await;
        }
    }
}
