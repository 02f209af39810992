//! Lists over a million rows beside a read by id, on the database that `CMS_TEST_DB` names or on
//! SQLite. Ignored by default; prints a table of times:
//!
//! ```text
//! cargo nextest run --release -p cms-tests --run-ignored only --no-capture -E 'test(/million/)'
//! .ci/postgres cargo nextest run --release -p cms-tests --run-ignored only --no-capture \
//!     -E 'test(/million/)'
//! ```

use std::time::{Duration, Instant};

use cms_core::{items::Query, plugins::Manifest};
use serde_json::{Value as Json, json};

use crate::support::{Site, TestDatabase};

const ROWS: u32 = 1_000_000;
/// Requests of each kind; the median counts.
const TIMES: usize = 101;
/// What a page may cost, in reads by id.
const MOST: f64 = 5.0;
/// Rows of a page.
const LIMIT: u32 = 10;

fn manifest(indexes: Json) -> Json {
    json!({"id": "work", "tables": [{"name": "tasks", "indexes": indexes, "columns": [
        {"name": "status", "type": "text", "required": true},
        {"name": "at", "type": "datetime", "required": true},
        {"name": "due", "type": "date"},
        {"name": "title", "type": "text"},
    ]}]})
}

async fn fill(database: &TestDatabase) {
    let (series, instant, day) = if database.is_postgres() {
        (
            format!("from generate_series(1, {ROWS}) as n (i)"),
            "timestamptz '2020-01-01Z' + (cast(i as bigint) * 7919 % 3000017) * interval '1 minute'",
            "date '2026-01-01' + cast(i % 300 as integer)",
        )
    } else {
        (
            format!(
                "from (with recursive n (i) as (select 1 union all select i + 1 from n where i < \
                 {ROWS}) select i from n)"
            ),
            "strftime('%Y-%m-%dT%H:%M:00.000Z', 1577836800 + (i * 7919 % 3000017) * 60, \
             'unixepoch')",
            "date(1767225600 + (i % 300) * 86400, 'unixepoch')",
        )
    };
    database
        .run(format!(
            "insert into tasks (status, at, due, title) select case i % 4 when 0 then 'open' else \
             'done' end, {instant}, case when i % 5 > 0 then {day} end, 'Task ' || i {series}"
        ))
        .await;
    if database.is_postgres() {
        database.run("vacuum analyze tasks".to_owned()).await;
    }
}

/// The median time of requests; `line` makes the n-th.
async fn median(site: &Site, line: impl Fn(usize) -> String) -> Duration {
    let mut times = Vec::new();
    for n in 0..TIMES {
        let line = line(n);
        let began = Instant::now();
        site.admin(&line).expect(200).await;
        times.push(began.elapsed());
    }
    times.sort_unstable();
    times[TIMES / 2]
}

#[tokio::test]
#[ignore = "fills a million rows and measures: run it alone, with --release"]
async fn a_page_among_a_million_rows_costs_at_most_five_reads_by_id() {
    let site = Site::builder().await.plugin(manifest(json!([]))).open().await;
    fill(&site.database).await;
    // Made while the site is in use: how long it takes, and how long a read and a write wait.
    let open = async {
        let plugin: Manifest =
            serde_json::from_value(manifest(json!([["status", "-at"], ["status", "due"]])))
                .unwrap();
        let began = Instant::now();
        let other =
            cms_core::Cms::builder(site.database.settings()).plugin(plugin).open().await.unwrap();
        let took = began.elapsed();
        other.close().await;
        took
    };
    tokio::pin!(open);
    let (mut read, mut reads) = (Duration::ZERO, 0);
    let took = loop {
        let ask = async {
            let began = Instant::now();
            let id = 1 + reads * 7919 % ROWS;
            site.admin(&format!("GET /api/backend/item?table=tasks&id={id}")).expect(200).await;
            began.elapsed()
        };
        tokio::select! {
            took = &mut open => break took,
            one = ask => (read, reads) = (read.max(one), reads + 1),
        }
    };
    println!("two indexes: {took:.2?}; meanwhile {reads} reads, the slowest {read:.2?}");
    let by_id = median(&site, |n| {
        format!("GET /api/backend/item?table=tasks&id={}", 1 + n * 7919 % ROWS as usize)
    })
    .await;
    println!("read by id: {by_id:.0?}");
    let mut worst = 0.0_f64;
    for query in [
        "filter[status]=done&sort=-at",
        "filter[status]=done&sort=at",
        "filter[status]=done&sort=-due",
        "filter[status]=done&sort=due",
        "sort=status,-at",
        "sort=-status,at",
    ] {
        let list = format!("GET /api/backend/item?table=tasks&{query}&limit={LIMIT}");
        let far = site.admin(&format!("{list}&offset=400000")).expect(200).await;
        let cursor = far.json()["meta"]["next"].as_str().unwrap().to_owned();
        for (place, line) in [("first", list.clone()), ("deep", format!("{list}&cursor={cursor}"))]
        {
            let took = median(&site, |_| line.clone()).await;
            let ratio = took.as_secs_f64() / by_id.as_secs_f64();
            worst = worst.max(ratio);
            println!("{query:<32} {place:<6} {took:>9.0?}  {ratio:.2} reads by id");
            let text = line.split_once('?').unwrap().1;
            let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
            let plan = Query::parse(pairs).unwrap();
            let plan = site.cms.items().plan("tasks", &plan).await.unwrap().join("\n");
            assert!(plan.contains("tasks_status_"), "{query}, {place}:\n{plan}");
        }
    }
    assert!(worst <= MOST, "{worst:.2} reads by id");
}
