//! Jobs that a worker has claimed ahead: when they are given back, and what keeps them from being
//! sent.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use cms_core::{Cms, Until};
use serde_json::{Value as Json, json};
use tokio::{sync::watch, task::JoinHandle};

use super::{Answer, Receiver, SENDING, Site, drain, pause, raise, site, subscribe};
use crate::support::{until, webhooks::WEBHOOKS};

/// Jobs of the one lane.
const JOBS: usize = 50;
/// So many are taken at once.
const QUICK: usize = 4;
/// More than a lane may have under way.
const AHEAD: &str = "select count(*) from (select count(*) as n from cms_webhook_queue \
                     where status = 'sending') s where n > 4";

/// A worker that waits for four attempts at a receiver which was quick before, and has claimed
/// ahead.
struct Busy {
    site: Site,
    receiver: Receiver,
    subscription: i64,
    stop: watch::Sender<bool>,
    running: JoinHandle<Until>,
}

impl Busy {
    /// What comes after the quick ones is answered so.
    async fn new(after: impl Fn(usize) -> Answer + Send + Sync + 'static) -> Self {
        let answer = move |n, _: &_| if n < QUICK { Answer::Status(200) } else { after(n) };
        let (site, receiver) = (site().await, Receiver::scripted(answer).await);
        let subscription = subscribe(&site, &receiver.url).await;
        raise(&site, JOBS).await;
        let (stop, stopped) = watch::channel(false);
        let running = tokio::spawn(site.worker().run(stopped, false));
        let busy = Self { site, receiver, subscription, stop, running };
        busy.until(AHEAD, 1).await;
        until("four more", async || busy.receiver.count() >= QUICK + 4).await;
        busy
    }

    async fn until(&self, sql: &str, count: i64) {
        until(sql, async || self.site.database.count(sql).await == count).await;
    }

    async fn end(self) -> (Site, Receiver) {
        self.stop.send_replace(true);
        assert_eq!(self.running.await.unwrap(), Until::Stopped);
        (self.site, self.receiver)
    }
}

fn slow(_: usize) -> Answer {
    Answer::After(Duration::from_millis(600), 200)
}

/// What was quick and four more were sent; the others wait in this status.
fn four_more(waiting: &str) -> Json {
    json!({"delivered": QUICK + 4, waiting: JOBS - QUICK - 4})
}

#[tokio::test]
async fn at_the_stop_they_are_given_back() {
    let (site, receiver) = Busy::new(slow).await.end().await;
    assert_eq!(receiver.count(), QUICK + 4);
    assert_eq!(site.statuses().await, four_more("pending"));
    let untouched = "select count(*) from cms_webhook_queue where status = 'pending' \
                     and retry_count = 0 and lease_until is null \
                     and next_retry_at = created_at";
    assert_eq!(site.database.count(untouched).await, i64::try_from(JOBS - QUICK - 4).unwrap());
}

#[tokio::test]
async fn after_a_failure_none_begins() {
    // Only one of the four fails, and it is the first to end.
    let answer =
        |n| if n == QUICK { Answer::After(Duration::from_millis(50), 500) } else { slow(n) };
    let busy = Busy::new(answer).await;
    busy.until("select count(*) from cms_webhook_queue where status = 'retry'", 1).await;
    // What was not begun is given back with the settlement of the failure, or, if it was claimed at
    // that very moment, as soon as it is there.
    until("given back", async || busy.site.database.count(SENDING).await <= 3).await;
    let (site, receiver) = busy.end().await;
    assert_eq!(receiver.count(), QUICK + 4);
    assert_eq!(
        site.statuses().await,
        json!({"delivered": QUICK + 3, "pending": JOBS - QUICK - 4, "retry": 1})
    );
}

#[tokio::test]
async fn a_pause_that_was_answered_is_kept() {
    let busy = Busy::new(slow).await;
    pause(&busy.site, busy.subscription).await;
    busy.until(SENDING, 0).await;
    let (site, receiver) = busy.end().await;
    assert_eq!(receiver.count(), QUICK + 4, "those that were under way");
    assert_eq!(site.statuses().await, four_more("held"));
}

#[tokio::test]
async fn an_edited_address_holds_for_all_that_were_not_begun() {
    let busy = Busy::new(slow).await;
    let other = Receiver::start(200).await;
    let line = format!("{WEBHOOKS}?id={}", busy.subscription);
    busy.site.patch(&line, json!({"url": other.url})).await;
    let delivered = "select count(*) from cms_webhook_queue where status = 'delivered'";
    busy.until(delivered, i64::try_from(JOBS).unwrap()).await;
    let (_site, receiver) = busy.end().await;
    assert_eq!((receiver.count(), other.count()), (QUICK + 4, JOBS - QUICK - 4));
}

#[tokio::test]
async fn a_deleted_subscription_gets_no_more() {
    let busy = Busy::new(slow).await;
    busy.site.delete(&format!("{WEBHOOKS}?id={}", busy.subscription)).await;
    let (site, receiver) = busy.end().await;
    assert_eq!((receiver.count(), site.statuses().await), (QUICK + 4, json!({})));
}

/// The lease of a job that waits would be over before its attempt.
#[tokio::test]
async fn none_waits_for_long() {
    let busy = Busy::new(slow).await;
    busy.site.clock.advance(1_001);
    busy.until(SENDING, 4).await;
    assert_eq!(busy.receiver.count(), QUICK + 4);
    busy.site.clock.advance(-3_600_000);
    let (site, _) = busy.end().await;
    assert_eq!(site.statuses().await, four_more("pending"));
}

/// However many workers there are, and however much they have claimed ahead.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn four_at_once_is_the_most() {
    let (cms, most) = (Arc::new(OnceLock::<Cms>::new()), Arc::new(AtomicU64::new(0)));
    let (here, peak) = (cms.clone(), most.clone());
    let answer = move |_, _: &_| {
        peak.fetch_max(here.get().unwrap().webhooks().under_way(), Ordering::SeqCst);
        Answer::After(Duration::from_millis(2), 200)
    };
    let (site, receiver) = (site().await, Receiver::scripted(answer).await);
    cms.set(site.cms.clone()).ok().unwrap();
    subscribe(&site, &receiver.url).await;
    raise(&site, 300).await;
    drain(&site, 3).await;
    assert_eq!(site.statuses().await, json!({"delivered": 300}));
    assert_eq!((receiver.count(), most.load(Ordering::SeqCst)), (300, 4));
}
