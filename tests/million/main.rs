//! Lists over a million rows beside a read by id: the plans are judged, the times printed.
//!
//! `cargo bench -p cms-tests --bench tables` on SQLite, with `.ci/postgres` in front of it on both
//! engines. `CMS_BENCH_ROWS` makes it smaller. Ends by itself after about two minutes.

#[path = "../support/bench.rs"]
mod bench;

use std::time::{Duration, Instant};

use cms_core::{Cms, items::Query};
use serde_json::{Value as Json, json};

use bench::{
    median,
    support::{Site, TestDatabase},
};

/// Requests of each kind; the median counts.
const TIMES: usize = 101;
/// What a page may cost, in reads by id.
const MOST: f64 = 5.0;
/// Rows of a page.
const LIMIT: u32 = 10;
/// Each is served by one of the two indexes, in its direction or the other.
const QUERIES: [&str; 6] = [
    "filter[status]=done&sort=-at",
    "filter[status]=done&sort=at",
    "filter[status]=done&sort=-due",
    "filter[status]=done&sort=due",
    "sort=status,-at",
    "sort=-status,at",
];

fn main() {
    bench::on_each_engine(measure);
}

async fn measure(engine: &'static str, database: TestDatabase, rows: u32) {
    println!("{engine}, {rows} rows, pages of {LIMIT}, the median of {TIMES} requests");
    declare(&database, &json!([]));
    let site = Site::on(database).open().await;
    let began = Instant::now();
    fill(&site.database, rows).await;
    println!("filled in {:.1?}", began.elapsed());
    declare(&site.database, &json!([["status", "-at"], ["status", "due"]]));
    indexes_beside_readers(&site, rows).await;
    site.cms.refresh_plugins().await.expect("refreshed");
    let read = |n: usize| by_id(n as u32 * 7919 % rows);
    let by_id = median(&site, TIMES, read).await;
    println!("{:<32} {:<6} {by_id:>9.0?}", "read by id", "");
    let mut worst = 0.0_f64;
    for query in QUERIES {
        let list = format!("GET /api/backend/item?table=tasks&{query}&limit={LIMIT}");
        let far = site.admin(&format!("{list}&offset={}", rows / 5 * 2)).expect(200).await;
        let cursor = far.json()["meta"]["next"].as_str().expect("a next page").to_owned();
        for (place, line) in [("first", list.clone()), ("deep", format!("{list}&cursor={cursor}"))]
        {
            judge_plan(&site, query, place, &line).await;
            let took = median(&site, TIMES, |_| line.clone()).await;
            let ratio = took.as_secs_f64() / by_id.as_secs_f64();
            worst = worst.max(ratio);
            println!("{query:<32} {place:<6} {took:>9.0?}  {ratio:.2} reads by id");
        }
    }
    let told = if worst <= MOST { "within" } else { "MORE THAN" };
    println!(
        "{engine}: every plan names its index; at most {worst:.2} reads by id, {told} {MOST}\n"
    );
    site.cms.close().await;
    if worst > MOST {
        std::process::exit(1);
    }
}

/// Declares the table in the folder of plugins.
fn declare(database: &TestDatabase, indexes: &Json) {
    let manifest = json!({"id": "work", "tables": [{"name": "tasks", "indexes": indexes,
        "columns": [
            {"name": "status", "type": "text", "required": true},
            {"name": "at", "type": "datetime", "required": true},
            {"name": "due", "type": "date"},
            {"name": "title", "type": "text"},
        ],
    }]});
    database.write_plugin(&manifest);
}

async fn fill(database: &TestDatabase, rows: u32) {
    let (series, instant, day) = if database.is_postgres() {
        (
            format!("from generate_series(1, {rows}) as n (i)"),
            "timestamptz '2020-01-01Z' + (cast(i as bigint) * 7919 % 3000017) * \
             interval '1 minute'",
            "date '2026-01-01' + cast(i % 300 as integer)",
        )
    } else {
        (
            format!(
                "from (with recursive n (i) as (select 1 union all select i + 1 from n where i < \
                 {rows}) select i from n)"
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

/// Makes the indexes from another process's view while the site is read: how long it takes, and how
/// long the slowest read waits.
async fn indexes_beside_readers(site: &Site, rows: u32) {
    let other = Cms::builder(site.database.settings()).inspect().await.expect("opened");
    let apply = async {
        let began = Instant::now();
        let done = other.apply_plugins(Some("work")).await.expect("applied");
        assert!(done.iter().all(|one| one.problems.is_empty()), "{done:?}");
        began.elapsed()
    };
    tokio::pin!(apply);
    let (mut slowest, mut reads) = (Duration::ZERO, 0);
    let took = loop {
        let ask = async {
            let began = Instant::now();
            site.admin(&by_id(reads * 7919 % rows)).expect(200).await;
            began.elapsed()
        };
        tokio::select! {
            took = &mut apply => break took,
            one = ask => (slowest, reads) = (slowest.max(one), reads + 1),
        }
    };
    println!("two indexes: {took:.2?}; meanwhile {reads} reads, the slowest {slowest:.2?}");
    other.close().await;
}

fn by_id(n: u32) -> String {
    format!("GET /api/backend/item?table=tasks&id={}", n + 1)
}

/// Ends the bench when a page is not read by its index.
async fn judge_plan(site: &Site, query: &str, place: &str, line: &str) {
    let text = line.split_once('?').expect("a query").1;
    let asked = Query::parse(text.split('&').filter_map(|pair| pair.split_once('=')));
    let plan = site.cms.items().plan("tasks", &asked.expect("a query")).await.expect("a plan");
    let plan = plan.join("\n");
    let sorts = plan.contains("TEMP B-TREE") || plan.contains("Sort");
    assert!(plan.contains("tasks_status_") && !sorts, "{query}, {place}:\n{plan}");
}
