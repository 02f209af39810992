use cms_core::rfc3339;
use serde_json::json;

use super::{BUILDER, site};
use crate::support::{Site, faults, has, site::NOW};

const MINUTE: i64 = 60_000;

/// What is due; how many pages that were.
async fn run(site: &Site) -> u64 {
    site.cms.pages().run_schedule().await.unwrap()
}

#[tokio::test]
async fn pages_are_published_and_taken_off_at_their_time() {
    let site = site().await;
    let (_, widget) = site.headline(1, "draft").await;
    let (publish, off) = (rfc3339(NOW + 10 * MINUTE), rfc3339(NOW + 20 * MINUTE));
    let planned = json!({"page_id": 1, "publish_at": publish, "take_off_at": off});
    let stored = site.act("schedule", planned).await;
    has!(stored, {"publish_at": publish, "take_off_at": off});
    assert_eq!(site.draft(1).await.data()["publish_at"], json!(publish));
    // What is published is the draft at that moment.
    site.retitle(widget, "final").await;
    site.admin("POST /api/backend/tasks/run?name=schedule").expect(200).await;
    assert_eq!((run(&site).await, site.seen(1).await), (0, None));
    site.clock.advance(10 * MINUTE);
    assert_eq!((run(&site).await, site.seen(1).await), (1, Some(vec!["final".to_owned()])));
    assert_eq!(site.draft(1).await.data()["publish_at"], json!(null));
    assert_eq!(run(&site).await, 0, "once");
    site.clock.advance(10 * MINUTE);
    assert_eq!((run(&site).await, site.seen(1).await), (1, None));
    assert_eq!(site.database.rows("cms_page_revisions where actor_kind = 'system'").await, 1);
}

/// All planned times are listed at once, a page at a time, for whoever may see pages.
#[tokio::test]
async fn planned_times_are_listed() {
    let site = site().await;
    let list = format!("{BUILDER}?action=schedule");
    assert_eq!(site.get(&list).await, json!([]));
    let at = rfc3339(NOW + 10 * MINUTE);
    site.act("schedule", json!({"page_id": 2, "take_off_at": at})).await;
    site.act("schedule", json!({"page_id": 1, "publish_at": at})).await;
    let first = json!({"page_id": 1, "publish_at": at, "take_off_at": null});
    let second = json!({"page_id": 2, "publish_at": null, "take_off_at": at});
    assert_eq!(site.get(&list).await, json!([first, second]));
    let page = site.admin(&format!("GET {list}&limit=1")).expect(200).await.json();
    assert_eq!(page["data"], json!([first]));
    let next = page["meta"]["next"].as_str().expect("a cursor");
    assert_eq!(site.get(&format!("{list}&limit=1&cursor={next}")).await, json!([second]));
    site.clock.advance(10 * MINUTE);
    run(&site).await;
    assert_eq!(site.get(&list).await, json!([]), "they are over");
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
        assert_eq!((run(&site).await, site.seen(1).await.is_some()), (1, seen), "{publish} {off}");
        assert_eq!(run(&site).await, 0);
    }
}

/// Who does by hand what was planned has done it, unless the other time comes before it.
#[tokio::test]
async fn what_is_done_by_hand_is_no_longer_planned() {
    let site = site().await;
    let (_, widget) = site.headline(1, "one").await;
    let at = |minutes: i64| json!(rfc3339(NOW + minutes * MINUTE));
    let plan = async |publish: i64, off: i64| {
        let planned = json!({"page_id": 1, "publish_at": at(publish), "take_off_at": at(off)});
        site.act("schedule", planned).await;
    };
    let times = async || {
        let draft = site.draft(1).await.data();
        (draft["publish_at"].clone(), draft["take_off_at"].clone())
    };
    let by_builder = async |publishes: bool| {
        let action = if publishes { "publish" } else { "take_off" };
        site.act(action, json!({"page_id": 1})).await;
    };
    let none = json!(null);
    for is_column in [false, true] {
        for (publish, off, publishes, left) in [
            (10, 20, true, (none.clone(), at(20))),
            (20, 10, false, (at(20), none.clone())),
            (20, 10, true, (at(20), at(10))),
            (10, 20, false, (at(10), at(20))),
        ] {
            plan(publish, off).await;
            if is_column {
                let item = json!({"published": publishes});
                site.patch("/api/backend/item?table=pages&id=1", item).await;
            } else {
                by_builder(publishes).await;
            }
            assert_eq!(times().await, left, "{publish} {off} {publishes} {is_column}");
        }
    }
    // What stays planned happens.
    site.clock.advance(10 * MINUTE);
    assert_eq!((run(&site).await, site.seen(1).await.is_some()), (1, true));
    site.clock.advance(10 * MINUTE);
    assert_eq!((run(&site).await, site.seen(1).await), (1, None));
    // Also of what visitors see already.
    by_builder(true).await;
    plan(30, 40).await;
    by_builder(true).await;
    assert_eq!(times().await, (none.clone(), at(40)));
    plan(40, 30).await;
    let tag = site.draft(1).await.header("etag").to_owned();
    by_builder(true).await;
    assert_eq!(times().await, (at(40), at(30)));
    assert_eq!(site.draft(1).await.header("etag"), tag, "nothing was done");
    // What is overdue undoes nothing.
    plan(30, 40).await;
    site.clock.advance(60 * MINUTE);
    by_builder(true).await;
    assert_eq!(times().await, (none.clone(), none));
    site.retitle(widget, "not yet").await;
    assert_eq!((run(&site).await, site.seen(1).await), (0, Some(vec!["one".to_owned()])));
}

