//! PostgreSQL keeps plans. One that was made while the queue was small must not serve a large queue
//! by reading all of it.

use std::time::{Duration, Instant};

use super::{open, raise, subscribe};
use crate::support::{Receiver, Site};

/// Each connection keeps a plan from the sixth time on.
const BEFORE: i64 = 60;
const AFTER: i64 = 10;
const SETTLED: i64 = 5000;

#[tokio::test]
async fn workers_search_a_queue_that_has_grown_by_key() {
    let (site, receiver) =
        (Site::builder().await.settings(open).open().await, Receiver::start(200).await);
    // SQLite makes its plans without regard to sizes.
    if !site.database.is_postgres() {
        return;
    }
    subscribe(&site, &receiver.url).await;
    let mut worker = site.cms.webhooks().worker();
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
    let began = Instant::now();
    while site.database.count(&told("n_tup_upd")).await < 2 * (BEFORE + AFTER) {
        assert!(
            began.elapsed() < Duration::from_secs(30),
            "the server never told of all deliveries"
        );
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(site.database.count(&told("seq_tup_read")).await < SETTLED);
}
