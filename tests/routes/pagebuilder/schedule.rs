use cms_core::rfc3339;
use serde_json::json;

use super::{BUILDER, site};
use crate::support::site::NOW;

const MINUTE: i64 = 60_000;

#[tokio::test]
async fn pages_are_published_and_taken_off_at_their_time() {
    let site = site().await;
    let (_, col) = site.row(1).await;
    let widget = site.title(col, "draft").await;
    let (publish, off) = (rfc3339(NOW + 10 * MINUTE), rfc3339(NOW + 20 * MINUTE));
    let planned = json!({"page_id": 1, "publish_at": publish, "take_off_at": off});
    let stored = site.act("schedule", planned).await;
    assert_eq!((&stored["publish_at"], &stored["take_off_at"]), (&json!(publish), &json!(off)));
    assert_eq!(site.draft(1).await.data()["publish_at"], json!(publish));
    // What is published is the draft at that moment.
    site.retitle(widget, "final").await;
    let run = async || {
        site.admin("POST /api/backend/tasks/run?name=schedule").expect(200).await;
        site.cms.pages().run_schedule().await.unwrap()
    };
    assert_eq!(run().await, 0);
    assert_eq!(site.seen(1).await, None);
    site.clock.advance(10 * MINUTE);
    assert_eq!(site.cms.pages().run_schedule().await.unwrap(), 1);
    assert_eq!(site.seen(1).await.unwrap(), ["final"]);
    assert_eq!(site.draft(1).await.data()["publish_at"], json!(null));
    assert_eq!(site.cms.pages().run_schedule().await.unwrap(), 0, "once");
    site.clock.advance(10 * MINUTE);
    assert_eq!(site.cms.pages().run_schedule().await.unwrap(), 1);
    assert_eq!(site.seen(1).await, None);
    let actor = "select count(*) from cms_page_revisions where actor_kind = 'system'";
    assert_eq!(site.database.count(actor).await, 1);
}

/// Nothing ran for a while: what comes later counts.
#[tokio::test]
async fn of_two_times_in_the_past_the_later_counts() {
    for (publish, off, seen) in [(10, 20, false), (20, 10, true)] {
        let site = site().await;
        site.row(1).await;
        let at = |minutes: i64| rfc3339(NOW + minutes * MINUTE);
        let planned = json!({"page_id": 1, "publish_at": at(publish), "take_off_at": at(off)});
        site.act("schedule", planned).await;
        site.clock.advance(60 * MINUTE);
        assert_eq!(site.cms.pages().run_schedule().await.unwrap(), 1);
        assert_eq!(site.seen(1).await.is_some(), seen);
        assert_eq!(site.cms.pages().run_schedule().await.unwrap(), 0);
    }
}

#[tokio::test]
async fn times_that_cannot_be_are_refused() {
    let site = site().await;
    let line = format!("POST {BUILDER}?action=schedule&page_id=1");
    let at = rfc3339(NOW + MINUTE);
    for (body, field) in [
        (json!({"publish_at": "tomorrow"}), "publish_at"),
        (json!({"publish_at": rfc3339(NOW)}), "publish_at"),
        (json!({"publish_at": at, "take_off_at": at}), "take_off_at"),
    ] {
        let refused = site.admin(&line).json(body).refused(422, "validation_failed").await;
        assert_eq!(refused.json()["errors"][0]["field"], field);
    }
    site.admin(&line).json(json!({"page_id": 2})).refused(422, "validation_failed").await;
    // Nothing at all takes both times back.
    site.admin(&line).json(json!({"publish_at": at})).expect(200).await;
    site.admin(&line).json(json!({})).expect(200).await;
    assert_eq!(site.draft(1).await.data()["publish_at"], json!(null));
}
