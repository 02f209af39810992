//! 10, 17, 18: receivers that are dead, failing, or down for a while.

use cms_core::settings::Settings;
use serde_json::json;
use tokio::sync::watch;

use super::{SENDING, open, raise, site, subscribe};
use crate::support::{Answer, Receiver, Site, until};

/// Many receivers that answer nobody do not use up the places: each attempt gives its own away
/// after half a second.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_dead_lanes_do_not_delay_a_healthy_one() {
    let change = |settings: &mut Settings| {
        open(settings);
        settings.webhooks.concurrency = 16;
    };
    let site = Site::with(change).await;
    let (dead, healthy) =
        (Receiver::scripted(|_, _| Answer::Silence).await, Receiver::start(200).await);
    for _ in 0..20 {
        subscribe(&site, &dead.url).await;
    }
    subscribe(&site, &healthy.url).await;
    raise(&site, 10).await;
    let (stop, stopped) = watch::channel(false);
    let running = tokio::spawn(site.worker().run(stopped, false));
    until("the healthy one has all", async || healthy.count() >= 10).await;
    assert!(dead.count() >= 20, "each had its turn");
    let outcomes = site.cms.webhooks().outcomes();
    let failures = (outcomes.retried, outcomes.failed);
    assert_eq!(failures, (0, 0), "all that while not one of the dead ones' time was over");
    running.abort();
    drop(stop);
}

/// 10, small: a dead receiver does not keep the others waiting.
#[tokio::test]
async fn a_dead_lane_does_not_delay_a_healthy_one() {
    let change = |settings: &mut Settings| {
        open(settings);
        settings.webhooks.timeout_s = 2;
    };
    let site = Site::with(change).await;
    let (dead, healthy) =
        (Receiver::scripted(|_, _| Answer::Silence).await, Receiver::start(200).await);
    subscribe(&site, &dead.url).await;
    subscribe(&site, &healthy.url).await;
    raise(&site, 200).await;
    let (stop, stopped) = watch::channel(false);
    let worker = tokio::spawn(site.worker().run(stopped, false));
    until("the healthy one has all", async || healthy.count() >= 200).await;
    assert!(dead.count() <= 4, "the dead one had its four attempts under way: {}", dead.count());
    stop.send_replace(true);
    worker.await.unwrap();
    assert_eq!(site.database.count(SENDING).await, 0);
}

/// 17: the breaker opens once, whoever counts.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_breaker_opens_once_with_four_workers() {
    let (site, receiver) = (site().await, Receiver::start(500).await);
    let id = subscribe(&site, &receiver.url).await;
    raise(&site, 50).await;
    let active =
        format!("select count(*) from cms_webhook_subscriptions where id = {id} and active");
    let mut workers = [(); 4].map(|()| site.worker());
    while site.database.count(&active).await == 1 {
        assert!(receiver.count() < 14);
        for outcome in
            futures_util::future::join_all(workers.iter_mut().map(|worker| worker.step())).await
        {
            outcome.unwrap();
        }
        site.clock.advance(1000);
    }
    assert_eq!(receiver.count(), 10);
    assert_eq!(site.database.rows("cms_audit where action = 'disable'").await, 1);
    assert_eq!(site.statuses().await, json!({"held": 50}));
}

/// 18: fifty jobs, a receiver that is down for three seconds: nothing is switched off, everything
/// arrives.
#[tokio::test]
async fn a_short_outage_is_survived() {
    let site = site().await;
    let down_until = site.clock.now() + 3000;
    let clock = site.clock.clone();
    let receiver = Receiver::scripted(move |_, _| {
        if clock.now() < down_until { Answer::HangUp } else { Answer::Status(200) }
    })
    .await;
    let id = subscribe(&site, &receiver.url).await;
    raise(&site, 50).await;
    let mut worker = site.worker();
    for _ in 0..120 {
        worker.step().await.unwrap();
        site.clock.advance(1000);
    }
    assert_eq!(site.statuses().await, json!({"delivered": 50}));
    assert_eq!(site.subscription(&json!(id)).await["active"], true);
}

/// Each connection keeps a plan from the sixth time on.
const BEFORE: i64 = 60;
const AFTER: i64 = 10;
const SETTLED: i64 = 5000;

/// PostgreSQL keeps plans. One that was made while the queue was small must not serve a large queue
/// by reading all of it.
#[tokio::test]
async fn workers_search_a_queue_that_has_grown_by_key() {
    let (site, receiver) = (site().await, Receiver::start(200).await);
    // SQLite makes its plans without regard to sizes.
    if !site.database.is_postgres() {
        return;
    }
    subscribe(&site, &receiver.url).await;
    let mut worker = site.worker();
    let mut deliver = async || {
        raise(&site, 1).await;
        assert_eq!(worker.step().await.unwrap().done, 1);
    };
    for _ in 0..BEFORE {
        deliver().await;
    }
    let settled = format!(
        "insert into cms_webhook_queue (event_id, subscription_id, status, next_retry_at, \
         created_at, settled_at) \
         select '', 0, 'delivered', 0, 0, 0 from generate_series(1, {SETTLED})"
    );
    site.database.run(settled).await;
    for _ in 0..AFTER {
        deliver().await;
    }
    // Servers tell what they did when their connections end; each delivery claims and settles a
    // row.
    site.cms.close().await;
    let told = |column: &str| {
        format!(
            "select {column} from pg_stat_user_tables where schemaname = current_schema() \
             and relname = 'cms_webhook_queue'"
        )
    };
    let updated = async || site.database.count(&told("n_tup_upd")).await;
    until("the server tells of all", async || updated().await >= 2 * (BEFORE + AFTER)).await;
    assert!(site.database.count(&told("seq_tup_read")).await < SETTLED);
}
