//! Load on the real `cms serve`, as ratios to a bare hyper server that sends the same bytes in the
//! same minute.
//!
//! `cargo build --release -p cms-cli && cargo bench -p cms-tests --bench load`. Servers are pinned
//! to core 0, this program to core 1. `ratio` compares requests a second; `cpu` compares what each
//! server computes for a request, and holds on a busy machine as well. Loopback only; ends by
//! itself after about three minutes, and `CMS_SOAK_S` seconds of soak more. `CMS_LOAD_BESIDE` names
//! an earlier `cms`, which gets the same requests in the same rounds. `-- writes` measures writes
//! alone, with `.ci/postgres --durable` in front of it on PostgreSQL as well.

mod bare;
mod client;
#[path = "../support/database.rs"]
#[expect(dead_code, reason = "tests use more of it")]
mod database;
mod site;

use std::time::Duration;

use client::Request;
use database::TestDatabase;
use site::{Running, Site};

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
type Case = (&'static str, &'static str, bool, bool, f64);
const CASES: &[Case] = &[
    ("anonymous GET, cached", HOME, false, false, 0.85),
    ("anonymous GET, 304", HOME, false, true, 0.85),
    ("keyed GET of one item", ITEM, true, false, 0.45),
    ("keyed list of 20", LIST, true, false, 0.40),
];

/// A `cms` under load: with a limiter for visitors, without one for keys.
struct Service {
    site: Site,
    open: Running,
    keyed: Running,
}

impl Service {
    fn start(site: Site) -> Self {
        let limited = [("CMS_LIMITER__STORE", "memory"), ("CMS_TRUSTED_PROXIES", "127.0.0.0/8")];
        let (open, keyed) = (site.serve(&limited), site.serve(&[("CMS_LIMITER__STORE", "off")]));
        Self { site, open, keyed }
    }
}

/// A server beside ours, and the same request for it.
type Beside<'a> = Option<(&'a Running, Request)>;

/// What an earlier `cms` computes for a request, by what ours does, in each round.
#[derive(Default)]
struct Ratios(Vec<f64>);

impl Ratios {
    async fn add(&mut self, beside: &Beside<'_>, ours: &client::Outcome, connections: usize) {
        if let Some((server, request)) = beside {
            let earlier = client::run_with(server, request, TIME, connections).await;
            self.0.push(earlier.cpu.as_secs_f64() / ours.cpu.as_secs_f64());
        }
    }

    fn print(mut self) {
        self.0.sort_by(f64::total_cmp);
        if let Some(ratio) = self.0.get(ROUNDS / 2) {
            println!("  {ratio:.3} times as many a second of CPU as the earlier one");
        }
    }
}

async fn measure(only_writes: bool) {
    let ours = Service::start(Site::new(site::binary(), TestDatabase::sqlite().await));
    let earlier = match std::env::var_os("CMS_LOAD_BESIDE") {
        Some(binary) => {
            Some(Service::start(Site::new(binary.into(), TestDatabase::sqlite().await)))
        }
        None => None,
    };
    let earlier = earlier.as_ref();
    if only_writes {
        writes(&ours, earlier).await;
        let database = TestDatabase::new().await;
        if database.is_postgres() {
            println!("PostgreSQL, CPU of the service alone:");
            writes(&Service::start(Site::new(site::binary(), database)), None).await;
        }
        return;
    }
    println!("ready after {:?} on a file of 10,000 rows (median of 5)", ours.site.time_to_ready());
    println!("idle: {} KiB resident", ours.keyed.resident_kib());
    println!(
        "{:<24} {:>10} {:>10} {:>7} {:>7} {:>7}  {:>9} {:>9}",
        "", "bare/s", "cms/s", "ratio", "cpu", "goal", "p50", "p99"
    );
    for case in CASES {
        reads(case, &ours, earlier).await;
    }
    after_writes(&ours, earlier).await;
    writes(&ours, earlier).await;
    println!(
        "after load: {} KiB resident (anonymous), {} KiB (keyed)",
        ours.open.resident_kib(),
        ours.keyed.resident_kib()
    );
    flood(&ours.open).await;
    if let Some(seconds) = std::env::var("CMS_SOAK_S").ok().and_then(|text| text.parse().ok()) {
        let request = Request::new(HOME, None, None);
        let before = ours.open.resident_kib();
        let soaked = client::run(&ours.open, &request, Duration::from_secs(seconds)).await;
        println!(
            "soak of {seconds} s: {:.0}/s, {before} KiB resident before, {} KiB after",
            soaked.rate,
            ours.open.resident_kib()
        );
    }
}

