//! Faults of the delivery, by their numbers in docs/faults.md; some with real processes and kills.

mod ahead;
mod lanes;
mod poison;
mod processes;

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use cms_core::Until;
use serde_json::json;
use tokio::sync::watch;

use crate::support::{
    Answer, Delivery, Receiver, Site, until,
    webhooks::{WEBHOOKS, open, site},
};

const SENDING: &str = "select count(*) from cms_webhook_queue where status = 'sending'";

/// How often each event arrived.
fn arrivals(receivers: &[&Receiver]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for delivery in receivers.iter().flat_map(|receiver| receiver.deliveries()) {
        *counts.entry(delivery.headers["webhook-id"].clone()).or_insert(0) += 1;
    }
    counts
}

async fn subscribe(site: &Site, url: &str) -> i64 {
    site.webhook(url, &["order.created"]).await["id"].as_i64().unwrap()
}

/// Puts a webhook on hold.
async fn pause(site: &Site, id: i64) {
    site.patch(&format!("{WEBHOOKS}?id={id}"), json!({"active": false})).await;
}

/// Raises so many events in one change.
async fn raise(site: &Site, count: usize) {
    let mut change = site.cms.change(cms_core::Actor::System).await.unwrap();
    for n in 0..count {
        change.emit("order.created", json!({"order": {"id": n}})).await.unwrap();
    }
    change.commit().await.unwrap();
}

/// Workers until nothing is due; the clock of the site stands.
async fn drain(site: &Site, workers: usize) {
    let (_stop, stopped) = watch::channel(false);
    let running = (0..workers).map(|_| tokio::spawn(site.worker().run(stopped.clone(), true)));
    for outcome in futures_util::future::join_all(running).await {
        assert_eq!(outcome.unwrap(), Until::Drained);
    }
}

/// 4: workers that run at the same time share the work and double nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn four_workers_double_nothing() {
    let (site, receiver) = (site().await, Receiver::start(200).await);
    for _ in 0..5 {
        subscribe(&site, &receiver.url).await;
    }
    for _ in 0..4 {
        raise(&site, 50).await;
    }
    let _second = site.worker();
    drain(&site, 4).await;
    assert_eq!(receiver.count(), 1000);
    assert!(arrivals(&[&receiver]).values().all(|count| *count == 5));
    assert_eq!(site.statuses().await, json!({"delivered": 1000}));
}

/// Rows wait as their subscription says, although an event or a lease overlapped with its change.
#[tokio::test]
async fn rows_that_wait_in_the_wrong_state_are_found() {
    let (site, receiver) = (site().await, Receiver::start(200).await);
    let id = subscribe(&site, &receiver.url).await;
    let set = async |status: &str| {
        site.database.run(format!("update cms_webhook_queue set status = {status}")).await;
    };
    let held = "select count(*) from cms_webhook_queue where status = 'held'";
    // An event that saw the subscription switched off, and committed after it was switched on.
    raise(&site, 1).await;
    set("'held'").await;
    let mut worker = site.worker();
    assert_eq!(worker.step().await.unwrap().done, 1);
    // The other way round.
    raise(&site, 1).await;
    pause(&site, id).await;
    set("'pending' where status = 'held'").await;
    site.clock.advance(5_000);
    worker.step().await.unwrap();
    assert_eq!(site.database.count(held).await, 1);
    // A worker died that held a row of a subscription which was switched off meanwhile.
    set("'sending', lease_until = 1 where status = 'held'").await;
    worker.step().await.unwrap();
    assert_eq!(site.database.count(held).await, 1);
    assert_eq!(receiver.count(), 1);
    site.post(&format!("{WEBHOOKS}/activate?id={id}"), json!({"held": "replay"})).await;
    assert_eq!(worker.step().await.unwrap().done, 1);
}

