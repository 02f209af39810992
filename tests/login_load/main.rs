//! Logins at the real `cms serve`: whether time tells who has an account, and whether a storm of
//! logins delays visitors.
//!
//! `cargo build --release -p cms-cli && cargo bench -p cms-tests --bench login_load`. Loopback
//! only; ends by itself after half a minute.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::Path,
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

const PASSWORD: &str = "correct horse battery";
const SAMPLES: u32 = 300;
const LOGINS: u32 = 200;

fn main() {
    // `cargo test --benches` builds this too; it has nothing to test.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let site = Site::start(folder.path());
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
            let mut stream = TcpStream::connect(&site.address).expect("a connection");
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
    child: Child,
    address: String,
}

impl Site {
    fn start(folder: &Path) -> Self {
        let me = std::env::current_exe().expect("a path");
        let binary = me.parent().and_then(|deps| deps.parent()).expect("a folder").join("cms");
        assert!(
            binary.is_file(),
            "{} is missing: cargo build --release -p cms-cli",
            binary.display()
        );
        let command = |arguments: &[&str]| {
            let mut command = Command::new(&binary);
            command.arg("--dir").arg(folder).args(arguments);
            command
        };
        assert!(command(&["init", "-q"]).status().expect("started").success());
        let key = command(&["keys", "create", "-q", "--name", "load", "--right", "*"])
            .output()
            .expect("a key")
            .stdout;
        let key = String::from_utf8(key).expect("text");
        let mut child = command(&["serve", "--listen", "127.0.0.1:0"])
            .envs([("CMS_LIMITER__STORE", "off"), ("CMS_TRUSTED_PROXIES", "127.0.0.0/8")])
            .stderr(Stdio::piped())
            .spawn()
            .expect("started");
        let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
        let address = loop {
            let line = lines.next().expect("the server is ready some time").expect("a line");
            if let Some(address) = line.strip_prefix("ready http://") {
                break address.to_owned();
            }
        };
        std::thread::spawn(move || lines.for_each(drop));
        let site = Self { child, address };
        let key = format!("x-api-key: {}\r\n", key.trim());
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
        let mut stream = TcpStream::connect(&self.address).expect("a connection");
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

impl Drop for Site {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
