//! One dead and one slow receiver among 100: what the others notice.

use std::{rc::Rc, time::Duration};

use crate::{
    load::{self, Pace, at, ms},
    receiver::{Manner, Receivers},
    site::Site,
    size,
};

const RECEIVERS: usize = 100;
/// Those whose delays do not count.
const FAULTY: [Manner; 2] = [Manner::Dead, Manner::Slow(Duration::from_secs(9))];

/// Less than what either engine can do: a queue that only grows shows no delays.
fn rate() -> usize {
    size("CMS_BENCH_FAULTS_RATE", if crate::support::database::server().is_some() { 5 } else { 30 })
}

pub async fn print() {
    let backlog = size("CMS_BENCH_BACKLOG", 10_000);
    let rate = rate();
    println!(
        "\n{rate} events/s to {RECEIVERS} receivers; delays of the {} healthy ones:",
        RECEIVERS - FAULTY.len()
    );
    println!("{:<56} {:>9} {:>9} {:>9}", "", "p50 ms", "p99 ms", "most ms");
    let sound = delays([Manner::Prompt; 2], 0).await;
    row("no faults", &sound);
    let faulty = delays(FAULTY, backlog).await;
    row(&format!("1 dead with {backlog} jobs queued, 1 that takes 9 s"), &faulty);
    println!("p99 ratio: {:.2} (goal: at most 2)", ms(at(&faulty, 0.99)) / ms(at(&sound, 0.99)));
}

async fn delays(faulty: [Manner; 2], backlog: usize) -> Vec<Duration> {
    let site = Rc::new(Site::start().await);
    let healthy = RECEIVERS - faulty.len();
    let receivers = Receivers::start(faulty.into_iter().chain(vec![Manner::Prompt; healthy])).await;
    for (number, url) in receivers.urls.iter().enumerate() {
        let events: &[&str] = if number == 0 {
            &["item.things.created", "item.backlog.created"]
        } else {
            &["item.things.created"]
        };
        site.subscribe(url, events).await;
    }
    for first in (0..backlog).step_by(1000) {
        site.post("backlog", site.numbers(1000.min(backlog - first))).await;
    }
    let events = rate() * size("CMS_BENCH_SECONDS", 10);
    let counts = |arrival: &crate::receiver::Arrival| arrival.receiver >= 2;
    let outcome =
        load::run(&site, &receivers, Pace::PerSecond(rate()), events, events * healthy, counts)
            .await;
    assert_eq!(outcome.deliveries, events * healthy, "the healthy ones got everything");
    outcome.delays
}

fn row(name: &str, delays: &[Duration]) {
    println!(
        "{name:<56} {:>9.1} {:>9.1} {:>9.1}",
        ms(at(delays, 0.5)),
        ms(at(delays, 0.99)),
        delays.last().map_or(0.0, |most| ms(*most))
    );
}
