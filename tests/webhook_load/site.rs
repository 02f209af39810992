//! The real `cms serve` on a database of its own, and calls of its API.

use std::{
    cell::Cell,
    ops::Range,
    process::{Command, Stdio},
    time::Duration,
};

use cms_http::client::{Ask, Client};
use serde_json::{Value as Json, json};
use tokio::time::Instant;

use crate::{
    support::{
        TestDatabase,
        process::{self, Served},
    },
    usage::{Usage, parent},
};

/// The tables whose rows are posted; every row is an event.
const PLUGIN: &str = r#"{"id":"load","tables":[
    {"name":"things","columns":[{"name":"n","type":"integer"},{"name":"text","type":"text"}]},
    {"name":"backlog","columns":[{"name":"n","type":"integer"},{"name":"text","type":"text"}]}]}"#;

/// What lets the service deliver to loopback.
const OPEN: [(&str, &str); 2] =
    [("CMS_WEBHOOKS__ALLOW_HTTP", "true"), ("CMS_WEBHOOKS__ALLOW_CIDRS", "127.0.0.0/8")];

pub struct Site {
    served: Served,
    client: Client,
    /// The first process of the PostgreSQL server.
    postmaster: Option<u32>,
    next: Cell<u64>,
    _database: TestDatabase,
}

/// Ties this process to a core; what it starts is born there.
pub fn pin(core: u8) {
    let (core, pid) = (core.to_string(), std::process::id().to_string());
    let pinned = Command::new("taskset")
        .args(["-a", "-p", "-c", &core, &pid])
        .stdout(Stdio::null())
        .status();
    if !pinned.is_ok_and(|status| status.success()) {
        println!("taskset is missing: sender and receivers are not on separate cores");
    }
}

impl Site {
    /// A new site; the service runs on core 0, everything else on core 1.
    pub async fn start() -> Self {
        let database = TestDatabase::new().await;
        database.write_manifest("load", PLUGIN);
        let key = process::init(&database);
        pin(0);
        let served = Served::start_with(&database, "", &OPEN);
        pin(1);
        let postmaster = match &database.url {
            Some(url) => Some(postmaster(url).await),
            None => None,
        };
        let client = served.client(&key);
        Self { served, client, postmaster, next: Cell::new(1), _database: database }
    }

    /// Of the service and its database.
    pub fn usage(&self) -> [Usage; 2] {
        [Usage::of(self.pid()), self.postmaster.map(Usage::of_family).unwrap_or_default()]
    }

    /// The process of the service.
    pub fn pid(&self) -> u32 {
        self.served.child.id()
    }

    pub async fn subscribe(&self, url: &str, events: &[&str]) {
        let webhook = json!({"name": "load", "url": url, "events": events});
        self.send(Ask::post("/api/backend/webhooks").json(&webhook)).await;
    }

    /// The numbers of the next rows.
    pub fn numbers(&self, count: usize) -> Range<u64> {
        let first = self.next.get();
        self.next.set(first + count as u64);
        first..self.next.get()
    }

    /// Posts rows with these numbers in one call, which raises an event for each. Returns when the
    /// call began, and how long it took.
    pub async fn post(&self, table: &str, numbers: Range<u64>) -> (Instant, Duration) {
        let text = "a sentence of forty characters, no less. ".repeat(10);
        let rows: Vec<Json> = numbers.map(|n| json!({"n": n, "text": text})).collect();
        let body = if let [row] = rows.as_slice() { row.clone() } else { Json::Array(rows) };
        let ask = Ask::post("/api/backend/item").query("table", table).json(&body);
        let began = Instant::now();
        self.send(ask).await;
        (began, began.elapsed())
    }

    /// Whether the queue holds nothing that waits or is being sent.
    pub async fn is_drained(&self) -> bool {
        let stats = self.send(Ask::get("/api/backend/webhooks/queue/stats")).await;
        ["pending", "sending", "retry"]
            .iter()
            .all(|status| stats["data"]["by_status"][status].as_u64().unwrap_or(0) == 0)
    }

    async fn send(&self, ask: Ask) -> Json {
        self.client.send(ask).await.expect("a good reply").json().expect("JSON")
    }
}

/// The parent of every process that serves a connection; it must run on this machine.
async fn postmaster(url: &str) -> u32 {
    use sqlx::Connection;
    let mut connection = sqlx::PgConnection::connect(url).await.expect("CMS_TEST_DB answers");
    let pid: i32 = sqlx::query_scalar("select pg_backend_pid()")
        .fetch_one(&mut connection)
        .await
        .expect("a pid");
    let server =
        parent(u32::try_from(pid).expect("a pid")).expect("PostgreSQL runs on this machine");
    connection.close().await.expect("closed");
    server
}
