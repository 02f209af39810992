//! The inbox among a million submissions: pages beside a read by id in the same run, their plans
//! judged; an export, with what it holds in memory; many changed at once; thirty days of numbers.
//!
//! `cargo bench -p cms-tests --bench inbox` on SQLite, with `.ci/postgres` in front of it on both
//! engines. `CMS_BENCH_ROWS` makes it smaller.

#[path = "../support/bench.rs"]
mod bench;

use std::time::{Duration, Instant};

use cms_core::funnels::InboxQuery;
use futures_util::StreamExt as _;
use serde_json::json;

use bench::{
    median,
    support::{Site, TestDatabase, process, visits},
};

/// Requests of each kind; the median counts.
const TIMES: usize = 21;
/// What a page may take on the machine that it was made for.
const AIM: Duration = Duration::from_millis(50);
/// What is asked for: its name, its query, and how many pages of 500 come before.
const PAGES: [(&str, &str, usize); 16] = [
    ("first", "", 0),
    ("deep", "", 600),
    ("state", "filter[inbox_status]=qualified", 0),
    ("state, deep", "filter[inbox_status]=qualified", 100),
    ("funnel", "filter[funnel_id]=1", 0),
    ("assigned", "filter[assigned_to]=3", 0),
    ("since", "filter[started_at][gte]=2026-11-20T00:00:00Z", 0),
    ("by score", "sort=-score", 0),
    ("by score, deep", "sort=-score", 100),
    ("by score of a state", "filter[inbox_status]=new&sort=-score", 0),
    ("by name", "sort=contact_name", 0),
    ("search, one", "search=name%20777777", 0),
    ("search, 11,111", "search=name%2077", 0),
    ("search, 111,111", "search=name%207", 0),
    ("search, many", "search=example.org", 0),
    ("search, none", "search=zzzyyyxxx", 0),
];

fn main() {
    bench::on_each_engine(measure);
}

async fn measure(engine: &'static str, database: TestDatabase, rows: u32) {
    println!("{engine}, {rows} submissions, pages of 50, the median of {TIMES} requests");
    let site = Site::on(database).open().await;
    site.funnel(visits::leads()).await;
    let visit = site.visit("leads").await;
    visit.answers(json!({"name": "Ada", "mail": "ada@example.org"})).await;
    visit.answers(json!({"budget": 9000})).await;
    visit.answers(json!({"phone": "030 123456"})).await;
    visit.complete(None).expect(200).await;
    let began = Instant::now();
    fill(&site.database, rows).await;
    println!("filled in {:.1?}", began.elapsed());
    let began = Instant::now();
    site.clock.advance(3_600_000);
    site.cms.funnels().tend_inbox().await.expect("tended");
    println!("index of searches and counts tended in {:.1?}", began.elapsed());
    if site.database.is_postgres() {
        site.database.run("vacuum analyze cms_formfunnel_submissions".to_owned()).await;
    }
    let read = |n: usize| line(&format!("filter[submission_id]={}", n as u32 * 7919 % rows + 1));
    let by_id = median(&site, TIMES, read).await;
    println!("{:<22} {by_id:>9.1?}", "read by id");
    let mut worst = Duration::ZERO;
    for (name, query, before) in PAGES {
        let asked = match cursor(&site, query, before).await {
            Some(cursor) => format!("{query}&cursor={cursor}"),
            None => query.to_owned(),
        };
        judge_plan(&site, name, query).await;
        let took = median(&site, TIMES, |_| line(&asked)).await;
        worst = worst.max(took);
        let ratio = took.as_secs_f64() / by_id.as_secs_f64();
        println!("{name:<22} {took:>9.1?}  {ratio:.2} reads by id");
    }
    export(&site).await;
    bulk(&site).await;
    analytics(&site).await;
    let told = if worst <= AIM { "within" } else { "MORE THAN" };
    println!("{engine}: the slowest page took {worst:.1?}, {told} {AIM:?}\n");
    site.cms.close().await;
}

async fn fill(database: &TestDatabase, rows: u32) {
    let series = match database.is_postgres() {
        true => format!("generate_series(2, {rows}) as n (i)"),
        false => format!(
            "(with recursive n (i) as (select 2 union all select i + 1 from n where i < {rows}) \
             select i from n) n"
        ),
    };
    let sql = format!(
        "insert into cms_formfunnel_submissions (funnel_id, version_id, version, session_uuid, \
         status, inbox_status, path_json, answers_json, summary, contact_name, contact_email, \
         contact_phone, score, reference, assigned_to, is_spam, started_at, last_activity_at, \
         completed_at, expires_at) select s.funnel_id, s.version_id, s.version, 'bench-' || n.i, \
         s.status, case when n.i % 10 < 6 then 'new' when n.i % 10 = 6 then 'qualified' \
         when n.i % 10 = 7 then 'contacted' when n.i % 10 = 8 then 'converted' else 'rejected' \
         end, s.path_json, replace(s.answers_json, 'Ada', 'Name ' || n.i), 'Name ' || n.i || \
         ' · name.' || n.i || '@example.org · 9000', 'Name ' || n.i, 'name.' || n.i || \
         '@example.org', '+4930' || (10000000 + n.i), cast(n.i * 31 % 1000 as double precision), \
         'R' || n.i, case when n.i % 100 < 5 then n.i % 100 end, n.i % 50 = 0, s.started_at - \
         cast(n.i as bigint) * 7919 % {rows} * 2000, s.last_activity_at, s.started_at - \
         cast(n.i as bigint) * 7919 % {rows} * 2000 + 60000, s.expires_at \
         from cms_formfunnel_submissions s, {series} where s.id = 1"
    );
    database.run(sql).await;
}

