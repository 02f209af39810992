//! Visits that are over are counted once, whatever becomes of their rows.

use serde_json::json;

use super::another;
use crate::support::{Receiver, Site, leads, webhooks, with, with_leads};

const DAY: i64 = 24 * 3_600_000;
const HOUR: i64 = 3_600_000;

/// The sum of a counter of all visits.
async fn visits(site: &Site, counter: &str) -> i64 {
    sum(site, counter, "cms_formfunnel_daily where node_id = 0 and edge_id = 0").await
}

async fn tally(site: &Site, what: &str, more: &str) -> i64 {
    let rows = format!("cms_formfunnel_tally where what = '{what}' and {more}");
    sum(site, "visits", &rows).await
}

/// The sum of a column.
pub(super) async fn sum(site: &Site, column: &str, rows: &str) -> i64 {
    let sum = format!("select cast(coalesce(sum({column}), 0) as bigint) from {rows}");
    site.database.count(&sum).await
}

/// The same of all visits that are over, so often.
async fn counted<const N: usize>(site: &Site, counters: [(&str, i64); N]) {
    for (counter, expected) in counters {
        assert_eq!(visits(site, counter).await, expected, "{counter}");
    }
}

async fn completed(site: &Site, name: &str) -> i64 {
    let visit = site.visit("leads").await;
    visit.answers(json!({"name": name})).await;
    visit.answers(json!({"budget": 1})).await;
    visit.complete(None).expect(200).await;
    visit.column("id").await
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
        site.clock.advance(61_234);
        visit.answers(with(json!({"budget": 1}), more)).await;
        visit.complete(None).expect(200).await;
    }
    let (gone, active) = (site.visit("leads").await, site.visit("leads").await);
    gone.abandon().await;
    let other = another(&site).await;
    tokio::join!(site.process_abandoned(), other.process_abandoned());
    other.cms.close().await;
    site.process_abandoned().await;
    counted(&site, [("started", 3), ("completed", 3)]).await;
    // Whoever is away may come back for a day.
    gone.answers(json!({"name": "Eve"})).await;
    gone.abandon().await;
    site.clock.advance(DAY);
    site.process_abandoned().await;
    site.process_abandoned().await;
    counted(&site, [("started", 5), ("abandoned", 2), ("engaged", 4)]).await;
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
    assert_eq!(site.database.rows("cms_formfunnel_folding").await, 0);
}

#[tokio::test]
async fn what_is_deleted_by_hand_stays_counted() {
    let site = with_leads().await;
    let mut ids = Vec::new();
    for name in ["Ada", "Bob", "Cy", "Dan"] {
        ids.push(completed(&site, name).await);
    }
    let under_way = site.visit("leads").await;
    site.staff("submission_delete", json!({"id": ids[0]})).expect(200).await;
    counted(&site, [("started", 1)]).await;
    site.staff("submission_update", json!({"id": ids[1], "inbox_status": "qualified"}))
        .expect(200)
        .await;
    site.process_abandoned().await;
    site.staff("submission_delete", json!({"id": ids[1]})).expect(200).await;
    let rest = [ids[2], ids[3], under_way.column("id").await];
    site.staff("submissions_bulk", json!({"op": "delete", "ids": rest})).expect(200).await;
    assert_eq!(site.database.rows("cms_formfunnel_submissions").await, 0);
    counted(&site, [("started", 5), ("completed", 4), ("abandoned", 1)]).await;
    for (what, more, expected) in
        [("inbox", "name = 'new'", 4), ("inbox", "name = 'qualified'", 1), ("touch", "1 = 1", 1)]
    {
        assert_eq!(tally(&site, what, more).await, expected, "{what} {more}");
    }
}

