//! 5: a worker that lost its leases changes nothing any more.

use std::{collections::BTreeMap, time::Duration};

use super::{by_status, raise, site, subscribe};
use crate::support::{Answer, Receiver};

/// 5: a worker that stood still for longer than its lease changes nothing any more.
#[tokio::test]
async fn a_lost_lease_is_fenced() {
    let site = site().await;
    let receiver = Receiver::start(200).await;
    let id = subscribe(&site, &receiver.url).await;
    raise(&site, 1).await;
    // The first worker has claimed and sent, but did not write it down yet.
    let mut slow = site.cms.webhooks().worker();
    assert_eq!(slow.claim().await.unwrap(), 1);
    while receiver.count() == 0 {
        tokio::task::yield_now().await;
    }
    let mut second = site.cms.webhooks().worker();
    assert_eq!(second.step().await.unwrap().done, 0, "the lease holds");
    site.clock.advance(30_000);
    assert_eq!(second.step().await.unwrap().done, 1, "the lease is over");
    let stale = slow.step().await.unwrap();
    assert_eq!((stale.done, stale.lost), (0, 1));
    assert_eq!(receiver.count(), 2, "one duplicate, of the attempt that was under way");
    assert_eq!(by_status(&site).await, BTreeMap::from([("delivered".to_owned(), 1)]));
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
    let mut worker = site.cms.webhooks().worker();
    assert_eq!(worker.claim().await.unwrap(), 1);
    site.clock.advance(30_000);
    assert_eq!(worker.claim().await.unwrap(), 1);
    while site.cms.webhooks().under_way() > 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let settled = worker.step().await.unwrap();
    assert_eq!((settled.done, settled.lost, receiver.count()), (1, 1, 2));
    assert_eq!(by_status(&site).await, BTreeMap::from([("delivered".to_owned(), 1)]));
}

/// 5, with failures: what a worker hears that stood still is not counted; its attempts ran out of
/// time because of itself.
#[tokio::test]
async fn a_lost_lease_counts_no_failure() {
    let (site, receiver) = (site().await, Receiver::start(500).await);
    let id = subscribe(&site, &receiver.url).await;
    raise(&site, 4).await;
    let (mut slow, mut second) = (site.cms.webhooks().worker(), site.cms.webhooks().worker());
    assert_eq!(slow.claim().await.unwrap(), 4);
    while receiver.count() < 4 {
        tokio::task::yield_now().await;
    }
    site.clock.advance(30_000);
    assert_eq!(second.step().await.unwrap().retried, 4);
    let failures = format!("select failure_count from cms_webhook_subscriptions where id = {id}");
    assert_eq!(site.database.count(&failures).await, 4);
    assert_eq!(slow.step().await.unwrap().lost, 4);
    assert_eq!(site.database.count(&failures).await, 4);
    assert_eq!(
        site.database
            .count("select count(*) from cms_webhook_deliveries where outcome = 'lease_lost'")
            .await,
        4
    );
    assert_eq!(
        site.database.count("select cast(sum(retry_count) as bigint) from cms_webhook_queue").await,
        4
    );
}