fn line(query: &str) -> String {
    format!("GET /api/backend/formfunnel?action=submissions&limit=50&{query}")
}

/// The cursor after so many pages of 500.
async fn cursor(site: &Site, query: &str, pages: usize) -> Option<String> {
    let mut next = None;
    for _ in 0..pages {
        let after = next.map(|next| format!("&cursor={next}")).unwrap_or_default();
        let target = format!("action=submissions&limit=500&{query}{after}");
        let page = site.admin(&format!("GET /api/backend/formfunnel?{target}")).expect(200).await;
        next = page.json()["meta"]["next"].as_str().map(str::to_owned);
        next.as_ref()?;
    }
    next
}

/// Ends the bench when a page reads the table from its beginning.
async fn judge_plan(site: &Site, name: &str, query: &str) {
    let query = query.replace("%20", " ");
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let query = InboxQuery::parse(pairs).expect("a query");
    let plan = site.cms.funnels().inbox_plan(&query).await.expect("a plan").join("\n");
    let scans = plan.contains("Seq Scan on cms_formfunnel_submissions")
        || plan.lines().any(|line| line.trim() == "SCAN s");
    assert!(!scans, "{name}:\n{plan}");
}

/// Everything as CSV, read as it comes.
async fn export(site: &Site) {
    // What was the most until now is forgotten.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
    let mib = |name| process::kib(std::process::id(), name).unwrap_or_default() / 1024;
    let before = mib("VmRSS");
    let query = InboxQuery::parse([]).expect("a query");
    let mut table = site.cms.funnels().export_table(None, query).await.expect("a table").rows;
    let (mut rows, began) = (0_u32, Instant::now());
    while let Some(row) = table.next().await {
        row.expect("a row");
        rows += 1;
        if began.elapsed() > Duration::from_secs(60) {
            break;
        }
    }
    let rate = f64::from(rows) / began.elapsed().as_secs_f64();
    let peak = mib("VmHWM");
    println!("export of {rows}: {rate:.0} rows/s, {before} MiB before, {peak} MiB at most");
}

/// One in twenty, those that are assigned to somebody, rejected in one change, and as it was.
async fn bulk(site: &Site) {
    let act = async |action: &str, body: serde_json::Value| {
        let began = Instant::now();
        let line = format!("POST /api/backend/formfunnel?action={action}");
        let done = site.admin(&line).json(body).expect(200).await.data();
        let (took, many) =
            (began.elapsed(), done["changed"].as_f64().or(done["restored"].as_f64()));
        let many = many.unwrap_or_default();
        println!("{action} of {many}: {took:.1?}, {:.0} rows/s", many / took.as_secs_f64());
    };
    let meant = "select count(*) from cms_formfunnel_submissions where assigned_to >= 0";
    let meant = site.database.count(meant).await;
    let filter = json!({"assigned_to": {"gte": 0}});
    let body =
        json!({"op": "set_status", "filter": filter, "expected": meant, "value": "rejected"});
    act("submissions_bulk", body).await;
    act("undo", json!({})).await;
}

/// The numbers of thirty days, and those of the thirty before.
async fn analytics(site: &Site) {
    let began = Instant::now();
    site.cms.funnels().process_abandoned().await.expect("counted");
    println!("visits that are over counted in {:.1?}", began.elapsed());
    thirty_days(site, "thirty days").await;
    if site.database.is_postgres() {
        // Every row was written again: autovacuum comes within a minute of that.
        site.database.run("vacuum analyze cms_formfunnel_submissions".to_owned()).await;
        thirty_days(site, "thirty days, vacuumed").await;
    }
}

async fn thirty_days(site: &Site, name: &str) {
    let line = "GET /api/backend/formfunnel?action=analytics&funnel_id=leads";
    let (took, aim) = (median(site, TIMES, |_| line.to_owned()).await, Duration::from_millis(300));
    let told = if took <= aim { "within" } else { "MORE THAN" };
    println!("{name:<22} {took:>9.1?}, {told} {aim:?}");
}
