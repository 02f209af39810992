//! Faults of the delivery, by their numbers in docs/faults.md; some with real processes and kills.

mod ahead;
mod lanes;
mod leases;
mod plans;
mod poison;
mod processes;

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

use cms_core::Until;
use serde_json::json;
use tokio::sync::watch;

use crate::support::{
    Answer, Delivery, Receiver, Site,
    webhooks::{open, site},
};

/// How often each event arrived.
fn arrivals(receivers: &[&Receiver]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for delivery in receivers.iter().flat_map(|receiver| receiver.deliveries()) {
        *counts.entry(delivery.headers["webhook-id"].clone()).or_insert(0) += 1;
    }
    counts
}

async fn subscribe(site: &Site, url: &str) -> i64 {
    let body = json!({"name": "test", "url": url, "events": ["order.created"]});
    site.admin("POST /api/backend/webhooks").json(body).expect(201).await.data()["id"]
        .as_i64()
        .unwrap()
}

/// Raises so many events in one change.
async fn raise(site: &Site, count: usize) {
    let mut change = site.cms.change(cms_core::Actor::System).await.unwrap();
    for n in 0..count {
        change.emit("order.created", json!({"order": {"id": n}})).await.unwrap();
    }
    change.commit().await.unwrap();
}

/// What the queue's rows are in the end.
async fn by_status(site: &Site) -> BTreeMap<String, i64> {
    site.cms.webhooks().depth().await.unwrap().by_status
}

/// Workers until nothing is due; the clock of the site stands.
async fn drain(site: &Site, workers: usize) {
    let (_stop, stopped) = watch::channel(false);
    let running =
        (0..workers).map(|_| tokio::spawn(site.cms.webhooks().worker().run(stopped.clone(), true)));
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
    let _second = site.cms.webhooks().worker();
    drain(&site, 4).await;
    assert_eq!(receiver.count(), 1000);
    assert!(arrivals(&[&receiver]).values().all(|count| *count == 5));
    assert_eq!(by_status(&site).await, BTreeMap::from([("delivered".to_owned(), 1000)]));
}

/// Rows wait as their subscription says, although an event or a lease overlapped with its change.
#[tokio::test]
async fn rows_that_wait_in_the_wrong_state_are_found() {
    let (site, receiver) = (site().await, Receiver::start(200).await);
    let id = subscribe(&site, &receiver.url).await;
    let status = "select count(*) from cms_webhook_queue where status = ";
    // An event that saw the subscription switched off, and committed after it was switched on.
    raise(&site, 1).await;
    site.database.run("update cms_webhook_queue set status = 'held'".to_owned()).await;
    let mut worker = site.cms.webhooks().worker();
    assert_eq!(worker.step().await.unwrap().done, 1);
    // The other way round.
    raise(&site, 1).await;
    site.admin(&format!("PATCH /api/backend/webhooks?id={id}"))
        .json(json!({"active": false}))
        .expect(200)
        .await;
    site.database
        .run("update cms_webhook_queue set status = 'pending' where status = 'held'".to_owned())
        .await;
    site.clock.advance(5_000);
    worker.step().await.unwrap();
    assert_eq!(site.database.count(&format!("{status} 'held'")).await, 1);
    // A worker died that held a row of a subscription which was switched off meanwhile.
    site.database
        .run(
            "update cms_webhook_queue set status = 'sending', lease_until = 1 \
             where status = 'held'"
                .to_owned(),
        )
        .await;
    worker.step().await.unwrap();
    assert_eq!(site.database.count(&format!("{status} 'held'")).await, 1);
    assert_eq!(receiver.count(), 1);
    site.admin(&format!("POST /api/backend/webhooks/activate?id={id}"))
        .json(json!({"held": "replay"}))
        .expect(200)
        .await;
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
        let mut worker = site.cms.webhooks().worker();
        assert_eq!(worker.step().await.unwrap().retried, 1);
        // Its lease is given before the jump; the worker dies with it.
        failing.store(false, Ordering::SeqCst);
        site.clock.advance(1000);
        raise(&site, 1).await;
        let mut dying = site.cms.webhooks().worker();
        assert_eq!(dying.claim().await.unwrap(), 1);
        while receiver.count() < 2 {
            tokio::task::yield_now().await;
        }
        drop(dying);
        site.clock.advance(jump);
        // No row stays leased for longer than a lease, whatever the clock says now.
        let (mut lease, began) = (0, site.clock.now());
        while site
            .database
            .count("select count(*) from cms_webhook_queue where status = 'sending'")
            .await
            > 0
        {
            assert!(lease <= 30_000, "leased until {lease} ms after the jump");
            worker.step().await.unwrap();
            site.clock.advance(1000);
            lease += 1000;
        }
        // What failed is tried again once, at its own time: no storm, and no later than the clock
        // was put back.
        let due = site
            .database
            .count(
                "select coalesce(max(next_retry_at), 0) from cms_webhook_queue \
                 where status = 'retry'",
            )
            .await;
        let wait = (due - site.clock.now()).max(0);
        assert!(wait <= 30_000 - jump.min(0), "due in {wait} ms");
        site.clock.advance(wait);
        for _ in 0..2 {
            worker.step().await.unwrap();
        }
        assert_eq!(by_status(&site).await, BTreeMap::from([("delivered".to_owned(), 2)]), "{jump}");
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
    site.database
        .run(
            "with recursive n(i) as (select 1 union all select i + 1 from n where i < 10000) \
             insert into cms_webhook_subscriptions (name, url, events, secret, custom_headers, \
             max_retries, active, created_at) \
             select 'n', 'https://hooks.example.org/', '[\"order.created\"]', '', '{}', 5, true, \
             0 from n; \
             insert into cms_webhook_interests (subscription_id, event) \
             select id, 'order.created' from cms_webhook_subscriptions"
                .to_owned(),
        )
        .await;
    let mut change = site.cms.change(cms_core::Actor::System).await.unwrap();
    change.emit("order.created", json!({"order": {"id": 7}})).await.unwrap();
    drop(change);
    assert_eq!(by_status(&site).await, BTreeMap::new(), "a crash before the commit leaves nothing");
    let began = Instant::now();
    raise(&site, 1).await;
    println!("one event to 10,000 subscriptions: {:?} in the caller", began.elapsed());
    assert_eq!(by_status(&site).await, BTreeMap::from([("pending".to_owned(), 10_000)]));
}

/// 20: what happens to jobs of a subscription that is edited, paused or deleted while they are
/// sent.
#[tokio::test]
async fn a_subscription_is_deleted_while_it_is_sent_to() {
    let (site, receiver) = (site().await, Receiver::start(200).await);
    let (first, second) =
        (subscribe(&site, &receiver.url).await, subscribe(&site, &receiver.url).await);
    raise(&site, 2).await;
    let mut worker = site.cms.webhooks().worker();
    assert_eq!(worker.claim().await.unwrap(), 4);
    site.admin(&format!("DELETE /api/backend/webhooks?id={first}")).expect(204).await;
    site.admin(&format!("PATCH /api/backend/webhooks?id={second}"))
        .json(json!({"active": false}))
        .expect(200)
        .await;
    worker.step().await.unwrap();
    assert_eq!(
        by_status(&site).await,
        BTreeMap::from([("delivered".to_owned(), 2)]),
        "what was under way is finished"
    );
    assert_eq!(
        site.database
            .count("select count(*) from cms_webhook_queue where status = 'sending'")
            .await,
        0
    );
}
