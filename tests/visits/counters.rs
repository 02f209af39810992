//! Visits that are over are counted once, whatever becomes of their rows.

use cms_core::{Cms, Random};
use serde_json::{Value as Json, json};

use crate::support::{Receiver, Site, visits::leads, webhooks};

const DAY: i64 = 24 * 3_600_000;
const HOUR: i64 = 3_600_000;

/// The sum of a counter of all visits.
async fn visits(site: &Site, counter: &str) -> i64 {
    let sql = format!(
        "select cast(coalesce(sum({counter}), 0) as bigint) from cms_formfunnel_daily \
         where node_id = 0 and edge_id = 0"
    );
    site.database.count(&sql).await
}

async fn tally(site: &Site, what: &str, more: &str) -> i64 {
    let sql = format!(
        "select cast(coalesce(sum(visits), 0) as bigint) from cms_formfunnel_tally \
         where what = '{what}' and {more}"
    );
    site.database.count(&sql).await
}

/// Another server of the same site.
async fn beside(site: &Site) -> Cms {
    let builder = Cms::builder(site.database.settings()).clock(site.clock.clone());
    builder.random(Random::seeded(1 << 63)).open().await.unwrap()
}

async fn fold(site: &Site) {
    site.cms.funnels().process_abandoned().await.unwrap();
}

async fn completed(site: &Site, name: &str) -> i64 {
    let visit = site.visit("leads").await;
    visit.answers(json!({"name": name})).await;
    visit.answers(json!({"budget": 1})).await;
    visit.complete(None).expect(200).await;
    visit.column("id").await
}

async fn post(site: &Site, action: &str, body: Json) {
    let line = format!("POST /api/backend/formfunnel?action={action}");
    site.admin(&line).json(body).expect(200).await;
}

#[tokio::test]
async fn a_visit_that_is_over_is_counted_once() {
    let site = Site::open().await;
    let mut funnel = leads();
    funnel["save_abandoned"] = 1.into();
    funnel["nodes"][1]["config_json"]["fields"].as_array_mut().unwrap().extend([
        json!({"id": "colour", "type": "single_choice", "allow_other": true, "options": [
            {"id": "red", "label": "Red"}, {"id": "blue", "label": "Blue"}]}),
        json!({"id": "news", "type": "yes_no"}),
    ]);
    site.funnel(funnel).await;
    for more in [json!({"colour": "red", "news": true}), json!({"colour": "red"}), json!({})] {
        let visit = site.visit("leads").await;
        visit.answers(json!({"name": "Ada"})).await;
        let mut answers = json!({"budget": 1});
        answers.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        site.clock.advance(61_234);
        visit.answers(answers).await;
        visit.complete(None).expect(200).await;
    }
    let (gone, active) = (site.visit("leads").await, site.visit("leads").await);
    gone.abandon().await;
    let other = beside(&site).await;
    let (one, two) =
        tokio::join!(site.cms.funnels().process_abandoned(), other.funnels().process_abandoned());
    one.unwrap();
    two.unwrap();
    other.close().await;
    fold(&site).await;
    assert_eq!((visits(&site, "started").await, visits(&site, "completed").await), (3, 3));
    // Whoever is away may come back for a day.
    gone.answers(json!({"name": "Eve"})).await;
    gone.abandon().await;
    site.clock.advance(DAY);
    fold(&site).await;
    fold(&site).await;
    assert_eq!((visits(&site, "started").await, visits(&site, "abandoned").await), (5, 2));
    assert_eq!(visits(&site, "engaged").await, 4);
    gone.step(None, json!({"budget": 1})).refused(410, "session_expired").await;
    active.resume().refused(410, "session_expired").await;
    for (what, more, expected) in [
        ("duration", "bucket = 61000", 3),
        ("dwell", "bucket = 61000", 3),
        ("answered", "name = 'colour'", 2),
        ("blank", "name = 'colour'", 1),
        ("value", "name = 'colour' and value = 'red'", 2),
        ("value", "name = 'news' and value = 'true'", 1),
        ("answered", "name = 'name'", 3),
        ("value", "name = 'name'", 0),
        ("source", "name = ''", 5),
    ] {
        assert_eq!(tally(&site, what, more).await, expected, "{what} {more}");
    }
    let left = "select count(*) from cms_formfunnel_folding";
    assert_eq!(site.database.count(left).await, 0);
}

#[tokio::test]
async fn what_is_deleted_by_hand_stays_counted() {
    let site = Site::open().await;
    site.funnel(leads()).await;
    let mut ids = Vec::new();
    for name in ["Ada", "Bob", "Cy", "Dan"] {
        ids.push(completed(&site, name).await);
    }
    let under_way = site.visit("leads").await;
    post(&site, "submission_delete", json!({"id": ids[0]})).await;
    assert_eq!(visits(&site, "started").await, 1, "it was not counted yet");
    post(&site, "submission_update", json!({"id": ids[1], "inbox_status": "qualified"})).await;
    fold(&site).await;
    post(&site, "submission_delete", json!({"id": ids[1]})).await;
    let rest = [ids[2], ids[3], under_way.column("id").await];
    post(&site, "submissions_bulk", json!({"op": "delete", "ids": rest})).await;
    assert_eq!(site.database.count("select count(*) from cms_formfunnel_submissions").await, 0);
    for (counter, expected) in [("started", 5), ("completed", 4), ("abandoned", 1)] {
        assert_eq!(visits(&site, counter).await, expected, "{counter}");
    }
    let states = (
        tally(&site, "inbox", "name = 'new'").await,
        tally(&site, "inbox", "name = 'qualified'").await,
        tally(&site, "touch", "1 = 1").await,
    );
    assert_eq!(states, (4, 1, 1));
}

