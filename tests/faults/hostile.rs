//! 9: receivers that never answer, drip, never end, send 100 MB, ten thousand headers, a bomb.

use std::{
    process::Command,
    sync::Arc,
    time::{Duration, Instant},
};

use crate::{
    lab::{EVENT, Lab, Run},
    record::LANE,
    report::Finding,
    support::{Answer, process::kib},
};

/// Jobs for each receiver: all of them are attempted at once.
const JOBS: usize = 4;
/// An attempt, and half a second.
const LIMIT_MS: i64 = 10_500;
const GROWTH_KIB: usize = 20 << 10;

/// What it does, and what the log must say of it.
const RECEIVERS: [(&str, &str); 6] = [
    ("never answers", "timeout"),
    ("sends a byte a second", "timeout"),
    ("never ends its body", "delivered"),
    ("sends a body of 100 MB", "delivered"),
    ("sends 10,000 headers", "protocol"),
    ("sends a gzip bomb", "delivered"),
];

pub async fn run(run: Arc<Run>) -> Vec<Finding> {
    let answers = answers();
    let lab = Lab::new(&run, move |_, delivery| {
        let lane: usize = delivery.headers[LANE].parse().unwrap();
        answers.get(lane - 1).cloned().unwrap_or(Answer::Status(200))
    })
    .await;
    let ids = lab.subscribe(RECEIVERS.len(), &[EVENT]).await;
    lab.subscribe(JOBS * RECEIVERS.len(), &["user.registered"]).await;
    let served = lab.serve(&[], &[]);
    // As many attempts at once, of the harmless kind.
    lab.emit("user.registered", 20).await;
    lab.delivered_within(Duration::from_secs(30)).await;
    let peak_kib = || kib(served.child.id(), "VmHWM").unwrap();
    let before = peak_kib();
    lab.emit(EVENT, JOBS).await;
    let (began, attempts) = (Instant::now(), JOBS * RECEIVERS.len());
    let log = "from cms_webhook_deliveries where event_name = 'order.created'";
    while lab.count(&format!("select count(*) {log}")).await < i64::try_from(attempts).unwrap()
        && began.elapsed() < Duration::from_secs(20)
    {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    // The kernel counts pages by the batch: what was the peak may read as a little less.
    let growth = peak_kib().saturating_sub(before);
    drop(served);
    let mut findings = Vec::new();
    for ((what, expected), id) in RECEIVERS.iter().zip(ids) {
        let mut outcomes =
            lab.texts(&format!("select distinct outcome {log} and subscription_id = {id}")).await;
        outcomes.sort();
        let longest = "select coalesce(max(duration_ms), 999999)";
        let longest = lab.count(&format!("{longest} {log} and subscription_id = {id}")).await;
        findings.push(Finding::new(
            format!("one that {what}: `{expected}` in ≤ 10.5 s"),
            format!("{} after {:.2} s at most", outcomes.join(", "), longest as f64 / 1000.0),
            outcomes == [*expected] && longest <= LIMIT_MS,
        ));
    }
    findings.push(Finding::new(
        format!("memory of the worker grows by < 20 MB, {attempts} such attempts at once"),
        format!("{:.1} MB, from {:.1} MB", growth as f64 / 1024.0, before as f64 / 1024.0),
        growth < GROWTH_KIB,
    ));
    findings
}

fn answers() -> Vec<Answer> {
    let megabyte = "x".repeat(1 << 20);
    // Sent again and again, until nobody reads it any more.
    let endless = |head: &str| {
        let reply = format!("HTTP/1.1 200 OK\r\n{head}\r\n{megabyte}");
        Answer::Drip(reply.leak().as_bytes(), Duration::ZERO)
    };
    let headers: String = (0..10_000).map(|n| format!("x-header-{n}: {n}\r\n")).collect();
    let zeros = ["-c", "head -c 100000000 /dev/zero | gzip -9"];
    let packed = Command::new("sh").args(zeros).output().expect("gzip runs").stdout;
    let bomb = [b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\n\r\n".as_slice(), &packed].concat();
    vec![
        Answer::Silence,
        Answer::Drip(b"HTTP/1.1 200 OK\r\n\r\n.", Duration::from_secs(1)),
        endless(""),
        endless("content-length: 104857600\r\n"),
        Answer::Raw(format!("HTTP/1.1 200 OK\r\n{headers}\r\n").into_bytes()),
        Answer::Raw(bomb),
    ]
}
