//! The log cannot be written: its disk is full, its reader is gone or does not read.

use std::{
    io::{PipeReader, Read},
    net::{TcpListener, TcpStream},
    process::{Child, Stdio},
    time::{Duration, Instant},
};

use cms_core::Secret;
use cms_http::client::{Ask, Client, Credential};
use serde_json::json;

use super::OPEN;
use crate::support::{Receiver, TestDatabase, process, until};

/// Where the log goes.
#[derive(Clone, Copy, Debug)]
enum Log {
    FullDisk,
    NoReader,
    /// The pipe is read only at the end.
    SlowReader,
}

/// Ended when dropped.
struct Running(Child, String, Option<PipeReader>);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Nobody reads the line `ready`, so the port is chosen here.
fn serve(database: &TestDatabase, log: Log) -> Running {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut command = process::command(database, &["serve", "--listen", &free.to_string()]);
    let (reader, writer) = std::io::pipe().unwrap();
    let (stderr, reader): (Stdio, _) = match log {
        Log::FullDisk => {
            (std::fs::File::options().write(true).open("/dev/full").unwrap().into(), None)
        }
        Log::NoReader => (writer.into(), None),
        Log::SlowReader => (writer.into(), Some(reader)),
    };
    // Every request and every statement writes a line.
    let command = command.env("CMS_LOG", "trace").envs(OPEN).stdout(Stdio::null()).stderr(stderr);
    let child = command.spawn().unwrap();
    let began = Instant::now();
    while TcpStream::connect(free).is_err() {
        assert!(began.elapsed() < Duration::from_secs(20), "it listens");
        std::thread::sleep(Duration::from_millis(20));
    }
    Running(child, format!("http://{free}"), reader)
}

async fn works_on(log: Log) {
    let (database, receiver) = (TestDatabase::new().await, Receiver::start(200).await);
    let key = Secret::new(process::init(&database));
    let mut running = serve(&database, log);
    let client = Client::remote(&running.1, &Credential::Key(key)).unwrap();
    let send = |ask: Ask| async {
        let answered = tokio::time::timeout(Duration::from_secs(10), client.send(ask)).await;
        answered.expect("an answer in time").expect("a good answer")
    };
    let hook = json!({"name": "test", "url": receiver.url, "events": ["item.settings.created"]});
    send(Ask::post("/api/backend/webhooks").json(&hook)).await;
    for n in 0..100 {
        let body = json!({"name": format!("w{n}"), "value": n});
        send(Ask::post("/api/backend/item").query("table", "settings").json(&body)).await;
    }
    // More than may wait in memory.
    for _ in 0..5000 {
        send(Ask::get("/healthz")).await;
    }
    until(&format!("{log:?}: deliveries"), async || receiver.count() >= 100).await;
    assert_eq!(receiver.count(), 100, "{log:?}: deliveries");
    let ready = send(Ask::get("/readyz")).await.json().unwrap();
    assert_eq!(ready["data"]["worker"], "running", "{log:?}");
    if let Some(mut reader) = running.2.take() {
        let text = std::thread::spawn(move || {
            let mut text = String::new();
            reader.read_to_string(&mut text).unwrap();
            text
        });
        assert_eq!(ended(&mut running.0), Some(0));
        let text = text.join().unwrap();
        assert!(text.contains("ready http://"), "the oldest lines come first");
        let told = text.contains(" lines of this log were lost: ");
        assert!(told, "{} bytes were kept", text.len());
    } else {
        assert_eq!(ended(&mut running.0), Some(0), "{log:?}");
    }
}

/// After SIGTERM.
fn ended(child: &mut Child) -> Option<i32> {
    process::signal(child.id(), "-TERM");
    child.wait().unwrap().code()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_on_a_full_disk_stops_nothing() {
    works_on(Log::FullDisk).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_whose_reader_is_gone_stops_nothing() {
    works_on(Log::NoReader).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_that_is_read_slowly_stops_nothing() {
    works_on(Log::SlowReader).await;
}
