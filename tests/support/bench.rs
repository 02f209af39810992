//! What benches share: the support of the tests, whether commits are durable, and the form of a
//! bench over a million rows.
#![expect(
    dead_code,
    unused_imports,
    reason = "each bench uses a part; the integration tests use all of the support"
)]

#[path = "mod.rs"]
pub mod support;

use std::time::{Duration, Instant};

use sqlx::Connection;

use support::{Site, TestDatabase};

/// Whether what was committed is on disk: only then are figures and fault reports worth something.
/// That is `fsync` of the server that `CMS_TEST_DB` names. True without one: SQLite always flushes.
pub async fn durable(server: Option<String>) -> bool {
    let Some(server) = server else { return true };
    let mut connection = sqlx::PgConnection::connect(&server).await.expect("CMS_TEST_DB answers");
    let fsync: String = sqlx::query_scalar("show fsync").fetch_one(&mut connection).await.unwrap();
    fsync == "on"
}

/// Measures on SQLite, and on PostgreSQL where a server is named: a million rows, or
/// `CMS_BENCH_ROWS`.
pub fn on_each_engine(measure: impl AsyncFn(&'static str, TestDatabase, u32)) {
    // `cargo test --benches` builds this too; it has nothing to test.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let given = std::env::var("CMS_BENCH_ROWS").ok().and_then(|text| text.parse().ok());
    let rows = given.unwrap_or(1_000_000);
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        measure("SQLite", TestDatabase::sqlite().await, rows).await;
        if support::database::server().is_some() {
            measure("PostgreSQL", TestDatabase::new().await, rows).await;
        }
    });
}

/// The median time of requests; `line` makes the n-th.
pub async fn median(site: &Site, requests: usize, line: impl Fn(usize) -> String) -> Duration {
    let mut times = Vec::new();
    for n in 0..requests {
        let line = line(n);
        let began = Instant::now();
        site.admin(&line).expect(200).await;
        times.push(began.elapsed());
    }
    times.sort_unstable();
    times[requests / 2]
}
