//! 29: memory runs out under load, again and again. A process that dies of it is restarted, as
//! systemd would; one that lives must recover when there is memory again.

use std::{
    io::Write,
    net::{SocketAddr, TcpListener, TcpStream},
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use crate::{
    exhausted::{LANES, is_healthy, kept, lab, writers},
    lab::{Lab, OPEN, Run},
    report::Finding,
    support::process::{Served, command, kib},
};

/// Bodies that are sent at the same time, and their size.
const BODIES: usize = 24;
const BODY: usize = 900 << 10;
/// What a process may take beyond what it had when it was ready: enough for the first requests, too
/// little for all that come at the same time. It halves after each slice that no process died in:
/// how many bodies are held at one moment is chance.
const ROOM_KIB: u64 = 40 << 10;
/// The allocator asks for memory when it needs it. It would otherwise have much at the start, and
/// no limit would make it short.
const ON_DEMAND: (&str, &str) = ("MIMALLOC_ARENA_EAGER_COMMIT", "0");
/// Attempts of one lane that may be under way when a process dies.
const IN_FLIGHT: usize = 4;

pub async fn run(run: Arc<Run>) -> Vec<Finding> {
    let lab = lab(&run).await;
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut served = serve(&lab, address);
    let done = Arc::new(AtomicBool::new(false));
    let hogs: Vec<_> = (0..BODIES)
        .map(|_| {
            let (key, done) = (lab.key.clone(), done.clone());
            std::thread::spawn(move || send_bodies(address, &key, &done))
        })
        .collect();
    let writers = writers(&lab, address, &done);
    let (slices, slice) = (run.scaled(10, 3), Duration::from_secs(6));
    let (mut deaths, mut healthy, mut room_kib) = (0, 0, ROOM_KIB);
    for _ in 0..slices {
        let (ends, deaths_before) = (Instant::now() + slice / 2, deaths);
        limit_data(&served, &(data_kib(&served) + room_kib).saturating_mul(1024).to_string());
        while Instant::now() < ends {
            if served.child.try_wait().unwrap().is_some() {
                deaths += 1;
                served = serve(&lab, address);
                let most = (data_kib(&served) + room_kib).saturating_mul(1024);
                limit_data(&served, &most.to_string());
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        limit_data(&served, "unlimited");
        tokio::time::sleep(slice / 2).await;
        if served.child.try_wait().unwrap().is_some() {
            deaths += 1;
            served = serve(&lab, address);
        }
        healthy += usize::from(is_healthy(address).await);
        if deaths == deaths_before {
            room_kib /= 2;
        }
    }
    done.store(true, Ordering::SeqCst);
    for hog in hogs {
        hog.join().unwrap();
    }
    let patience = Duration::from_secs(60);
    let (missing, delivered, duplicates) = kept(&lab, writers, 20, patience).await;
    let off = "select count(*) from cms_webhook_subscriptions where not active";
    let off = lab.count(off).await;
    let (code, _) = served.terminate();
    vec![
        Finding::new(
            "memory was short: processes that died of it",
            format!("{deaths} in {slices} times"),
            deaths > 0,
        ),
        missing,
        Finding::equal("receivers switched off", off, 0),
        delivered,
        Finding::new(
            "duplicates: at most what was under way when a process died",
            duplicates.to_string(),
            duplicates <= deaths * LANES * IN_FLIGHT,
        ),
        Finding::equal("answers of /healthz, when there was memory again", healthy, slices),
        Finding::new("SIGTERM ends it with 0", format!("{code:?}"), code == Some(0)),
        lab.record.integrity(),
    ]
}

fn serve(lab: &Lab, address: SocketAddr) -> Served {
    let command = command(&lab.database, &["serve", "--listen", &address.to_string()]);
    let variables: Vec<_> = OPEN.iter().copied().chain([ON_DEMAND]).collect();
    Served::start_command(command, "error", &variables)
}

/// Sends bodies that are as large as they may be and no JSON, until it is done.
fn send_bodies(address: SocketAddr, key: &str, done: &AtomicBool) {
    let body = vec![b'['; BODY];
    let head = format!(
        "POST /api/backend/item?table=settings HTTP/1.1\r\nhost: x\r\nx-api-key: {key}\r\n\
         content-type: application/json\r\ncontent-length: {BODY}\r\nconnection: close\r\n\r\n"
    );
    while !done.load(Ordering::SeqCst) {
        if let Ok(mut stream) = TcpStream::connect_timeout(&address, Duration::from_millis(200)) {
            let (first, rest) = body.split_at(BODY - 1);
            let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(first));
            // All are there at the same time.
            std::thread::sleep(Duration::from_millis(100));
            let _ = stream.write_all(rest);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn data_kib(served: &Served) -> u64 {
    kib(served.child.id(), "VmData").unwrap_or_default() as u64
}

fn limit_data(served: &Served, soft: &str) {
    // It may have died a moment ago.
    let _ = Command::new("prlimit")
        .args(["--pid", &served.child.id().to_string(), &format!("--data={soft}:")])
        .stderr(std::process::Stdio::null())
        .status()
        .expect("prlimit of util-linux runs");
}
