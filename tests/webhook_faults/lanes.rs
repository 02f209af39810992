//! 10, 17, 18: receivers that are dead, failing, or down for a while.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use cms_core::settings::Settings;
use tokio::sync::watch;

use super::{by_status, open, raise, site, subscribe};
use crate::support::{Answer, Receiver, Site};

/// Many receivers that answer nobody do not use up the places: each attempt gives its own away
/// after half a second.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_dead_lanes_do_not_delay_a_healthy_one() {
    let change = |settings: &mut Settings| {
        open(settings);
        settings.webhooks.concurrency = 16;
    };
    let site = Site::builder().await.settings(change).open().await;
    let (dead, healthy) =
        (Receiver::scripted(|_, _| Answer::Silence).await, Receiver::start(200).await);
    for _ in 0..20 {
        subscribe(&site, &dead.url).await;
    }
    subscribe(&site, &healthy.url).await;
    raise(&site, 10).await;
    let (stop, stopped) = watch::channel(false);
    let running = tokio::spawn(site.cms.webhooks().worker().run(stopped, false));
    while healthy.count() < 10 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(dead.count() >= 20, "each had its turn");
    let outcomes = site.cms.webhooks().outcomes();
    assert_eq!(
        (outcomes.retried, outcomes.failed),
        (0, 0),
        "all that while not one of the dead ones' time was over"
    );
    running.abort();
    drop(stop);
}

/// 10, small: a dead receiver does not keep the others waiting.
#[tokio::test]
async fn a_dead_lane_does_not_delay_a_healthy_one() {
    let site = Site::builder()
        .await
        .settings(|settings| {
            open(settings);
            settings.webhooks.timeout_s = 2;
        })
        .open()
        .await;
    let (dead, healthy) =
        (Receiver::scripted(|_, _| Answer::Silence).await, Receiver::start(200).await);
    subscribe(&site, &dead.url).await;
    subscribe(&site, &healthy.url).await;
    raise(&site, 200).await;
    let (stop, stopped) = watch::channel(false);
    let began = Instant::now();
    let worker = tokio::spawn(site.cms.webhooks().worker().run(stopped, false));
    while healthy.count() < 200 {
        assert!(began.elapsed() < Duration::from_secs(60), "{} of 200", healthy.count());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(dead.count() <= 4, "the dead one had its four attempts under way: {}", dead.count());
    stop.send_replace(true);
    worker.await.unwrap();
    assert_eq!(
        site.database
            .count("select count(*) from cms_webhook_queue where status = 'sending'")
            .await,
        0
    );
}

/// 17: the breaker opens once, whoever counts.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_breaker_opens_once_with_four_workers() {
    let (site, receiver) = (site().await, Receiver::start(500).await);
    let id = subscribe(&site, &receiver.url).await;
    raise(&site, 50).await;
    let active =
        format!("select count(*) from cms_webhook_subscriptions where id = {id} and active");
    let mut workers = [(); 4].map(|()| site.cms.webhooks().worker());
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
    assert_eq!(
        site.database.count("select count(*) from cms_audit where action = 'disable'").await,
        1
    );
    assert_eq!(by_status(&site).await, BTreeMap::from([("held".to_owned(), 50)]));
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
    let mut worker = site.cms.webhooks().worker();
    for _ in 0..120 {
        worker.step().await.unwrap();
        site.clock.advance(1000);
    }
    assert_eq!(by_status(&site).await, BTreeMap::from([("delivered".to_owned(), 50)]));
    assert_eq!(
        site.database
            .count(&format!(
                "select count(*) from cms_webhook_subscriptions where id = {id} and active"
            ))
            .await,
        1
    );
}
