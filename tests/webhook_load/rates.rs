//! One and 100 subscriptions, saturated and at part load, beside Svix.

use std::rc::Rc;

use crate::{
    load::{self, Outcome, Pace, at, ms},
    receiver::{Manner, Receivers, duplicates},
    site::Site,
    size,
};

/// Svix server 1.100 on a 2-core machine of the kind this project is built on (2026-11-21): its
/// server on core 0, PostgreSQL 15, Redis 7 and the receiver on core 1; messages made through its
/// API. From the project's performance baselines.
struct Svix {
    rate: f64,
    /// CPU of a delivery in ms: server, PostgreSQL, Redis.
    cpu_ms: [f64; 3],
    /// p50 and p99.
    delays_ms: [f64; 2],
    /// Memory of the server alone, in MB.
    memory: Option<f64>,
}

/// 1 subscription, saturated and at part load; 100, in a burst and at part load.
const SVIX: [Svix; 4] = [
    Svix { rate: 1330.0, cpu_ms: [0.59, 0.57, 0.10], delays_ms: [30.0, 46.0], memory: Some(43.0) },
    Svix { rate: 664.0, cpu_ms: [0.88, 0.87, 0.19], delays_ms: [2.7, 9.1], memory: None },
    Svix {
        rate: 6040.0,
        cpu_ms: [0.111, 0.113, 0.0],
        delays_ms: [437.0, 502.0],
        memory: Some(130.0),
    },
    Svix { rate: 3005.0, cpu_ms: [0.111, 0.151, 0.0], delays_ms: [5.6, 11.9], memory: Some(97.0) },
];

struct Case {
    name: &'static str,
    pace: Pace,
    events: usize,
    svix: Svix,
}

pub async fn print() {
    let seconds = size("CMS_BENCH_SECONDS", 10);
    let rate = size("CMS_BENCH_RATE", 664);
    let part =
        |name, rate, svix| Case { name, pace: Pace::PerSecond(rate), events: rate * seconds, svix };
    let full = |name, events, svix| Case { name, pace: Pace::Full, events, svix };
    println!(
        "\nCPU of a delivery: of all processes, the write of the item included; \
         then without what the same writes cost when nobody listens"
    );
    println!(
        "{:<32} {:>12} {:>9} {:>9} {:>9} {:>12} {:>8} {:>8} {:>6}",
        "", "deliveries/s", "CPU ms", "no write", "database", "per CPU-s", "p50 ms", "p99 ms", "MB"
    );
    let [one, one_part, many, many_part] = SVIX;
    let one = full("1 subscription, saturated", size("CMS_BENCH_EVENTS", 5000), one);
    cases(1, [one, part("1 subscription, part load", rate, one_part)]).await;
    let many = full("100 subscriptions, burst", size("CMS_BENCH_BURST", 300), many);
    cases(100, [many, part("100 subscriptions, 30 events/s", 30, many_part)]).await;
    println!("goals: 10 times Svix per CPU-second; p99 at part load under 10 ms");
}

/// Each first with nobody who listens, then with all who do.
async fn cases(subscriptions: usize, cases: [Case; 2]) {
    let site = Rc::new(Site::start().await);
    let receivers = Receivers::start(vec![Manner::Prompt; subscriptions]).await;
    load::run(&site, &receivers, Pace::Full, 100, 0, |_| true).await;
    let mut writes = Vec::new();
    for case in &cases {
        writes.push(load::run(&site, &receivers, case.pace, case.events, 0, |_| true).await);
    }
    for url in &receivers.urls {
        site.subscribe(url, &["item.things.created"]).await;
    }
    for (case, write) in cases.iter().zip(&writes) {
        let expected = case.events * subscriptions;
        let outcome =
            load::run(&site, &receivers, case.pace, case.events, expected, |_| true).await;
        assert!(site.is_drained().await, "everything is written down");
        let found = (outcome.deliveries, duplicates(&outcome.arrivals));
        assert_eq!(found, (expected, 0), "each exactly once");
        compare(case, write, &outcome);
    }
}

fn compare(case: &Case, write: &Outcome, ours: &Outcome) {
    let each = |cpu: std::time::Duration| ms(cpu) / ours.deliveries as f64;
    let all = each(ours.cpu.iter().sum());
    let rate = ours.deliveries as f64 / ours.elapsed.as_secs_f64();
    let no_write = all - each(write.cpu.iter().sum());
    let (p50, p99) = (ms(at(&ours.delays, 0.5)), ms(at(&ours.delays, 0.99)));
    let mb = |kib: u64| kib as f64 * 1024.0 / 1e6;
    println!(
        "{:<32} {rate:>12.0} {all:>9.3} {no_write:>9.3} {:>9.3} {:>12.0} {p50:>8.1} {p99:>8.1} \
         {:>6.0}{}",
        case.name,
        each(ours.cpu[1]),
        1000.0 / all,
        mb(ours.kib[0]),
        if ours.kib[1] > 0 { format!(" + {:.0}", mb(ours.kib[1])) } else { String::new() },
    );
    let svix = &case.svix;
    let cpu: f64 = svix.cpu_ms.iter().sum();
    println!(
        "{:<32} {:>12.0} {cpu:>9.3} {:>9} {:>9.3} {:>12.0} {:>8.1} {:>8.1} {:>6}",
        "  Svix",
        svix.rate,
        "",
        svix.cpu_ms[1] + svix.cpu_ms[2],
        1000.0 / cpu,
        svix.delays_ms[0],
        svix.delays_ms[1],
        svix.memory.map(|mb| format!("{mb:.0}")).unwrap_or_default()
    );
    println!(
        "{:<32} {:>12.2} {:>9.3} {:>9.3} {:>9} {:>12.1} {:>8.2} {:>8.2}",
        "  ours to Svix",
        rate / svix.rate,
        all / cpu,
        no_write / cpu,
        "",
        cpu / all,
        p50 / svix.delays_ms[0],
        p99 / svix.delays_ms[1]
    );
}
