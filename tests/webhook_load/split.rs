//! Where the CPU time of a delivery goes: the burst to 100 subscriptions under `perf`.

use std::{
    path::Path,
    process::{Child, Command, Stdio},
    rc::Rc,
};

use crate::{
    load::{self, Pace, ms},
    receiver::{Manner, Receivers},
    site::Site,
    size,
};

const SUBSCRIPTIONS: usize = 100;
/// Samples of each second of CPU time.
const FREQUENCY: &str = "997";

/// A sample belongs to the first part that has one of these words in its thread's name or in any
/// of its functions. Claims and settlements share a change, and their functions are one after
/// optimisation; what they ask for runs on SQLite's thread.
const PARTS: [(&str, &[&str]); 6] = [
    ("log", &["thread:log", "cms_cli::log", "tracing_subscriber"]),
    ("guard", &["outbound::guard", "outbound::address"]),
    ("client", &["outbound::client", "hyper_util::client", "hyper::client", "reqwest"]),
    ("request and signature", &["deliver::request", "rules::sign"]),
    ("queue and settlement", &["webhooks::deliver"]),
    ("SQLite", &["thread:sqlx"]),
];
const REST: &str = "write, runtime";

pub async fn print() {
    if Command::new("perf").arg("version").stdout(Stdio::null()).status().is_err() {
        println!(
            "\nskipped: where the CPU time goes; `perf` (package linux-perf) is not installed"
        );
        return;
    }
    let events = size("CMS_BENCH_BURST", 300);
    let site = Rc::new(Site::start().await);
    let receivers = Receivers::start(vec![Manner::Prompt; SUBSCRIPTIONS]).await;
    for url in &receivers.urls {
        site.subscribe(url, &["item.things.created"]).await;
    }
    load::run(&site, &receivers, Pace::Full, 20, 20 * SUBSCRIPTIONS, |_| true).await;
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("perf.data");
    let recorder = record(site.pid(), &file);
    let outcome =
        load::run(&site, &receivers, Pace::Full, events, events * SUBSCRIPTIONS, |_| true).await;
    stop(recorder);
    let parts = parts(&file);
    let samples: usize = parts.iter().map(|(_, count)| count).sum();
    let each = ms(outcome.cpu[0]) / outcome.deliveries as f64;
    println!("\nWhere {each:.3} ms CPU of a delivery go: 100 subscriptions, burst");
    println!("({samples} samples; the sampling itself is in the sum)");
    for (part, count) in parts {
        let share = count as f64 / samples as f64;
        println!("{part:<24} {:>5.1} %  {:.4} ms", share * 100.0, share * each);
    }
}

fn record(pid: u32, file: &Path) -> Child {
    let pid = pid.to_string();
    let child = Command::new("perf")
        .args(["record", "-q", "-e", "cpu-clock", "-F", FREQUENCY, "-p", &pid])
        .args(["--call-graph", "dwarf,16384", "-o"])
        .arg(file)
        .stdout(Stdio::null())
        .spawn();
    child.expect("perf starts")
}

/// `perf` writes its file when it is interrupted.
fn stop(mut recorder: Child) {
    let pid = recorder.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().expect("kill").success());
    recorder.wait().expect("perf ends");
}

/// Samples of each part.
fn parts(file: &Path) -> Vec<(&'static str, usize)> {
    let output = Command::new("perf")
        .args(["script", "-F", "comm,ip,sym", "-i"])
        .arg(file)
        .stderr(Stdio::null())
        .output()
        .expect("perf reads its file");
    let text = String::from_utf8_lossy(&output.stdout);
    let mut parts = PARTS.map(|(name, _)| (name, 0)).to_vec();
    parts.push((REST, 0));
    for sample in text.split("\n\n").filter(|sample| !sample.trim().is_empty()) {
        let sample = format!("thread:{}", sample.trim_start());
        let has = |(_, words): &(&str, &[&str])| words.iter().any(|word| sample.contains(word));
        parts[PARTS.iter().position(has).unwrap_or(PARTS.len())].1 += 1;
    }
    parts
}
