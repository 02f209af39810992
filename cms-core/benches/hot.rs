//! What every request costs before its handler runs: limiter, key, rights. Times by criterion, then
//! each as a multiple of one SHA-256 over 50 bytes, measured in turn, so that figures of different
//! machines can be compared.
//!
//! `cargo bench -p cms-core`

#![expect(clippy::print_stdout, reason = "figures are what it is for")]

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use cms_core::{
    Actor, Cms,
    access::KeyCall,
    access::Right,
    keys::{NewApiKey, PlainKey},
    settings::Settings,
    traffic::limiter::{
        Memory,
        bucket::{self, Owner},
    },
};
use criterion::Criterion;
use sha2::{Digest, Sha256};

struct Bench {
    criterion: Criterion,
    /// Name and share of the baseline, in the order of the runs.
    ratios: Vec<(String, f64)>,
}

fn main() {
    let criterion = Criterion::default()
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1));
    let mut bench = Bench { criterion: criterion.configure_from_args(), ratios: Vec::new() };
    limiter(&mut bench);
    keys(&mut bench);
    rights(&mut bench);
    bench.criterion.final_summary();
    println!("\nas a multiple of SHA-256 over 50 bytes:");
    for (name, ratio) in bench.ratios {
        println!("{name:<40} {ratio:>7.2}");
    }
}

impl Bench {
    fn run<T>(&mut self, name: &str, mut work: impl FnMut() -> T) {
        self.criterion.bench_function(name, |bencher| bencher.iter(&mut work));
        let ratio = ratio(&mut work);
        self.ratios.push((name.to_owned(), ratio));
    }
}

/// The median of 15 short runs in turn with the baseline.
fn ratio<T>(work: &mut impl FnMut() -> T) -> f64 {
    let text = [b'x'; 50];
    let mut ratios: Vec<f64> = (0..15)
        .map(|_| {
            let base = time(&mut || Sha256::digest(black_box(text)));
            time(work) / base
        })
        .collect();
    ratios.sort_by(f64::total_cmp);
    ratios[7]
}

fn time<T>(work: &mut impl FnMut() -> T) -> f64 {
    let began = Instant::now();
    for _ in 0..5_000 {
        black_box(work());
    }
    began.elapsed().as_secs_f64()
}

fn limiter(bench: &mut Bench) {
    let hot = Memory::default();
    let mut now = 0;
    bench.run("limiter: one key", || {
        now += 1;
        hot.take(&[(black_box(Owner::Key(1)), bucket::KEY)], now)
    });
    let both = Memory::default();
    bench.run("limiter: one address, two buckets", || {
        now += 1;
        let owner = black_box(Owner::Network(1));
        both.take(&[(owner, bucket::PUBLIC), (owner, bucket::FUNNEL_START)], now)
    });
    // Time stands still: nothing gets full, so nothing is dropped.
    let many = Memory::default();
    for id in 0..1_000_000 {
        many.take(&[(Owner::Key(id), bucket::KEY)], 0);
    }
    let mut id = 0_i64;
    bench.run("limiter: a million keys in turn", || {
        id = (id + 387_911) % 1_000_000;
        many.take(&[(black_box(Owner::Key(id)), bucket::KEY)], 0)
    });
}

fn keys(bench: &mut Bench) {
    let good = fresh_key();
    let mistyped = good.replace("_k1_", "_k1_x");
    let mistyped = &mistyped[..good.len()];
    assert!(PlainKey::parse(&good).is_some() && PlainKey::parse(mistyped).is_none());
    bench.run("key: parse, good", || PlainKey::parse(black_box(&good)));
    bench.run("key: parse, mistyped", || PlainKey::parse(black_box(mistyped)));
    let key = PlainKey::parse(&good).expect("a key");
    bench.run("key: hash", || black_box(&key).hash());
}

fn fresh_key() -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let mut settings = Settings::default();
    settings.dirs.data = folder.path().to_owned();
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let cms = Cms::open(settings).await.expect("a site");
        let mut change = cms.change(Actor::System).await.expect("a change");
        let new = NewApiKey::new("bench");
        let (_, value) = cms.keys().create(&mut change, &[], new).await.expect("a key");
        value.expose().to_owned()
    })
}

fn rights(bench: &mut Bench) {
    let query = [("table".to_owned(), "orders".to_owned()), ("id".to_owned(), "7".to_owned())];
    let call =
        KeyCall { method: "GET", path: "/api/backend/item", query: &query, body_table: None };
    for rows in [1, 20, 200] {
        // The row that allows it is the last one.
        let row = |n: usize| {
            format!(
                "GET,PATCH /api/backend/item?table={}",
                if n == rows { "orders".into() } else { format!("t{n}") }
            )
        };
        let rights: Vec<Right> =
            (1..=rows).map(|n| Right::parse(&row(n)).expect("a right")).collect();
        let name = format!("rights: the last of {rows} rows");
        bench.run(&name, || black_box(&rights).iter().any(|right| right.allows(black_box(&call))));
    }
}
