//! Load on the real `cms serve`, as ratios to a bare hyper server that sends the same bytes in the
//! same minute.
//!
//! `cargo build --release -p cms-cli && cargo bench -p cms-tests --bench load`. Servers are pinned
//! to core 0, this program to core 1. `ratio` compares requests a second; `cpu` compares what each
//! server computes for a request, and holds on a busy machine as well. Loopback only; ends by
//! itself after about three minutes, and `CMS_SOAK_S` seconds of soak more. `CMS_LOAD_BESIDE` names
//! an earlier `cms`, to be compared where no baseline says what is good. `-- writes` measures
//! writes alone, with `.ci/postgres --durable` in front of it on PostgreSQL as well.

mod bare;
mod client;
#[path = "../support/database.rs"]
#[expect(dead_code, reason = "tests use more of it")]
mod database;
mod site;

use std::time::Duration;

use database::TestDatabase;

/// Rounds of each pair, many and short, because machines are shared; the median ratio is printed.
const ROUNDS: usize = 21;
const TIME: Duration = Duration::from_millis(500);
pub const CONNECTIONS: usize = 64;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    if let Some(at) = arguments.iter().position(|argument| argument == "bare-server") {
        return runtime.block_on(bare::serve(&arguments[at + 1]));
    }
    // `cargo test --benches` builds this too; it has nothing to test.
    if !arguments.iter().any(|argument| argument == "--bench") {
        return;
    }
    site::pin(std::process::id(), 1);
    runtime.block_on(measure(arguments.iter().any(|argument| argument == "writes")));
}

const ITEM: &str = "/api/backend/item?table=things&id=777";

const HOME: &str = "/api/pages?view=home";
const LIST: &str = "/api/backend/item?table=things&limit=20";

/// Name, target, whether with a key, whether conditional, and the goal: a share of bare hyper, from
/// the performance anchors.
const CASES: &[(&str, &str, bool, bool, f64)] = &[
    ("anonymous GET, cached", HOME, false, false, 0.85),
    ("anonymous GET, 304", HOME, false, true, 0.85),
    ("keyed GET of one item", ITEM, true, false, 0.45),
    ("keyed list of 20", LIST, true, false, 0.40),
];

async fn measure(only_writes: bool) {
    let site = site::Site::new(site::binary(), TestDatabase::sqlite().await);
    if only_writes {
        writes(&site, &site.serve(&[("CMS_LIMITER__STORE", "off")])).await;
        let database = TestDatabase::new().await;
        if database.is_postgres() {
            println!("PostgreSQL, CPU of the service alone:");
            let site = site::Site::new(site::binary(), database);
            writes(&site, &site.serve(&[("CMS_LIMITER__STORE", "off")])).await;
        }
        return;
    }
    println!("ready after {:?} on a file of 10,000 rows (median of 5)", site.time_to_ready());
    let open =
        site.serve(&[("CMS_LIMITER__STORE", "memory"), ("CMS_TRUSTED_PROXIES", "127.0.0.0/8")]);
    let keyed = site.serve(&[("CMS_LIMITER__STORE", "off")]);
    println!("idle: {} KiB resident", keyed.resident_kib());
    println!(
        "{:<24} {:>10} {:>10} {:>7} {:>7} {:>7}  {:>9} {:>9}",
        "", "bare/s", "cms/s", "ratio", "cpu", "goal", "p50", "p99"
    );
    for &(name, target, has_key, is_conditional, goal) in CASES {
        let server = if has_key { &keyed } else { &open };
        let key = has_key.then_some(site.key.as_str());
        let mut request = client::Request::new(target, key, None);
        let sample = request.once(server.address).await;
        if is_conditional {
            request = client::Request::new(target, key, sample.header("etag"));
        }
        let sample = request.once(server.address).await;
        let bare = site::Bare::start(&sample.bytes);
        let (mut rounds, mut cpu) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let base = client::run(&bare.running, &request, TIME).await;
            let ours = client::run(server, &request, TIME).await;
            assert_eq!(ours.refused, 0, "every reply has the status of the first");
            cpu.push(base.cpu.as_secs_f64() / ours.cpu.as_secs_f64());
            rounds.push((ours.rate / base.rate, base.rate, ours));
        }
        cpu.sort_by(f64::total_cmp);
        rounds.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (ratio, base, ours) = &rounds[ROUNDS / 2];
        println!(
            "{name:<24} {base:>10.0} {:>10.0} {ratio:>7.3} {:>7.3} {goal:>7.2}  {:>9.0?} {:>9.0?}",
            ours.rate,
            cpu[ROUNDS / 2],
            ours.p50,
            ours.p99
        );
    }
    after_writes(&site, &keyed).await;
    writes(&site, &keyed).await;
    println!(
        "after load: {} KiB resident (anonymous), {} KiB (keyed)",
        open.resident_kib(),
        keyed.resident_kib()
    );
    flood(&open).await;
    if let Some(seconds) = std::env::var("CMS_SOAK_S").ok().and_then(|text| text.parse().ok()) {
        let request = client::Request::new(HOME, None, None);
        let (before, soaked) =
            (open.resident_kib(), client::run(&open, &request, Duration::from_secs(seconds)).await);
        println!(
            "soak of {seconds} s: {:.0}/s, {before} KiB resident before, {} KiB after",
            soaked.rate,
            open.resident_kib()
        );
    }
}