/// Who has read the draft before is told what made it another.
#[tokio::test]
async fn a_time_that_changes_nothing_is_an_edit_that_is_noted() {
    let site = site().await;
    let (_, widget) = site.headline(1, "one").await;
    site.act("publish", json!({"page_id": 1})).await;
    let at = rfc3339(NOW + MINUTE);
    site.act("schedule", json!({"page_id": 1, "publish_at": at})).await;
    site.act("schedule", json!({"page_id": 2, "take_off_at": at})).await;
    let tag = site.draft(1).await.header("etag").to_owned();
    let rev = async |page| site.draft(page).await.data()["rev"].as_i64().unwrap();
    let before = (rev(1).await, rev(2).await);
    site.clock.advance(MINUTE);
    assert_eq!((run(&site).await, run(&site).await), (2, 0));
    assert_eq!((rev(1).await, rev(2).await), (before.0 + 1, before.1 + 1));
    let edit = site.admin(&format!("PATCH {BUILDER}?widget_id={widget}")).header("if-match", &tag);
    let late = edit.json(json!({"data": {"title": "two"}})).refused(412, "stale").await.json();
    let told = late["errors"][0]["message"].as_str().unwrap();
    assert!(told.starts_with("scheduled (publish_at) by"), "{late}");
    for page in [1, 2] {
        let noted = format!(
            "select count(*) from cms_page_edits where page_id = {page} and action = 'scheduled' \
             and actor_kind = 'system'"
        );
        assert_eq!(site.database.count(&noted).await, 1, "{page}");
    }
    let events = "cms_events where name = 'page.published'";
    assert_eq!(site.database.rows(events).await, 1, "visitors see what they saw");
}

#[tokio::test]
async fn times_that_cannot_be_are_refused() {
    let site = site().await;
    let line = format!("POST {BUILDER}?action=schedule&page_id=1");
    let at = rfc3339(NOW + MINUTE);
    let now = rfc3339(NOW);
    for (body, expected) in [
        (json!({"publish_at": "tomorrow"}), &["publish_at format"][..]),
        (json!({"publish_at": now}), &["publish_at range"]),
        (json!({"publish_at": at, "take_off_at": at}), &["take_off_at range"]),
        (
            json!({"publish_at": "tomorrow", "take_off_at": now}),
            &["publish_at format", "take_off_at range"],
        ),
    ] {
        assert_eq!(faults(&site.invalid(&line, body).await), expected);
    }
    site.invalid(&line, json!({"page_id": 2})).await;
    // Nothing at all takes both times back.
    site.admin(&line).json(json!({"publish_at": at})).expect(200).await;
    site.admin(&line).json(json!({})).expect(200).await;
    assert_eq!(site.draft(1).await.data()["publish_at"], json!(null));
}

/// Pages that fail stay due: they must not keep those behind them from their turn.
#[tokio::test]
async fn all_pages_that_are_due_have_their_turn_in_one_run() {
    let site = site().await;
    let pages = format!(
        "insert into cms_pages (language_short, url_rewrite, title, take_off_at) \
         select 'en', '/due-' || i, 'Due', {NOW}"
    );
    site.database.fill(&pages, 130).await;
    assert_eq!((run(&site).await, run(&site).await), (130, 0));
}