/// The server that a case asks, and its request.
async fn asked<'a>(case: &Case, of: &'a Service) -> (&'a Running, Request) {
    let &(_, target, has_key, is_conditional, _) = case;
    let server = if has_key { &of.keyed } else { &of.open };
    let key = has_key.then_some(of.site.key.as_str());
    let request = Request::new(target, key, None);
    if !is_conditional {
        return (server, request);
    }
    let etag = request.once(server.address).await.header("etag");
    (server, Request::new(target, key, etag))
}

async fn reads(case: &Case, ours: &Service, earlier: Option<&Service>) {
    let (server, request) = asked(case, ours).await;
    let beside = match earlier {
        Some(earlier) => Some(asked(case, earlier).await),
        None => None,
    };
    // The first call fills the cache.
    request.once(server.address).await;
    let bare = site::Bare::start(&request.once(server.address).await.bytes);
    let (mut rounds, mut cpu, mut ratios) = (Vec::new(), Vec::new(), Ratios::default());
    for _ in 0..ROUNDS {
        let base = client::run(&bare.running, &request, TIME).await;
        let ours = client::run(server, &request, TIME).await;
        assert_eq!(ours.refused, 0, "every reply has the status of the first");
        ratios.add(&beside, &ours, CONNECTIONS).await;
        cpu.push(base.cpu.as_secs_f64() / ours.cpu.as_secs_f64());
        rounds.push((ours.rate / base.rate, base.rate, ours));
    }
    cpu.sort_by(f64::total_cmp);
    rounds.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (ratio, base, ours) = &rounds[ROUNDS / 2];
    let &(name, .., goal) = case;
    println!(
        "{name:<24} {base:>10.0} {:>10.0} {ratio:>7.3} {:>7.3} {goal:>7.2}  {:>9.0?} {:>9.0?}",
        ours.rate,
        cpu[ROUNDS / 2],
        ours.p50,
        ours.p99
    );
    ratios.print();
}

/// Reads that each follow a write: nothing that was kept is good.
async fn after_writes(ours: &Service, earlier: Option<&Service>) {
    let request = |of: &Service| {
        let key = of.site.key.as_str();
        Request::new(ITEM, Some(key), None).after_write(ITEM, key, "{\"c3\":1}")
    };
    let beside = earlier.map(|earlier| (&earlier.keyed, request(earlier)));
    let (mut rounds, mut ratios) = (Vec::new(), Ratios::default());
    for _ in 0..ROUNDS {
        let outcome = client::run(&ours.keyed, &request(ours), TIME).await;
        ratios.add(&beside, &outcome, CONNECTIONS).await;
        rounds.push(outcome);
    }
    rounds.sort_by(|a, b| a.rate.total_cmp(&b.rate));
    let ours = &rounds[ROUNDS / 2];
    println!(
        "keyed GET of one item, each after a write: {:.0}/s, {:.0?} of CPU for both, p50 {:.0?}, \
         p99 {:.0?}",
        ours.rate, ours.cpu, ours.p50, ours.p99
    );
    ratios.print();
}

/// Writes of 64 clients and of one, each on the disk before its reply.
async fn writes(ours: &Service, earlier: Option<&Service>) {
    let body = format!("{{\"c1\":\"{}\",\"c3\":3}}", "some words of a text ".repeat(33));
    for (name, target) in [("POST", "/api/backend/item?table=things"), ("PATCH", ITEM)] {
        let request = |of: &Service| Request::sending(name, target, &of.site.key, &body);
        let (server, asked) = (&ours.keyed, request(ours));
        let beside = earlier.map(|earlier| (&earlier.keyed, request(earlier)));
        let bare = site::Bare::start(&asked.once(server.address).await.bytes);
        for connections in [CONNECTIONS, 1] {
            let (mut rounds, mut ratios) = (Vec::new(), Ratios::default());
            for _ in 0..ROUNDS {
                let base = client::run_with(&bare.running, &asked, TIME, connections).await;
                let ours = client::run_with(server, &asked, TIME, connections).await;
                assert_eq!(ours.refused, 0, "every reply has the status of the first");
                ratios.add(&beside, &ours, connections).await;
                rounds.push((base.cpu.as_secs_f64() / ours.cpu.as_secs_f64(), ours));
            }
            rounds.sort_by(|a, b| a.0.total_cmp(&b.0));
            let (ratio, ours) = &rounds[ROUNDS / 2];
            println!(
                "{name} of {connections:>2} clients: {:.0}/s, {:.0?} of CPU ({ratio:.3} of bare), \
                 p50 {:.0?}, p99 {:.0?}",
                ours.rate, ours.cpu, ours.p50, ours.p99
            );
            ratios.print();
        }
    }
}

/// One address that does not stop: what it gets, and what refusing costs.
async fn flood(server: &Running) {
    let request = Request::new(HOME, None, None).flood();
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
