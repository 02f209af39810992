//! Who is there and who has left: visits that rest and come back.

use cms_core::{Cms, Random};
use cms_http::Peer;
use serde_json::{Value as Json, json};

use super::ABANDONED;
use crate::support::{
    Site,
    visits::{Visit, leads},
};

pub(super) const SPAM: &str = "case when is_spam then 1 else 0 end";

/// Marks those who leave, and those who rest for an hour.
pub(super) fn saving(slug: &str) -> Json {
    let mut funnel = leads();
    funnel["slug"] = slug.into();
    funnel["save_abandoned"] = 1.into();
    funnel
}

pub(super) async fn is_away(visit: &Visit<'_>) -> bool {
    visit.column(ABANDONED).await == 1
}

#[tokio::test]
async fn every_call_of_who_was_away_brings_the_visit_back() {
    let site = Site::open().await;
    let funnel = site.funnel(saving("leads")).await;
    let visit = site.visit("leads").await;
    let name = json!({"name": "Ada"});
    visit.answers(name.clone()).await;
    let who = Some(funnel.node("who"));
    visit.abandon().await;
    assert!(is_away(&visit).await);
    visit.step(who, name.clone()).expect(200).await;
    assert!(!is_away(&visit).await, "by the same step again");
    visit.abandon().await;
    visit.resume().expect(200).await;
    assert!(!is_away(&visit).await, "by a reload");
    visit.abandon().await;
    visit.step(None, json!({"budget": "much"})).expect(422).await;
    assert!(!is_away(&visit).await, "by a refused answer");
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
    let mut funnel = saving("leads");
    funnel["abandon_after_min"] = 30.into();
    funnel["email_routings"] = json!([
        {"recipients": "away@example.org", "subject": "Away", "trigger_event": "abandoned"},
    ]);
    site.funnel(funnel).await;
    let told = async || {
        let mails = site.database.count("select count(*) from cms_mails").await;
        (site.raised("formfunnel.abandoned").await, mails)
    };
    let after = async |minutes: i64| {
        site.clock.advance(minutes * 60_000);
        // Two processes at once; one of them was started after the beacon.
        let other = another(&site).await;
        let (one, two) = tokio::join!(
            site.cms.funnels().process_abandoned(),
            other.funnels().process_abandoned()
        );
        other.close().await;
        one.unwrap() + two.unwrap()
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
    let body = json!({"session_uuid": spam.session, "answers": {"name": "x"}, "trap": "x"});
    site.visitor("step", body).expect(200).await;
    spam.abandon().await;
    assert_eq!((after(31).await, is_away(&spam).await, told().await), (0, true, (1, 1)));
}

/// The wait may be longer than a session lives.
#[tokio::test]
async fn who_stays_away_is_told_of_also_after_the_session_has_expired() {
    let site = Site::open().await;
    let mut funnel = saving("leads");
    funnel["abandon_after_min"] = 180.into();
    funnel["settings_json"] = json!({"session_ttl_h": 1});
    site.funnel(funnel).await;
    let visit = site.visit("leads").await;
    visit.abandon().await;
    for (minutes, raised, folded) in [(120, 0, 0), (60, 1, 1)] {
        site.clock.advance(minutes * 60_000);
        site.cms.funnels().process_abandoned().await.unwrap();
        let counted = visit.column("case when folded then 1 else 0 end").await;
        assert_eq!((site.raised("formfunnel.abandoned").await, counted), (raised, folded));
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
        assert_eq!(site.cms.funnels().process_abandoned().await.unwrap(), 0);
    }
    let body = json!({"session_uuid": visit.session, "node_id": who, "answers": name, "trap": "x"});
    site.visitor("step", body).expect(200).await;
    assert_eq!(visit.column(SPAM).await, 1);
    let other = site.visit("leads").await;
    let body = json!({"session_uuid": other.session, "trap": "x"});
    site.visitor("complete", body).refused(422, "incomplete").await;
    assert_eq!(other.column(SPAM).await, 1, "also when the call is refused");
}

/// Another process of the site, which has read no version yet.
async fn another(site: &Site) -> Cms {
    let builder = Cms::builder(site.cms.settings().clone()).clock(site.clock.clone());
    builder.random(Random::seeded(1 << 40)).open().await.unwrap()
}

#[tokio::test]
async fn one_visit_that_cannot_be_read_stops_no_other() {
    let site = Site::open().await;
    let broken = site.funnel(saving("broken")).await;
    site.funnel(saving("leads")).await;
    let first = site.visit("broken").await;
    let second = site.visit("leads").await;
    let cut = "update cms_formfunnel_versions set definition = '{\"nodes\":[{\"id\":0}]}' \
               where funnel_id = ";
    site.database.run(format!("{cut}{}", broken.id)).await;
    site.clock.advance(61 * 60_000);
    let other = another(&site).await;
    assert_eq!(other.funnels().process_abandoned().await.unwrap(), 1);
    assert!(is_away(&second).await && !is_away(&first).await);
    other.close().await;
}

#[tokio::test]
async fn only_visits_that_are_due_are_looked_at() {
    let site = Site::open().await;
    site.funnel(saving("leads")).await;
    let mut silent = leads();
    silent["slug"] = "silent".into();
    site.funnel(silent).await;
    let due = "case when abandon_due_at is null then 0 else abandon_due_at - last_activity_at end";
    let (watched, other) = (site.visit("leads").await, site.visit("silent").await);
    assert_eq!((watched.column(due).await, other.column(due).await), (3_600_000, 0));
    watched.answers(json!({"name": "Ada"})).await;
    assert_eq!(watched.column(due).await, 3_600_000);
    watched.abandon().await;
    assert_eq!(watched.column(due).await, 3_600_000, "then event and mails go out");
    site.clock.advance(3_600_000);
    site.cms.funnels().process_abandoned().await.unwrap();
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
    // A version that cannot be read.
    let cut = "update cms_formfunnel_versions set definition = '{\"nodes\":[{\"id\":0}]}' \
               where funnel_id = ";
    let visit = site.visit("leads").await;
    site.database.run(format!("{cut}{}", funnel.id)).await;
    let other = another(&site).await;
    let api = cms_http::Api::new(other.clone()).unwrap();
    let request = http::Request::post("/api/formfunnel/abandon").header("host", "cms.test");
    let body = http_body_util::Full::new(bytes::Bytes::from(visit.session.clone()));
    assert_eq!(api.handle(request.body(body).unwrap()).await.status(), 204);
    other.close().await;
}

#[tokio::test]
async fn a_step_and_the_round_at_once_are_one_after_the_other() {
    let site = Site::open().await;
    site.funnel(saving("leads")).await;
    for round in 0..5 {
        let visit = site.visit("leads").await;
        site.clock.advance(61 * 60_000);
        let (marked, reply) = tokio::join!(
            site.cms.funnels().process_abandoned(),
            visit.step(None, json!({"name": "Ada"})).expect(200)
        );
        assert_eq!(reply.json()["node"]["name"], "budget", "{round}");
        assert!(!is_away(&visit).await, "the visitor is there, whoever came first");
        let told = site.raised("formfunnel.abandoned").await;
        assert_eq!(visit.happened("abandoned").await as u64, marked.unwrap(), "{round}");
        assert!(told <= round + 1);
        visit.answers(json!({"budget": 1})).await;
        visit.complete(None).expect(200).await;
    }
}

#[tokio::test]
async fn a_visitor_has_one_text_for_a_day() {
    let site = Site::open().await;
    site.funnel(leads()).await;
    let another = another(&site).await;
    let other = cms_http::Api::new(another.clone()).unwrap();
    let start = async |api: &cms_http::Api, peer: &str| {
        let request = http::Request::post("/api/formfunnel/start")
            .header("host", "cms.test")
            .header("content-type", "application/json")
            .extension(Peer(peer.parse().unwrap()));
        let body = http_body_util::Full::new(bytes::Bytes::from(r#"{"funnel_id":"leads"}"#));
        assert_eq!(api.handle(request.body(body).unwrap()).await.status(), 201);
    };
    let texts = "select count(distinct client_hash) from cms_formfunnel_submissions";
    for (days, peer, count) in [
        (0, "192.0.2.1:1000", 1),
        (0, "192.0.2.1:2000", 1),
        (0, "192.0.2.2:1000", 2),
        (1, "192.0.2.1:1000", 3),
    ] {
        site.clock.advance(days * 86_400_000);
        start(&site.api, peer).await;
        start(&other, peer).await;
        assert_eq!(site.database.count(texts).await, count, "{days} {peer}");
    }
    // The salt of yesterday is gone.
    assert_eq!(site.database.count("select count(*) from cms_formfunnel_salt").await, 1);
    let today = site.clock.now() / 86_400_000;
    assert_eq!(site.database.count("select day from cms_formfunnel_salt").await, today);
    another.close().await;
}

#[tokio::test]
async fn links_lead_to_the_host_of_the_start_call() {
    let mut linking = leads();
    linking["email_routings"] =
        json!([{"recipients": "a@example.org", "subject": "url={{_submission.url}}"}]);
    let linked = async |site: &Site, host: &str| {
        let ask = site.visitor("start", json!({"funnel_id": "leads"}));
        let started = ask.header("host", host).expect(201).await.json();
        let session = started["session_uuid"].as_str().unwrap().to_owned();
        let visit = Visit { site, session };
        let body = json!({"session_uuid": visit.session, "answers": {"name": "Ada"}});
        site.visitor("step", body).header("host", host).expect(200).await;
        let body = json!({"session_uuid": visit.session, "answers": {"budget": 1}});
        site.visitor("complete", body).header("host", host).expect(200).await;
        let count = |text: &str| {
            format!(
                "select count(*) from cms_mails where id = (select max(id) from cms_mails) \
                 and subject like '{text}'"
            )
        };
        let is = async |text: &str| site.database.count(&count(text)).await == 1;
        if is("url=").await {
            return "";
        }
        match is(&format!("url=https://{host}/api/backend/formfunnel?%")).await {
            true => "host",
            false if is("url=https://own.example/api/backend/formfunnel?%").await => "site_url",
            false => "another",
        }
    };
    let site = Site::open().await;
    site.funnel(linking.clone()).await;
    assert_eq!(linked(&site, "cms.example").await, "host");
    assert_eq!(linked(&site, "cms.example:8443").await, "host");
    let hosts = vec!["known.example".to_owned(), "cms.test".to_owned()];
    let site = Site::builder().await.settings(|s| s.allowed_hosts = hosts).open().await;
    site.funnel(linking.clone()).await;
    assert_eq!(linked(&site, "known.example").await, "host", "an allowed host");
    let start = || site.visitor("start", json!({"funnel_id": "leads"}));
    start().header("host", "evil.example").refused(421, "unknown_host").await;
    // The host of the start call counts: those of later calls may be others.
    let started = start().header("host", "known.example").expect(201).await.json();
    let session = started["session_uuid"].as_str().unwrap().to_owned();
    let visit = Visit { site: &site, session };
    visit.answers(json!({"name": "Ada"})).await;
    visit.complete(Some(json!({"budget": 1}))).expect(200).await;
    let known = "select count(*) from cms_mails where subject like 'url=https://known.example/%'";
    assert_eq!(site.database.count(known).await, 2);
    let own = Some("https://own.example".to_owned());
    let site = Site::builder().await.settings(|s| s.site_url = own).open().await;
    site.funnel(linking).await;
    assert_eq!(linked(&site, "evil.example").await, "site_url");
}