/// 6: the clock is put forward and back by an hour while jobs are under way, failed and waiting.
#[tokio::test]
async fn a_clock_that_jumps_neither_strands_nor_hastens_a_job() {
    for jump in [3_600_000, -3_600_000] {
        let failing = Arc::new(AtomicBool::new(true));
        let fails = failing.clone();
        let answer = move |_, _: &Delivery| {
            Answer::Status(if fails.load(Ordering::SeqCst) { 500 } else { 200 })
        };
        let (site, receiver) = (site().await, Receiver::scripted(answer).await);
        subscribe(&site, &receiver.url).await;
        raise(&site, 1).await;
        let mut worker = site.worker();
        assert_eq!(worker.step().await.unwrap().retried, 1);
        // Its lease is given before the jump; the worker dies with it.
        failing.store(false, Ordering::SeqCst);
        site.clock.advance(1000);
        raise(&site, 1).await;
        let mut dying = site.worker();
        assert_eq!(dying.claim().await.unwrap(), 1);
        until("they are sent", async || receiver.count() >= 2).await;
        drop(dying);
        site.clock.advance(jump);
        // No row stays leased for longer than a lease, whatever the clock says now.
        let (mut lease, began) = (0, site.clock.now());
        while site.database.count(SENDING).await > 0 {
            assert!(lease <= 30_000, "leased until {lease} ms after the jump");
            worker.step().await.unwrap();
            site.clock.advance(1000);
            lease += 1000;
        }
        // What failed is tried again once, at its own time: no storm, and no later than the clock
        // was put back.
        let due = "select coalesce(max(next_retry_at), 0) from cms_webhook_queue where status = \
                   'retry'";
        let wait = (site.database.count(due).await - site.clock.now()).max(0);
        assert!(wait <= 30_000 - jump.min(0), "due in {wait} ms");
        site.clock.advance(wait);
        for _ in 0..2 {
            worker.step().await.unwrap();
        }
        assert_eq!(site.statuses().await, json!({"delivered": 2}), "{jump}");
        assert_eq!(receiver.count(), 4, "{jump}: two attempts of each");
        // The receiver is told the time of the attempt, by the clock as it is then.
        for delivery in &receiver.deliveries()[2..] {
            let sent: i64 = delivery.headers["webhook-timestamp"].parse().unwrap();
            assert!((began / 1000..=site.clock.now() / 1000).contains(&sent), "{jump}: {sent}");
        }
    }
}

/// 11: one event for 10,000 subscriptions is queued once each, also when the change is tried again
/// after a crash.
#[tokio::test]
async fn one_event_for_ten_thousand_subscriptions() {
    let site = site().await;
    let webhooks = "insert into cms_webhook_subscriptions (name, url, events, secret, \
                    custom_headers, max_retries, active, created_at) select 'n', \
                    'https://hooks.example.org/', '[\"order.created\"]', '', '{}', 5, true, 0";
    site.database.fill(webhooks, 10_000).await;
    let interests = "insert into cms_webhook_interests (subscription_id, event) \
                     select id, 'order.created' from cms_webhook_subscriptions";
    site.database.run(interests).await;
    let mut change = site.cms.change(cms_core::Actor::System).await.unwrap();
    change.emit("order.created", json!({"order": {"id": 7}})).await.unwrap();
    drop(change);
    assert_eq!(site.statuses().await, json!({}), "a crash before the commit leaves nothing");
    let began = Instant::now();
    raise(&site, 1).await;
    println!("one event to 10,000 subscriptions: {:?} in the caller", began.elapsed());
    assert_eq!(site.statuses().await, json!({"pending": 10_000}));
}

