//! What `cms tui` costs on a large site, beside its budgets:
//!
//! ```text
//! cargo bench -p cms-cli --bench budgets
//! cargo bench -p cms-cli --bench budgets -- --records 1000000 --deliveries 500000
//! cargo bench -p cms-cli --bench budgets -- --submissions 1000000 inbox
//! ```
//!
//! `inbox` measures the inbox alone. It runs the real program on a terminal. Nothing is asserted:
//! other work on the machine counts.

#![expect(clippy::print_stdout, reason = "figures are what it is for")]

mod inbox;
mod terminal;

use std::{
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use sqlx::Connection as _;
use terminal::Terminal;

/// Time that a terminal is left alone to see what it costs then.
const IDLE: Duration = Duration::from_secs(30);

fn main() {
    let number = |name: &str, usual: i64| {
        let mut words = std::env::args().skip_while(|word| word != name).skip(1);
        words.next().and_then(|word| word.parse().ok()).unwrap_or(usual)
    };
    let (records, deliveries) = (number("--records", 100_000), number("--deliveries", 50_000));
    let submissions = number("--submissions", 100_000);
    let is_inbox = std::env::args().any(|word| word == "inbox");
    let (records, deliveries) = if is_inbox { (10, 10) } else { (records, deliveries) };
    let profile = if cfg!(debug_assertions) { "debug" } else { "release" };
    println!(
        "{records} records, {deliveries} deliveries, {submissions} submissions, {profile} build\n"
    );
    println!("{:<52} {:>12}   budget", "", "measured");
    let site = site(records, deliveries, submissions);
    if is_inbox {
        inbox::measure(site.path());
        return;
    }
    start(site.path());
    keys(site.path());
    changes(site.path());
    idle(site.path());
    inbox::measure(site.path());
}

fn said(what: &str, measured: impl std::fmt::Display, budget: &str) {
    println!("{what:<52} {measured:>12}   {budget}");
}

fn ms(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1000.0)
}

fn cms(dir: &Path, args: &[&str], input: &str) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cms"));
    command.env("CMS_DIR", dir).env("XDG_CONFIG_HOME", dir.join("config")).args(args);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().expect("cms starts");
    let stdin = child.stdin.take();
    std::io::Write::write_all(&mut stdin.expect("stdin"), input.as_bytes()).expect("taken");
    assert!(child.wait().expect("ended").success(), "cms {args:?}");
}

const RECORDS: &str = "insert into notes (title, n) with recursive c (i) as (select 1 union all \
                       select i + 1 from c where i < $1) select 'Record ' || i, i from c";
const DELIVERIES: &str = "insert into cms_webhook_deliveries (queue_id, event_id, event_name, \
     subscription_id, attempt, outcome, error_message, status_code, response, \
     duration_ms, created_at) with recursive c (i) as (select 1 union all \
     select i + 1 from c where i < $1) select i, 'evt_' || i, \
     'item.notes.updated', 1, 1, case i % 50 when 0 then 'status' else 'delivered' end, case i % \
     50 when 0 then 'it answered 503' end, case i % 50 when 0 then 503 else 200 end, '{}', i % \
     900, 1700000000000 + i * 1000 from c";

/// A site with one table, one webhook, one funnel and a long past.
fn site(records: i64, deliveries: i64, submissions: i64) -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a folder");
    let plugin = dir.path().join("plugins/notes");
    std::fs::create_dir_all(&plugin).expect("a folder");
    let manifest = r#"{"id": "notes", "name": "Notes", "version": "1", "tables": [{"name": "notes",
        "columns": [{"name": "title", "type": "text"}, {"name": "n", "type": "integer"}]}]}"#;
    std::fs::write(plugin.join("plugin.json"), manifest).expect("a file");
    cms(dir.path(), &["init"], "");
    let hook = ["webhooks", "create", "--name", "shop", "--url", "https://shop.example.org/hook"];
    cms(dir.path(), &[&hook[..], &["--event", "auth.logout"]].concat(), "");
    cms(dir.path(), &["funnels", "import", "-"], inbox::FUNNEL);
    cms(dir.path(), &["funnels", "publish", "leads"], "");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime");
    let path = format!("sqlite://{}", dir.path().join("data/cms.db").display());
    runtime.block_on(async {
        let mut database = sqlx::SqliteConnection::connect(&path).await.expect("the database");
        let filled =
            [(RECORDS, records), (DELIVERIES, deliveries), (inbox::SUBMISSIONS, submissions)];
        for (text, rows) in filled {
            sqlx::query(text).bind(rows).execute(&mut database).await.expect("filled");
        }
        // Plans are chosen by what is there.
        sqlx::query("analyze").execute(&mut database).await.expect("analyzed");
        database.close().await.expect("closed");
    });
    // Takes the submissions into the index of searches, as many as it can in some seconds.
    while runtime.block_on(waiting(&path)) > 0 {
        cms(dir.path(), &["process-webhooks"], "");
    }
    dir
}

