//! A served site that lacks something: descriptors, memory, a reader of its log. Work goes on by
//! itself, nothing acknowledged is lost, no receiver is switched off.

mod away;
mod bodies;
mod silent;
mod strangers;
mod unread;

use std::{
    io::{Read, Write},
    net::TcpStream,
    process::Command,
    time::{Duration, Instant},
};

use cms_http::client::{Ask, Client};
use serde_json::json;

use crate::support::{
    Answer, Receiver, TestDatabase,
    process::{self, Served},
    until,
};

const OPEN: [(&str, &str); 2] =
    [("CMS_WEBHOOKS__ALLOW_HTTP", "true"), ("CMS_WEBHOOKS__ALLOW_CIDRS", "127.0.0.1/32")];

/// A site with one webhook for new settings, served by a command that a test chooses.
struct Story {
    database: TestDatabase,
    receiver: Receiver,
    served: Served,
    client: Client,
    written: Vec<String>,
}

impl Story {
    async fn begin(command: impl FnOnce(Command) -> Command) -> Self {
        // Each delivery needs a connection of its own.
        let closing = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
        let receiver = Receiver::scripted(|_, _| Answer::Raw(closing.to_vec())).await;
        let database = TestDatabase::new().await;
        let key = process::init(&database);
        let plain = process::command(&database, &["serve", "--listen", "127.0.0.1:0"]);
        let served = Served::start_command(command(plain), "warn", &OPEN);
        let client = served.client(&key);
        let body =
            json!({"name": "test", "url": receiver.url, "events": ["item.settings.created"]});
        client.send(Ask::post("/api/backend/webhooks").json(&body)).await.unwrap();
        Self { database, receiver, served, client, written: Vec::new() }
    }

    /// The status line of a reply on a connection of its own.
    async fn status_of(&self, path: &str) -> String {
        let (address, path) = (self.address(), path.to_owned());
        let asked = tokio::task::spawn_blocking(move || {
            let address = address.parse().unwrap();
            let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(5)).unwrap();
            stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
            let head = "HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
            write!(stream, "GET {path} {head}").unwrap();
            let mut reply = String::new();
            let _ = stream.read_to_string(&mut reply);
            reply.lines().next().unwrap_or("no answer").to_owned()
        });
        asked.await.unwrap()
    }

    fn address(&self) -> String {
        self.served.address().to_owned()
    }

    /// Writes for so long, and notes what was acknowledged.
    async fn write_for(&mut self, time: Duration) {
        let began = Instant::now();
        while began.elapsed() < time {
            let name = format!("w{}", self.written.len());
            let ask = Ask::post("/api/backend/item").query("table", "settings");
            if self.client.send(ask.json(&json!({"name": name, "value": 1}))).await.is_ok() {
                self.written.push(name);
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// The limit on open files of the running process.
    fn limit_files(&self, soft: &str) {
        let pid = self.served.child.id().to_string();
        let limit = format!("--nofile={soft}:");
        let set = Command::new("prlimit").args(["--pid", &pid, &limit]).status();
        assert!(set.expect("prlimit of util-linux runs").success());
    }

    /// Every acknowledged write is there and delivered, and nothing counts against the receiver.
    async fn ends_well(&self) {
        let wanted = i64::try_from(self.written.len()).unwrap();
        let delivered = "cms_webhook_queue where status = 'delivered'";
        let deliveries = "deliveries go on by themselves";
        until(deliveries, async || self.database.rows(delivered).await >= wanted).await;
        assert_eq!(self.receiver.count() as i64, wanted, "{deliveries}");
        assert!(self.database.rows("cms_settings where name like 'w%'").await >= wanted);
        self.nothing_counted().await;
    }

    async fn nothing_counted(&self) {
        let count = |sql: &'static str| self.database.count(sql);
        for sql in [
            "select cast(coalesce(sum(failure_count), 0) as bigint) \
             from cms_webhook_subscriptions",
            "select cast(coalesce(sum(retry_count), 0) as bigint) from cms_webhook_queue",
            "select count(*) from cms_webhook_subscriptions where not active",
        ] {
            assert_eq!(count(sql).await, 0, "{sql}");
        }
    }
}

/// The running process may open no further file: nothing can be delivered for a while.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lack_of_descriptors_never_counts_against_a_receiver() {
    let mut story = Story::begin(|command| command).await;
    story.write_for(Duration::from_millis(500)).await;
    story.limit_files("1");
    story.write_for(Duration::from_secs(4)).await;
    let before = story.written.len();
    assert!(before > 10, "writes go on: {before}");
    assert!(story.receiver.count() < before, "deliveries cannot");
    story.nothing_counted().await;
    story.limit_files("1024");
    story.write_for(Duration::from_millis(500)).await;
    story.ends_well().await;
    let (code, log) = story.served.terminate();
    assert_eq!(code, Some(0), "{log}");
}
