//! 28: descriptors and the log are exhausted in turn, while one address holds as many idle sockets
//! as it can.

use std::{
    io::{PipeReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU8, Ordering},
    },
    time::{Duration, Instant},
};

use cms_core::Secret;
use cms_http::client::{Client, Credential};
use tokio::task::JoinHandle;

use crate::{
    lab::{ITEM, Lab, OPEN, Run, post},
    report::Finding,
    support::{Answer, process},
};

pub const LANES: usize = 3;
const WRITERS: usize = 2;
/// Each delivery needs a connection of its own.
const CLOSING: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
/// More than the process may open.
const SOCKETS: usize = 400;
const FILES: &str = "256";

/// What the reader of the log does.
const READS: u8 = 0;
const WAITS: u8 = 1;
const IS_GONE: u8 = 2;

/// Ended when dropped.
struct Running {
    child: Child,
    address: SocketAddr,
    reader: Arc<AtomicU8>,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub async fn run(run: Arc<Run>) -> Vec<Finding> {
    let lab = lab(&run).await;
    let mut running = serve(&lab);
    let (done, address) = (Arc::new(AtomicBool::new(false)), running.address);
    let until = done.clone();
    let strangers = std::thread::spawn(move || hold(address, &until));
    let writers = writers(&lab, address, &done);
    let slice = Duration::from_secs(run.scaled(10, 3) as u64);
    let (mut healthy, mut slices) = (0, 0);
    for (files, reader) in [
        (None, READS),
        (Some("1"), READS),
        (Some(FILES), READS),
        (None, WAITS),
        (None, READS),
        (None, IS_GONE),
    ] {
        if let Some(files) = files {
            limit_files(running.child.id(), files);
        }
        running.reader.store(reader, Ordering::SeqCst);
        tokio::time::sleep(slice).await;
        if files != Some("1") {
            slices += 1;
            healthy += usize::from(is_healthy(address).await);
        }
    }
    done.store(true, Ordering::SeqCst);
    strangers.join().unwrap();
    let patience = Duration::from_secs(40);
    let (missing, delivered, duplicates) = kept(&lab, writers, 100, patience).await;
    let counted = lab
        .count(
            "select cast(coalesce(sum(failure_count), 0) as bigint) \
             + count(case when not active then 1 end) from cms_webhook_subscriptions",
        )
        .await;
    process::signal(running.child.id(), "-TERM");
    let code = running.child.wait().unwrap().code();
    vec![
        missing,
        Finding::equal("failures counted against receivers, receivers switched off", counted, 0),
        delivered,
        Finding::equal("duplicates", duplicates, 0),
        Finding::equal("answers of /healthz, whenever a file may be opened", healthy, slices),
        Finding::new("SIGTERM ends it with 0", format!("{code:?}"), code == Some(0)),
        lab.record.integrity(),
    ]
}

/// A site with receivers of every record.
pub async fn lab(run: &Run) -> Lab {
    let lab = Lab::new(run, |_, _| Answer::Raw(CLOSING.to_vec())).await;
    lab.subscribe(LANES, &[ITEM]).await;
    lab
}

/// When the writers have ended and nothing is left to deliver, or patience has ended: whether more
/// than `few` writes were acknowledged and all are stored, whether all arrived, and duplicates.
pub async fn kept(
    lab: &Lab,
    writers: Vec<JoinHandle<Vec<String>>>,
    few: usize,
    patience: Duration,
) -> (Finding, Finding, usize) {
    let mut written = Vec::new();
    for writer in writers {
        written.extend(writer.await.unwrap());
    }
    let delivered = lab.delivered_within(patience).await;
    let stored = lab.texts("select name from cms_settings where name like 'w%'").await;
    let missing = written.iter().filter(|name| !stored.contains(name)).count();
    let (arrived, duplicates) = lab.record.jobs_and_duplicates();
    let missing = Finding::new(
        "acknowledged writes that are missing: none",
        format!("{missing} of {}", written.len()),
        missing == 0 && written.len() > few,
    );
    let delivered = Finding::new(
        format!("{LANES} deliveries for each record that is stored, by themselves"),
        format!("{arrived} deliveries of {} records", stored.len()),
        delivered.is_some() && arrived == LANES * stored.len(),
    );
    (missing, delivered, duplicates)
}

/// Under a limit on files, with a log of which every request writes lines.
fn serve(lab: &Lab) -> Running {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let plain = process::command(&lab.database, &["serve", "--listen", &address.to_string()]);
    let (reader, writer) = std::io::pipe().unwrap();
    let limit = format!("ulimit -Sn {FILES}; ulimit -Hn {FILES}; exec \"$0\" \"$@\"");
    let mut bash = Command::new("bash");
    bash.args(["-c", &limit]).stdout(Stdio::null()).stderr(writer);
    let mut command = process::run_by(bash, &plain);
    let child = command.envs(OPEN).env("CMS_LOG", "trace").spawn().unwrap();
    // Only the child holds the other end from here.
    drop(command);
    let state = Arc::new(AtomicU8::new(READS));
    let own = state.clone();
    std::thread::spawn(move || read(reader, &own));
    let began = Instant::now();
    while TcpStream::connect(address).is_err() {
        assert!(began.elapsed() < Duration::from_secs(20), "it listens");
        std::thread::sleep(Duration::from_millis(20));
    }
    Running { child, address, reader: state }
}

fn read(mut log: PipeReader, state: &AtomicU8) {
    let mut part = [0; 16 << 10];
    loop {
        match state.load(Ordering::SeqCst) {
            IS_GONE => return,
            WAITS => std::thread::sleep(Duration::from_millis(20)),
            _ => {
                if matches!(log.read(&mut part), Ok(0) | Err(_)) {
                    return;
                }
            }
        }
    }
}

/// Opens idle sockets and keeps them; the oldest makes room for the next.
fn hold(address: SocketAddr, done: &AtomicBool) {
    let mut held = std::collections::VecDeque::with_capacity(SOCKETS);
    while !done.load(Ordering::SeqCst) {
        if let Ok(stream) = TcpStream::connect_timeout(&address, Duration::from_millis(200)) {
            held.push_back(stream);
        }
        if held.len() >= SOCKETS {
            held.pop_front();
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// Writers at a server, until it is done; each returns the names that were acknowledged.
pub fn writers(
    lab: &Lab,
    address: SocketAddr,
    done: &Arc<AtomicBool>,
) -> Vec<JoinHandle<Vec<String>>> {
    let begin = |writer| {
        let key = Credential::Key(Secret::new(lab.key.as_str()));
        let client = Client::remote(&format!("http://{address}"), &key).unwrap();
        tokio::spawn(write(client, writer, done.clone()))
    };
    (0..WRITERS).map(begin).collect()
}

async fn write(client: Client, writer: usize, done: Arc<AtomicBool>) -> Vec<String> {
    let mut written = Vec::new();
    for n in 0.. {
        if done.load(Ordering::SeqCst) {
            break;
        }
        let name = format!("w{writer}-{n}");
        let answered = tokio::time::timeout(Duration::from_secs(5), post(&client, &name)).await;
        if matches!(answered, Ok(Ok(()))) {
            written.push(name);
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    written
}

pub async fn is_healthy(address: SocketAddr) -> bool {
    let asked = tokio::task::spawn_blocking(move || {
        let limit = Duration::from_secs(5);
        let mut stream = TcpStream::connect_timeout(&address, limit)?;
        stream.set_read_timeout(Some(limit))?;
        stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")?;
        let mut reply = String::new();
        stream.read_to_string(&mut reply)?;
        Ok::<_, std::io::Error>(reply.starts_with("HTTP/1.1 200"))
    });
    matches!(asked.await, Ok(Ok(true)))
}

fn limit_files(pid: u32, soft: &str) {
    let set = Command::new("prlimit")
        .args(["--pid", &pid.to_string(), &format!("--nofile={soft}:")])
        .status();
    assert!(set.expect("prlimit of util-linux runs").success());
}
