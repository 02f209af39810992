//! Events of large records: a worker holds as many bodies as have room, and the others wait in the
//! queue.

use crate::support::{Receiver, webhooks::site};

const LANES: i64 = 12;

#[tokio::test]
async fn large_bodies_wait_in_the_queue_for_room() {
    let (site, receiver) = (site().await, Receiver::start(200).await);
    for _ in 0..LANES {
        site.webhook(&receiver.url, &["item.settings.created"]).await;
    }
    // Four for each lane, 2 MiB each: 96 MiB, of which 64 have room.
    let body = match site.database.is_postgres() {
        true => "repeat('x', 2097152)",
        false => "hex(zeroblob(1048576))",
    };
    let numbers = "with recursive n(i) as (select 1 union all select i + 1 from n where i < 48)";
    for insert in [
        format!(
            "insert into cms_events (id, name, body, created_at) \
             select 'e' || n.i, 'large', {body}, 0 from n"
        ),
        format!(
            "insert into cms_webhook_queue (event_id, subscription_id, status, next_retry_at, \
             created_at) select 'e' || n.i, 1 + (n.i % {LANES}), 'pending', 0, 0 from n"
        ),
    ] {
        site.database.run(format!("{numbers} {insert}")).await;
    }
    let mut worker = site.worker();
    assert_eq!(worker.claim().await.unwrap(), 32);
    let waiting = "select count(*) from cms_webhook_queue where status = 'pending'";
    assert_eq!(site.database.count(waiting).await, 16);
    while site.database.count(waiting).await > 0 {
        worker.step().await.unwrap();
    }
    assert_eq!(receiver.deliveries().len(), 48);
}
