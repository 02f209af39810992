//! One event to many subscriptions: how long its caller waits, and when all have it.

use std::{rc::Rc, time::Duration};

use futures_util::{StreamExt, stream};
use tokio::time::Instant;

use crate::{
    load::ms,
    receiver::{Manner, Receivers, duplicates},
    site::Site,
    size,
};

/// Receivers that share the subscriptions.
const RECEIVERS: usize = 100;
const EVENTS: usize = 3;

pub async fn print() {
    let subscriptions = size("CMS_BENCH_FAN_OUT", 10_000);
    let site = Rc::new(Site::start().await);
    let receivers = Receivers::start(vec![Manner::Prompt; RECEIVERS]).await;
    let began = Instant::now();
    let urls = receivers.urls.iter().cycle().take(subscriptions);
    stream::iter(urls)
        .map(|url| site.subscribe(url, &["item.things.created"]))
        .buffer_unordered(16)
        .for_each(async |()| {})
        .await;
    println!(
        "\n{subscriptions} subscriptions, made in {:.1} s; events one after the other:",
        began.elapsed().as_secs_f64()
    );
    println!(
        "{:>16} {:>16} {:>12} {:>12}",
        "caller waits ms", "all there s", "deliveries", "duplicates"
    );
    for _ in 0..EVENTS {
        receivers.forget();
        let (began, waited) = site.post("things", site.numbers(1)).await;
        let arrivals = receivers.wait(subscriptions, Duration::from_secs(60), |_| true).await;
        let last = arrivals.last().map_or(0.0, |arrival| (arrival.at - began).as_secs_f64());
        println!(
            "{:>16.1} {last:>16.2} {:>12} {:>12}",
            ms(waited),
            arrivals.len(),
            duplicates(&arrivals)
        );
        while !site.is_drained().await {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
    println!("goals: 100 ms, 60 s, none");
}
