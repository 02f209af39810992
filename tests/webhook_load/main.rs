//! Deliveries of the real `cms serve`: how many, how soon, at what cost, beside what was measured
//! of Svix on such a machine.
//!
//! `cargo build --release -p cms-cli && cargo bench -p cms-tests --bench webhooks`, with
//! `.ci/postgres --durable` in front of it on PostgreSQL. The service is pinned to core 0; the
//! poster, the receiver and PostgreSQL run on core 1, as in the measurement of Svix. Loopback only;
//! ends by itself after about two minutes. SQLite runs with `synchronous = FULL`, as always.
//!
//! Sizes, by variables:
//!
//! | variable | default | |
//! |---|---|---|
//! | `CMS_BENCH_EVENTS` | 5000 | events of the saturated run with one subscription |
//! | `CMS_BENCH_BURST` | 300 | events of the burst with 100 |
//! | `CMS_BENCH_RATE` | 664 | events a second with one subscription at part load |
//! | `CMS_BENCH_SECONDS` | 10 | length of each run at part load |
//! | `CMS_BENCH_FAN_OUT` | 10000 | subscriptions that one event goes to |
//! | `CMS_BENCH_BACKLOG` | 10000 | jobs that wait for the dead receiver |
//! | `CMS_BENCH_FAULTS_RATE` | 30; PostgreSQL 5 | events a second beside the dead receiver |
//! | `CMS_BENCH_ONLY` | | `rates`, `fan_out`, `faults` or `split`: that part alone |

#[path = "../support/bench.rs"]
mod bench;
mod fan_out;
mod faults;
mod load;
mod rates;
mod receiver;
mod site;
mod split;
mod usage;

use bench::{durable, support};

fn main() {
    // `cargo test --benches` builds this too; it has nothing to test.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let only = std::env::var("CMS_BENCH_ONLY").unwrap_or_default();
    let wanted = |part: &str| only.is_empty() || only == part;
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let server = support::database::server();
    let engine = if server.is_some() { "PostgreSQL" } else { "SQLite" };
    let fsync = if runtime.block_on(durable(server)) { "on" } else { "off" };
    println!("{engine}, fsync {fsync}");
    // What a part leaves running in its set ends with it.
    let part = |name: &str, run: &dyn Fn(&tokio::task::LocalSet)| {
        if wanted(name) {
            run(&tokio::task::LocalSet::new());
        }
    };
    part("rates", &|set| set.block_on(&runtime, rates::print()));
    part("fan_out", &|set| set.block_on(&runtime, fan_out::print()));
    part("faults", &|set| set.block_on(&runtime, faults::print()));
    part("split", &|set| set.block_on(&runtime, split::print()));
}

/// A size that a variable may change.
pub fn size(variable: &str, default: usize) -> usize {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}