/// Submissions that the index of searches does not hold yet.
async fn waiting(path: &str) -> i64 {
    let mut database = sqlx::SqliteConnection::connect(path).await.expect("the database");
    let sql = "select count(*) from cms_formfunnel_search_late";
    let waiting = sqlx::query_scalar(sql).fetch_one(&mut database).await.expect("counted");
    database.close().await.expect("closed");
    waiting
}

/// The list of records, and how long it took from the key that opens it.
fn at_records(dir: &Path) -> (Terminal, Duration) {
    let mut terminal = Terminal::start(dir, &["content"]);
    terminal.shows("notes");
    terminal.press("/\x15notes\r");
    terminal.shows("1 of 1");
    let pressed = terminal.press("\r");
    let opened = terminal.shows("Record 2 ") - pressed;
    (terminal, opened)
}

/// From the start of the program.
fn start(dir: &Path) {
    let (mut paint, mut rows) = (Vec::new(), Vec::new());
    for _ in 0..5 {
        let terminal = Terminal::start(dir, &["deliveries"]);
        paint.push(terminal.shows("Deliveries") - terminal.started);
        rows.push(terminal.shows("delivered") - terminal.started);
        terminal.leave();
    }
    said("first paint, from the start of the program", ms(median(paint)), "50 ms");
    said("rows of the deliveries, from the start", ms(median(rows)), "-");
    let (mut terminal, opened) = at_records(dir);
    said("rows of the records, from the key", ms(opened), "150 ms");
    let pressed = terminal.press("3");
    said("rows of the deliveries, from the key", ms(terminal.shows("EVENT") - pressed), "150 ms");
    terminal.leave();
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// Presses the key for half a page 400 times. Returns the times from key to frame, sorted, of
/// those that moved the list, and how many moved nothing.
fn half_pages(terminal: &mut Terminal) -> (Vec<Duration>, usize) {
    let (mut times, mut ends) = (Vec::new(), 0);
    for _ in 0..400 {
        let before = terminal.place();
        let time = terminal.frame_after("\x04");
        std::thread::sleep(Duration::from_millis(15));
        if terminal.place() == before {
            ends += 1;
        } else {
            times.push(time);
        }
    }
    times.sort();
    (times, ends)
}

/// Through 6,000 rows in half pages: pages are read all the time. At the end of the rows that are
/// there a key moves nothing, and the next frame is that of a page.
fn keys(dir: &Path) {
    let (mut terminal, _) = at_records(dir);
    let (times, ends) = half_pages(&mut terminal);
    said("keys at the end of the rows that were there, of 400", ends, "-");
    said("key to frame while rows are read, median", ms(times[times.len() / 2]), "-");
    said("key to frame while rows are read, p99", ms(times[times.len() * 99 / 100]), "16 ms");
    said("memory then", format!("{:.0} MiB", terminal.memory_mib()), "60 MiB");
    terminal.leave();
}

/// From the end of another process that wrote to when its value is drawn.
fn changes(dir: &Path) {
    let (terminal, _) = at_records(dir);
    let mut times = Vec::new();
    for n in 0..5 {
        std::thread::sleep(Duration::from_millis(700));
        let title = format!("Changed {n}");
        cms(dir, &["items", "update", "notes", "1", "-"], &format!("{{\"title\":\"{title}\"}}"));
        let written = Instant::now();
        times.push(terminal.shows(&title).saturating_duration_since(written));
    }
    let most = times.iter().max().copied().unwrap_or_default();
    said("a change by another process is drawn, at most", ms(most), "1000 ms");
    terminal.leave();
}

fn idle(dir: &Path) {
    for (name, keys) in
        [("home", "home"), ("webhooks", "webhooks"), ("queue", "queue"), ("records", "")]
    {
        let terminal = match keys {
            "" => at_records(dir).0,
            screen => Terminal::start(dir, &[screen]),
        };
        std::thread::sleep(Duration::from_secs(5));
        let (cpu, bytes) = (terminal.cpu(), terminal.bytes());
        std::thread::sleep(IDLE);
        let share = (terminal.cpu() - cpu).as_secs_f64() / IDLE.as_secs_f64() * 100.0;
        let drawn = terminal.bytes() - bytes;
        said(&format!("idle on {name}: CPU"), format!("{share:.3} %"), "0.2 %");
        said(&format!("idle on {name}: bytes drawn"), drawn, "0");
        terminal.leave();
    }
}
