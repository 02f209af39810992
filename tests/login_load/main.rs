//! Logins at the real `cms serve`: whether time tells who has an account, and whether a storm of
//! logins delays visitors.
//!
//! `cargo build --release -p cms-cli && cargo bench -p cms-tests --bench login_load`. Loopback
//! only; ends by itself after half a minute.

#[path = "../support/bench.rs"]
mod bench;

use std::{
    io::{Read, Write},
    net::TcpStream,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use bench::support::{
    TestDatabase,
    people::PASSWORD,
    process::{self, Served},
};

const SAMPLES: u32 = 300;
const LOGINS: u32 = 200;

fn main() {
    // `cargo test --benches` builds this too; it has nothing to test.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let site = Site::start(runtime.block_on(TestDatabase::sqlite()));
    timing(&site);
    storm(&site);
}

/// A user who does not exist and a wrong password, in turn, each from an address of its own.
fn timing(site: &Site) {
    let (mut unknown, mut wrong) = (Vec::new(), Vec::new());
    for n in 0..SAMPLES {
        unknown.push(site.login(n, "nobody", "a wrong password", 401));
        wrong.push(site.login(n + SAMPLES, "ana", "a wrong password", 401));
    }
    println!("{SAMPLES} logins each, ms    p5     p25     p50     p75     p95");
    for (name, times) in [("unknown user", &mut unknown), ("wrong password", &mut wrong)] {
        times.sort_unstable();
        let shares = [0.05, 0.25, 0.5, 0.75, 0.95]
            .map(|share| format!("{:>8.2}", at(times, share).as_secs_f64() * 1000.0));
        println!("{name:<20}{}", shares.concat());
    }
    let (low, high) = (at(&wrong, 0.05), at(&wrong, 0.95));
    let inside = unknown.iter().filter(|time| (low..=high).contains(time)).count();
    println!(
        "unknown users within p5 to p95 of wrong passwords: {:.0} % (90 % when nothing can be \
         told)",
        100.0 * inside as f64 / f64::from(SAMPLES)
    );
}

/// A cached page is asked for every two milliseconds, first alone, then while many log in at once.
fn storm(site: &Site) {
    let mut alone = probe(site, || std::thread::sleep(Duration::from_secs(3)));
    let began = Instant::now();
    let mut during = probe(site, || {
        std::thread::scope(|scope| {
            for n in 0..LOGINS {
                scope.spawn(move || site.login(1_000_000 + n, "ana", PASSWORD, 200));
            }
        });
    });
    println!(
        "\n{LOGINS} logins at once took {:.1} s; a cached GET meanwhile:",
        began.elapsed().as_secs_f64()
    );
    println!("                  requests      p50      p99");
    for (name, times) in [("alone", &mut alone), ("during the storm", &mut during)] {
        times.sort_unstable();
        println!("{name:<18}{:>8} {:>8.2?} {:>8.2?}", times.len(), at(times, 0.5), at(times, 0.99));
    }
    println!("goal: p99 under 50 ms during the storm");
}

fn probe(site: &Site, work: impl FnOnce()) -> Vec<Duration> {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let probe = scope.spawn(|| {
            let mut times = Vec::new();
            let mut stream = TcpStream::connect(site.served.address()).expect("a connection");
            while !done.load(Ordering::Relaxed) {
                let began = Instant::now();
                write!(stream, "GET /api/pages HTTP/1.1\r\nhost: cms.example\r\n\r\n")
                    .expect("sent");
                let mut reply = [0; 4096];
                let length = stream.read(&mut reply).expect("a reply");
                times.push(began.elapsed());
                assert!(reply[..length].starts_with(b"HTTP/1.1 200"));
                std::thread::sleep(Duration::from_millis(2));
            }
            times
        });
        work();
        done.store(true, Ordering::Relaxed);
        probe.join().expect("probed")
    })
}

fn at(sorted: &[Duration], share: f64) -> Duration {
    sorted.get((sorted.len() as f64 * share) as usize).copied().unwrap_or_default()
}

struct Site {
    served: Served,
    _database: TestDatabase,
}

impl Site {
    fn start(database: TestDatabase) -> Self {
        let key = format!("x-api-key: {}\r\n", process::init(&database));
        let proxies = [("CMS_TRUSTED_PROXIES", "127.0.0.0/8")];
        let site =
            Self { served: Served::start_with(&database, "info", &proxies), _database: database };
        site.post("/api/backend/user_groups", &key, r#"{"name":"editors"}"#, 201);
        let user = format!(r#"{{"username":"ana","password":"{PASSWORD}","groups":["editors"]}}"#);
        site.post("/api/backend/users", &key, &user, 201);
        site
    }

    /// How long the reply took to come.
    fn login(&self, from: u32, name: &str, password: &str, status: u16) -> Duration {
        let [_, b, c, d] = from.to_be_bytes();
        let body = format!(r#"{{"username":"{name}","password":"{password}"}}"#);
        self.post(
            "/api/backend/auth/login",
            &format!("x-forwarded-for: 20.{b}.{c}.{d}\r\n"),
            &body,
            status,
        )
    }

    fn post(&self, path: &str, headers: &str, body: &str, status: u16) -> Duration {
        let mut stream = TcpStream::connect(self.served.address()).expect("a connection");
        let request = format!(
            "POST {path} HTTP/1.1\r\nhost: cms.example\r\n{headers}content-type: \
             application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        );
        let began = Instant::now();
        stream.write_all(request.as_bytes()).expect("sent");
        let mut reply = String::new();
        stream.read_to_string(&mut reply).expect("a reply");
        assert!(reply.starts_with(&format!("HTTP/1.1 {status}")), "{reply}");
        began.elapsed()
    }
}
