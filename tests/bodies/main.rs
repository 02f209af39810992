//! Memory of the real `cms serve` while 60 connections send each route the worst bodies that fit
//! its limits: peak and rest above what the server had before, and whether it serves on in 1 GB of
//! address space.
//!
//! `cargo build --release -p cms-cli && cargo bench -p cms-tests --bench bodies`; `-- step login`
//! sends to these routes alone, `BODIES_REST_S` sets how long the rest is waited for. Needs
//! `prlimit`. Loopback only; ends by itself after about five minutes, with 1 when a bound does not
//! hold.

mod cases;
mod server;

use std::time::{Duration, Instant};

use cases::Case;
use server::{Limiter, Server};

const MIB: u64 = 1024;
/// Bounds above what the server had before, in MiB.
const PEAK: u64 = 150;
const REST: u64 = 30;
/// Address space of the process that must serve on through all of it.
const ADDRESSES: &str = "1000000000";

fn main() {
    // `cargo test --benches` builds this too; it has nothing to test.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let asked: Vec<_> = std::env::args().skip(1).filter(|name| !name.starts_with('-')).collect();
    let is_asked = |name: &str| asked.is_empty() || asked.iter().any(|one| one == name);
    let names: Vec<_> = cases::NAMES.iter().copied().filter(|name| is_asked(name)).collect();
    let mut good = true;
    for limiter in [Limiter::OneAddress, Limiter::Off] {
        good &= memory(limiter, &names);
    }
    for limiter in [Limiter::OneAddress, Limiter::Off] {
        good &= narrow(limiter, &names);
    }
    std::process::exit(i32::from(!good));
}

/// Each route at a server of its own, so that no figure depends on the others.
fn memory(limiter: Limiter, names: &[&'static str]) -> bool {
    let rest = std::env::var("BODIES_REST_S").ok().and_then(|text| text.parse().ok()).unwrap_or(60);
    println!("\n{limiter:?}: MiB above the server at rest; a minute later: after {rest} s\n");
    println!("{:<14}{:>8}{:>8}{:>10}  replies", "route", "before", "peak", "rest");
    let burst = |name: &'static str| {
        let server = Server::start(limiter, None);
        let case = Case::of(name, &server);
        let before = server.settled(&case);
        let replies = server.burst(&case);
        (name, before, server.peak_kib(), replies, Instant::now(), server)
    };
    let mut good = true;
    for (name, before, peak, replies, ended, server) in
        names.iter().copied().map(burst).collect::<Vec<_>>()
    {
        std::thread::sleep(Duration::from_secs(rest).saturating_sub(ended.elapsed()));
        let [peak, rest] =
            [peak, server.resident_kib()].map(|kib| kib.saturating_sub(before) / MIB);
        let holds = peak <= PEAK && rest <= REST && server.answers();
        let mark = if holds { "" } else { "  TOO MUCH" };
        println!("{name:<14}{:>8}{peak:>8}{rest:>10}  {replies}{mark}", before / MIB);
        good &= holds;
    }
    good
}

/// All routes in turn at one process that has little address space.
fn narrow(limiter: Limiter, names: &[&'static str]) -> bool {
    let mut server = Server::start(limiter, Some(ADDRESSES));
    for name in names {
        let case = Case::of(name, &server);
        server.burst(&case);
        if !server.answers() {
            println!("{limiter:?}: {name} ended a process of {ADDRESSES} bytes: {}", server.end());
            return false;
        }
    }
    let highest = server.peak_kib() / MIB;
    println!("{limiter:?}: a process of {ADDRESSES} bytes served on; {highest} MiB at most");
    true
}