/// 20: what happens to jobs of a subscription that is edited, paused or deleted while they are
/// sent.
#[tokio::test]
async fn a_subscription_is_deleted_while_it_is_sent_to() {
    for (status, outcome, left) in [(200, "delivered", "delivered"), (500, "status", "held")] {
        let (site, receiver) = (site().await, Receiver::start(status).await);
        let first = subscribe(&site, &receiver.url).await;
        let second = subscribe(&site, &receiver.url).await;
        raise(&site, 2).await;
        let mut worker = site.worker();
        assert_eq!(worker.claim().await.unwrap(), 4);
        site.delete(&format!("{WEBHOOKS}?id={first}")).await;
        pause(&site, second).await;
        worker.step().await.unwrap();
        let finished = json!({left: 2});
        assert_eq!(site.statuses().await, finished, "what was under way is finished");
        let ended = format!("cms_webhook_deliveries where outcome = '{outcome}'");
        assert_eq!(site.database.rows(&ended).await, 4, "and logged as it ended: {outcome}");
        assert_eq!(site.database.count(SENDING).await, 0);
    }
}

/// 5: a worker that stood still for longer than its lease changes nothing any more.
#[tokio::test]
async fn a_lost_lease_is_fenced() {
    let site = site().await;
    let receiver = Receiver::start(200).await;
    let id = subscribe(&site, &receiver.url).await;
    raise(&site, 1).await;
    // The first worker has claimed and sent, but did not write it down yet.
    let mut slow = site.worker();
    assert_eq!(slow.claim().await.unwrap(), 1);
    until("it is sent", async || receiver.count() > 0).await;
    let mut second = site.worker();
    assert_eq!(second.step().await.unwrap().done, 0, "the lease holds");
    site.clock.advance(30_000);
    assert_eq!(second.step().await.unwrap().done, 1, "the lease is over");
    let stale = slow.step().await.unwrap();
    assert_eq!((stale.done, stale.lost), (0, 1));
    assert_eq!(receiver.count(), 2, "one duplicate, of the attempt that was under way");
    assert_eq!(site.statuses().await, json!({"delivered": 1}));
    let count = format!("select failure_count from cms_webhook_subscriptions where id = {id}");
    assert_eq!(site.database.count(&count).await, 0);
}

/// 5, alone: the worker that stood still claims the row again itself, and both attempts end at the
/// same moment.
#[tokio::test]
async fn a_row_that_one_worker_holds_twice_is_written_down() {
    let (site, receiver) = (
        site().await,
        Receiver::scripted(|_, _| Answer::After(Duration::from_millis(300), 200)).await,
    );
    subscribe(&site, &receiver.url).await;
    raise(&site, 1).await;
    let mut worker = site.worker();
    assert_eq!(worker.claim().await.unwrap(), 1);
    site.clock.advance(30_000);
    assert_eq!(worker.claim().await.unwrap(), 1);
    until("both have ended", async || site.cms.webhooks().under_way() == 0).await;
    let settled = worker.step().await.unwrap();
    assert_eq!((settled.done, settled.lost, receiver.count()), (1, 1, 2));
    assert_eq!(site.statuses().await, json!({"delivered": 1}));
}

/// 5, with failures: what a worker hears that stood still is not counted; its attempts ran out of
/// time because of itself.
#[tokio::test]
async fn a_lost_lease_counts_no_failure() {
    let (site, receiver) = (site().await, Receiver::start(500).await);
    let id = subscribe(&site, &receiver.url).await;
    raise(&site, 4).await;
    let (mut slow, mut second) = (site.worker(), site.worker());
    assert_eq!(slow.claim().await.unwrap(), 4);
    until("they are sent", async || receiver.count() >= 4).await;
    site.clock.advance(30_000);
    assert_eq!(second.step().await.unwrap().retried, 4);
    let failures = format!("select failure_count from cms_webhook_subscriptions where id = {id}");
    assert_eq!(site.database.count(&failures).await, 4);
    assert_eq!(slow.step().await.unwrap().lost, 4);
    for count in [
        &*failures,
        "select count(*) from cms_webhook_deliveries where outcome = 'lease_lost'",
        "select cast(sum(retry_count) as bigint) from cms_webhook_queue",
    ] {
        assert_eq!(site.database.count(count).await, 4, "{count}");
    }
}