/// Reads that each follow a write: nothing that was kept is good.
async fn after_writes(site: &site::Site, server: &site::Running) {
    let earlier = match std::env::var_os("CMS_LOAD_BESIDE") {
        Some(binary) => {
            let site = site::Site::new(binary.into(), TestDatabase::sqlite().await);
            let server = site.serve(&[("CMS_LIMITER__STORE", "off")]);
            Some((site, server))
        }
        None => None,
    };
    let request = |site: &site::Site| {
        let body = "{\"c3\":1}";
        client::Request::new(ITEM, Some(&site.key), None).after_write(ITEM, &site.key, body)
    };
    let (mut rounds, mut ratios) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let ours = client::run(server, &request(site), TIME).await;
        if let Some((site, server)) = &earlier {
            let earlier = client::run(server, &request(site), TIME).await;
            ratios.push(earlier.cpu.as_secs_f64() / ours.cpu.as_secs_f64());
        }
        rounds.push(ours);
    }
    rounds.sort_by(|a, b| a.rate.total_cmp(&b.rate));
    ratios.sort_by(f64::total_cmp);
    let ours = &rounds[ROUNDS / 2];
    println!(
        "keyed GET of one item, each after a write: {:.0}/s, {:.0?} of CPU for both, p50 {:.0?}, \
         p99 {:.0?}",
        ours.rate, ours.cpu, ours.p50, ours.p99
    );
    if let Some(ratio) = ratios.get(ROUNDS / 2) {
        println!("  {ratio:.3} times as many a second of CPU as the earlier one");
    }
}

/// Writes of 64 clients and of one, each on the disk before its reply.
async fn writes(site: &site::Site, server: &site::Running) {
    let target = "/api/backend/item?table=things";
    let body = format!("{{\"c1\":\"{}\",\"c3\":3}}", "some words of a text ".repeat(33));
    let cases = [
        ("POST", client::Request::sending("POST", target, &site.key, &body)),
        ("PATCH", client::Request::sending("PATCH", ITEM, &site.key, &body)),
    ];
    for (name, request) in cases {
        let bare = site::Bare::start(&request.once(server.address).await.bytes);
        for connections in [CONNECTIONS, 1] {
            let mut rounds = Vec::new();
            for _ in 0..ROUNDS {
                let base = client::run_with(&bare.running, &request, TIME, connections).await;
                let ours = client::run_with(server, &request, TIME, connections).await;
                assert_eq!(ours.refused, 0, "every reply has the status of the first");
                rounds.push((base.cpu.as_secs_f64() / ours.cpu.as_secs_f64(), ours));
            }
            rounds.sort_by(|a, b| a.0.total_cmp(&b.0));
            let (ratio, ours) = &rounds[ROUNDS / 2];
            println!(
                "{name} of {connections:>2} clients: {:.0}/s, {:.0?} of CPU ({ratio:.3} of bare), \
                 p50 {:.0?}, p99 {:.0?}",
                ours.rate, ours.cpu, ours.p50, ours.p99
            );
        }
    }
}

/// One address that does not stop: what it gets, and what refusing costs.
async fn flood(server: &site::Running) {
    let request = client::Request::new(HOME, None, None).flood();
    // The first empties the bucket.
    client::run(server, &request, Duration::from_millis(200)).await;
    let bare = site::Bare::start(&request.once(server.address).await.bytes);
    let base = client::run(&bare.running, &request, TIME).await;
    let ours = client::run(server, &request, TIME).await;
    println!(
        "flood from one address: {:.3} % refused, {:.0}/s, {:.3} of bare; {} KiB resident after it",
        ours.refused as f64 * 100.0 / ours.sent as f64,
        ours.rate,
        ours.rate / base.rate,
        server.resident_kib()
    );
}