/// A visit keeps the day on which it began; what began before days were noted gets one.
#[tokio::test]
async fn days_are_those_of_the_funnel() {
    let site = Site::open().await;
    let mut there = leads();
    there["settings_json"] = json!({"timezone": "Pacific/Auckland"});
    let funnel = site.funnel(there).await;
    // 2026-11-21T09:30:00Z, and half an hour before midnight in Auckland.
    completed(&site, "Ada").await;
    site.clock.advance(HOUR);
    completed(&site, "Bob").await;
    completed(&site, "Cy").await;
    site.clock.advance(HOUR);
    completed(&site, "Dan").await;
    let unknown = "update cms_formfunnel_submissions set day = '' where id in (1, 2)";
    site.database.run(unknown.to_owned()).await;
    let days = async || {
        let sql = "select cast(count(distinct day) as bigint) from cms_formfunnel_daily";
        let last = "select coalesce(max(day), '') from cms_formfunnel_daily";
        (site.database.count(sql).await, site.database.text(last).await)
    };
    fold(&site).await;
    assert_eq!(days().await, (2, "2026-11-22".to_owned()));
    let moved = json!({"id": funnel.id, "funnel": {"settings_json": {"timezone": "UTC"}}});
    post(&site, "save", moved).await;
    site.publish(funnel.id).await;
    completed(&site, "Eve").await;
    fold(&site).await;
    assert_eq!(days().await, (2, "2026-11-22".to_owned()));
    assert_eq!(visits(&site, "started").await, 5);
}

/// Copies of the answers go with old submissions, unless one is still on its way.
#[tokio::test]
async fn payloads_go_with_old_submissions() {
    let site = webhooks::site().await;
    let receiver = Receiver::start(200).await;
    let mut kept = leads();
    kept["settings_json"] = json!({"retention_days": 1});
    site.funnel(kept).await;
    site.webhook(&receiver.url, &["formfunnel.completed"]).await;
    completed(&site, "Ada").await;
    for _ in 0..4 {
        site.worker().step().await.unwrap();
    }
    completed(&site, "Bob").await;
    let held = "select count(*) from cms_events where body like";
    let told = async |name: &str| site.database.count(&format!("{held} '%{name}%'")).await;
    assert_eq!((told("Ada").await, told("Bob").await), (2, 2));
    site.clock.advance(2 * DAY);
    let clean = async || site.cms.funnels().cleanup_old_submissions().await.unwrap();
    assert_eq!(clean().await, 1);
    assert_eq!((told("Ada").await, told("Bob").await), (0, 2), "Bob's is on its way");
    for _ in 0..4 {
        site.worker().step().await.unwrap();
    }
    assert_eq!((clean().await, told("Bob").await), (1, 0));
    let jobs = "select count(*) from cms_webhook_queue";
    assert_eq!(site.database.count(jobs).await, 0);
    assert_eq!((visits(&site, "started").await, visits(&site, "completed").await), (2, 2));
}

/// Two servers remove and delete at once: nothing is counted twice, nobody waits for ever.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn all_who_remove_pass_one_at_a_time() {
    let site = Site::open().await;
    let mut kept = leads();
    kept["settings_json"] = json!({"retention_days": 1});
    site.funnel(kept).await;
    let mut ids = Vec::new();
    for _ in 0..12 {
        ids.push(completed(&site, "Ada").await);
    }
    let copies = "with recursive n(i) as (select 1 union all select i + 1 from n where i < 50) \
                  insert into cms_formfunnel_submissions (funnel_id, version_id, version, \
                  session_uuid, status, day, started_at, last_activity_at, completed_at, \
                  expires_at) select funnel_id, version_id, version, session_uuid || n.i, status, \
                  day, started_at, 0, completed_at, 0 from cms_formfunnel_submissions s, n";
    site.database.run(copies.to_owned()).await;
    site.clock.advance(2 * DAY);
    let other = beside(&site).await;
    let deletes = async {
        for id in &ids[..4] {
            let line = "POST /api/backend/formfunnel?action=submission_delete";
            site.admin(line).json(json!({"id": id})).send().await;
        }
    };
    let bulk = site.admin("POST /api/backend/formfunnel?action=submissions_bulk");
    let bulk = bulk.json(json!({"op": "delete", "ids": &ids[4..8]})).send();
    let (one, two, three, (), _) = tokio::join!(
        site.cms.funnels().cleanup_old_submissions(),
        other.funnels().cleanup_old_submissions(),
        other.funnels().process_abandoned(),
        deletes,
        bulk,
    );
    one.unwrap();
    two.unwrap();
    three.unwrap();
    site.cms.funnels().cleanup_old_submissions().await.unwrap();
    other.close().await;
    assert_eq!(visits(&site, "started").await, 12 * 51);
    assert_eq!(visits(&site, "completed").await, 12 * 51);
    assert_eq!(tally(&site, "inbox", "name = 'new'").await, 12 * 51);
    assert_eq!(site.database.count("select count(*) from cms_formfunnel_submissions").await, 0);
}