/// A visit keeps the day on which it began; what began before days were noted gets one.
#[tokio::test]
async fn days_are_those_of_the_funnel() {
    let site = Site::open().await;
    let funnel = site.leads(json!({"settings_json": {"timezone": "Pacific/Auckland"}})).await;
    // 2026-11-21T09:30:00Z, and half an hour before midnight in Auckland.
    completed(&site, "Ada").await;
    site.clock.advance(HOUR);
    completed(&site, "Bob").await;
    completed(&site, "Cy").await;
    site.clock.advance(HOUR);
    completed(&site, "Dan").await;
    let unknown = "update cms_formfunnel_submissions set day = '' where id in (1, 4)";
    site.database.run(unknown).await;
    let moved = json!({"id": funnel.id, "funnel": {"settings_json": {"timezone": "UTC"}}});
    site.staff("save", moved).expect(200).await;
    let days = async || {
        site.process_abandoned().await;
        let days = "cast(count(distinct day) as text) || ' ' || coalesce(max(day), '')";
        site.database.text(&format!("select {days} from cms_formfunnel_daily")).await
    };
    assert_eq!(days().await, "2 2026-11-22", "as it was published, not as it is drawn");
    site.publish(funnel.id).await;
    completed(&site, "Eve").await;
    assert_eq!(days().await, "2 2026-11-22");
    counted(&site, [("started", 5)]).await;
}

/// Copies of the answers go with old submissions, unless one is still on its way.
#[tokio::test]
async fn payloads_go_with_old_submissions() {
    let site = webhooks::site().await;
    let receiver = Receiver::start(200).await;
    site.leads(json!({"settings_json": {"retention_days": 1}})).await;
    site.webhook(&receiver.url, &["formfunnel.completed"]).await;
    completed(&site, "Yve").await;
    for _ in 0..4 {
        site.worker().step().await.unwrap();
    }
    completed(&site, "Zoi").await;
    // No letters of hexadecimal numbers: ids and tokens stand in the bodies too.
    let told = async |name: &str| {
        site.database.rows(&format!("cms_events where body like '%{name}%'")).await
    };
    assert_eq!((told("Yve").await, told("Zoi").await), (2, 2));
    site.clock.advance(2 * DAY);
    let clean = async || site.cms.funnels().cleanup_old_submissions().await.unwrap();
    assert_eq!(clean().await, 1);
    assert_eq!((told("Yve").await, told("Zoi").await), (0, 2), "Zoi's is on its way");
    for _ in 0..4 {
        site.worker().step().await.unwrap();
    }
    assert_eq!((clean().await, told("Zoi").await), (1, 0));
    assert_eq!(site.database.rows("cms_webhook_queue").await, 0);
    counted(&site, [("started", 2), ("completed", 2)]).await;
}

/// Two servers remove and delete at once: nothing is counted twice, nobody waits for ever.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn all_who_remove_pass_one_at_a_time() {
    let site = Site::open().await;
    site.leads(json!({"settings_json": {"retention_days": 1}})).await;
    let mut ids = Vec::new();
    for _ in 0..12 {
        ids.push(completed(&site, "Ada").await);
    }
    site.copy_visits(50, "1 = 1", "status, day, completed_at").await;
    site.clock.advance(2 * DAY);
    let other = another(&site).await;
    let deletes = async {
        for id in &ids[..4] {
            site.staff("submission_delete", json!({"id": id})).send().await;
        }
    };
    let bulk = site.staff("submissions_bulk", json!({"op": "delete", "ids": &ids[4..8]})).send();
    let cleanup = async |site: &Site| site.cms.funnels().cleanup_old_submissions().await.unwrap();
    tokio::join!(cleanup(&site), cleanup(&other), other.process_abandoned(), deletes, bulk,);
    cleanup(&site).await;
    other.cms.close().await;
    counted(&site, [("started", 12 * 51), ("completed", 12 * 51)]).await;
    assert_eq!(tally(&site, "inbox", "name = 'new'").await, 12 * 51);
    assert_eq!(site.database.rows("cms_formfunnel_submissions").await, 0);
}
