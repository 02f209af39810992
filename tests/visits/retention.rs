//! Old submissions go; what they counted stays.

use serde_json::json;

use super::{COMPLETED, counters};
use crate::support::{Site, Visit, leads};

const DAY: i64 = 24 * 3_600_000;

async fn left(site: &Site) -> i64 {
    site.database.rows("cms_formfunnel_submissions").await
}

/// The sum of a counter over all days.
async fn sum(site: &Site, counter: &str, of: &str) -> i64 {
    counters::sum(site, counter, &format!("cms_formfunnel_daily where {of}")).await
}

/// Who completes a visit, who stays under way, a program, and an author who tries.
async fn visited(site: &Site) -> Visit<'_> {
    let whole = site.ada(9000).await;
    whole.complete(None).expect(200).await;
    let part = site.visit("leads").await;
    part.answers(json!({"name": "Eve"})).await;
    for column in ["is_spam", "is_test"] {
        let other = site.visit("leads").await;
        other.set(&format!("{column} = (1 = 1)")).await;
    }
    whole
}

async fn clean(site: &Site) -> u64 {
    site.cms.funnels().cleanup_old_submissions().await.unwrap()
}

#[tokio::test]
async fn what_old_submissions_counted_stays() {
    let site = Site::open().await;
    let funnel = site.funnel(leads()).await;
    visited(&site).await;
    site.clock.advance(2 * DAY);
    visited(&site).await;
    site.clock.advance(28 * DAY - 1);
    assert_eq!((clean(&site).await, left(&site).await), (0, 8), "nothing is old");
    site.clock.advance(1);
    let (one, two) = tokio::join!(clean(&site), clean(&site));
    assert_eq!((one + two, left(&site).await), (4, 4));
    let visits = "node_id = 0 and edge_id = 0";
    for (counter, expected) in
        [("started", 2), ("engaged", 2), ("completed", 1), ("abandoned", 1), ("spam", 1)]
    {
        assert_eq!(sum(&site, counter, visits).await, expected, "{counter}");
    }
    for (node, entered, answered, exited) in
        [("who", 2, 2, 0), ("budget", 2, 1, 1), ("call", 1, 1, 0), ("thanks", 1, 1, 0)]
    {
        let of = format!("node_id = {}", funnel.node(node));
        for (counter, expected) in
            [("entered", entered), ("answered", answered), ("exited", exited)]
        {
            assert_eq!(sum(&site, counter, &of).await, expected, "{counter} of {node}");
        }
    }
    assert!(sum(&site, "traversed", "edge_id > 0").await > 0);
    // The next day is added to what is there.
    site.clock.advance(2 * DAY);
    assert_eq!((clean(&site).await, left(&site).await), (4, 0));
    assert_eq!(sum(&site, "started", visits).await, 4);
    let days = "select count(distinct day) from cms_formfunnel_daily";
    assert_eq!(site.database.count(days).await, 2);
    for table in ["events", "uploads"] {
        assert_eq!(site.database.rows(&format!("cms_formfunnel_{table}")).await, 0, "{table}");
    }
}

#[tokio::test]
async fn a_funnel_says_how_long() {
    let site = Site::open().await;
    site.leads(json!({"settings_json": {"retention_days": {"new": 2, "converted": null}}})).await;
    let whole = visited(&site).await;
    whole.set("inbox_status = 'converted'").await;
    site.clock.advance(3 * DAY);
    assert_eq!((clean(&site).await, left(&site).await), (3, 1));
    site.clock.advance(400 * DAY);
    assert_eq!(clean(&site).await, 0, "those that became customers are kept");
    assert!(whole.is(COMPLETED).await);
}

/// Days beyond the time that a visitor may rest. Who has left may come back by the link of a mail.
#[tokio::test]
async fn a_visit_that_can_go_on_is_kept() {
    let site = Site::open().await;
    let settings = json!({"retention_days": 1, "session_ttl_h": 72});
    site.leads(json!({"save_abandoned": 1, "settings_json": settings})).await;
    let (visit, gone) = (site.visit("leads").await, site.visit("leads").await);
    gone.abandon().await;
    let line =
        format!("/api/backend/formfunnel?action=submission_get&id={}", gone.column("id").await);
    let until = cms_core::rfc3339(site.clock.now() + 3 * DAY);
    assert_eq!(site.get(&line).await["kept_until"], json!(until));
    site.clock.advance(2 * DAY);
    site.process_abandoned().await;
    assert_eq!(clean(&site).await, 0);
    visit.answers(json!({"name": "Ada"})).await;
    gone.resume().expect(200).await;
    gone.abandon().await;
    site.clock.advance(3 * DAY - 1);
    assert_eq!(clean(&site).await, 0);
    site.clock.advance(1);
    assert_eq!((clean(&site).await, left(&site).await), (2, 0));
}

#[tokio::test]
async fn a_submission_says_when_it_goes_and_goes_then() {
    let site = Site::open().await;
    let kept = json!({"new": 3, "qualified": 9, "converted": null});
    site.leads(json!({"settings_json": {"retention_days": kept, "session_ttl_h": 120}})).await;
    let begun = site.clock.now();
    let done = async || {
        let visit = site.visit("leads").await;
        visit.answers(json!({"name": "Ada"})).await;
        visit.complete(Some(json!({"budget": 1}))).expect(200).await;
        visit.column("id").await
    };
    let new = done().await;
    let open = site.visit("leads").await.column("id").await;
    let mut expected = vec![(new, Some(3)), (open, Some(5))];
    for (state, days) in [("qualified", Some(9)), ("rejected", Some(30)), ("converted", None)] {
        let id = done().await;
        site.staff("submission_update", json!({"id": id, "inbox_status": state})).expect(200).await;
        expected.push((id, days));
    }
    for (id, days) in &expected {
        let until = days.map(|days| cms_core::rfc3339(begun + days * DAY));
        let line = format!("/api/backend/formfunnel?action=submission_get&id={id}");
        let found = site.get(&line).await;
        assert_eq!(found["kept_until"], json!(until), "{days:?}");
    }
    // The task removes each at that moment, and not before it.
    let mut rows = left(&site).await;
    for days in expected.into_iter().filter_map(|(_, days)| days) {
        site.clock.advance(begun + days * DAY - 1 - site.clock.now());
        assert_eq!((clean(&site).await, left(&site).await), (0, rows), "{days}");
        site.clock.advance(1);
        rows -= 1;
        assert_eq!((clean(&site).await, left(&site).await), (1, rows), "{days}");
    }
    assert_eq!(rows, 1);
}
