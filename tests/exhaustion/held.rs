//! Another program holds a row of PostgreSQL in a transaction that it leaves open.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::json;
use sqlx::{Connection, Executor};

use crate::support::Site;

/// More than the pool has connections.
const WRITERS: usize = 24;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_row_that_another_program_holds_stops_only_its_own_writers() {
    let site = Site::open().await;
    let Some(url) = site.database.url.clone() else { return };
    for name in ["held", "free"] {
        let body = json!({"name": name, "value": 1});
        site.admin("POST /api/backend/item?table=settings").json(body).expect(201).await;
    }
    let mut other = sqlx::PgConnection::connect(&url).await.unwrap();
    let hold = "begin; update cms_settings set name = name where name = 'held'";
    other.execute(sqlx::raw_sql(hold)).await.unwrap();

    let patch = |name: &str| format!("PATCH /api/backend/item?table=settings&id={name}");
    let began = Instant::now();
    let writers = join_all((0..WRITERS).map(async |n| {
        site.admin(&patch("held")).json(json!({"value": n})).refused(503, "unavailable").await;
    }));
    let others = async {
        // All connections wait by now.
        let waiting = "select count(*) from pg_stat_activity where application_name = \
                       current_setting('application_name') and wait_event_type = 'Lock'";
        while site.database.count(waiting).await < 10 {
            assert!(began.elapsed() < Duration::from_secs(5), "the writers wait for the row");
        }
        site.admin("GET /api/backend/item?table=settings").expect(200).await;
        site.admin(&patch("free")).json(json!({"value": 2})).expect(200).await;
    };
    tokio::join!(writers, others);
    assert!(began.elapsed() < Duration::from_secs(16), "{:?}", began.elapsed());

    other.execute(sqlx::raw_sql("rollback")).await.unwrap();
    site.admin(&patch("held")).json(json!({"value": 3})).expect(200).await;
}
