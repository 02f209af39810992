//! The real `cms serve` on a database of its own, and calls of its API.

use std::{
    cell::Cell,
    io::{BufRead, BufReader},
    ops::Range,
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::Duration,
};

use cms_core::Secret;
use cms_http::client::{Ask, Client, Credential};
use serde_json::{Value as Json, json};
use tokio::time::Instant;

use crate::{
    database::TestDatabase,
    usage::{Usage, parent},
};

/// The tables whose rows are posted; every row is an event.
const PLUGIN: &str = r#"{"id":"load","tables":[
    {"name":"things","columns":[{"name":"n","type":"integer"},{"name":"text","type":"text"}]},
    {"name":"backlog","columns":[{"name":"n","type":"integer"},{"name":"text","type":"text"}]}]}"#;

pub struct Site {
    child: Child,
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
        let plugin = database.folder().join("plugins/load");
        std::fs::create_dir_all(&plugin).expect("a folder");
        std::fs::write(plugin.join("plugin.json"), PLUGIN).expect("written");
        assert!(command(&database, &["init", "-q"]).status().expect("started").success());
        let key = command(&database, &["keys", "create", "-q", "--name", "load", "--right", "*"])
            .output()
            .expect("a key")
            .stdout;
        pin(0);
        let mut child = command(&database, &["serve", "--listen", "127.0.0.1:0"])
            .stderr(Stdio::piped())
            .spawn()
            .expect("started");
        pin(1);
        let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
        let url = loop {
            let line = lines.next().expect("the server is ready some time").expect("a line");
            if let Some(url) = line.strip_prefix("ready ") {
                break url.to_owned();
            }
        };
        // Nothing may block on a full pipe.
        std::thread::spawn(move || lines.for_each(drop));
        let postmaster = match &database.url {
            Some(url) => Some(postmaster(url).await),
            None => None,
        };
        let key = Credential::Key(Secret::new(String::from_utf8(key).expect("text").trim()));
        let client = Client::remote(&url, &key).expect("a client");
        Self { child, client, postmaster, next: Cell::new(1), _database: database }
    }

    /// Of the service and its database.
    pub fn usage(&self) -> [Usage; 2] {
        [Usage::of(self.child.id()), self.postmaster.map(Usage::of_family).unwrap_or_default()]
    }

    /// The process of the service.
    pub fn pid(&self) -> u32 {
        self.child.id()
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

impl Drop for Site {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn command(database: &TestDatabase, arguments: &[&str]) -> Command {
    let me = std::env::current_exe().expect("a path");
    let binary: PathBuf = me.parent().and_then(|deps| deps.parent()).expect("a folder").join("cms");
    assert!(binary.is_file(), "{} is missing: cargo build --release -p cms-cli", binary.display());
    let mut command = Command::new(binary);
    command.arg("--dir").arg(database.folder()).args(arguments).stdin(Stdio::null());
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("CMS_")) {
        command.env_remove(name);
    }
    command.envs([
        ("CMS_LIMITER__STORE", "off"),
        ("CMS_WEBHOOKS__ALLOW_HTTP", "true"),
        ("CMS_WEBHOOKS__ALLOW_CIDRS", "127.0.0.0/8"),
    ]);
    command.envs(database.url.as_ref().map(|url| ("CMS_DATABASE_URL", url)));
    command
}

/// The parent of every process that serves a connection; it must run on this machine.
async fn postmaster(url: &str) -> u32 {
    use sqlx::Connection;
    let mut connection = sqlx::PgConnection::connect(url).await.expect("CMS_TEST_DB answers");
    let pid: i32 = sqlx::query_scalar("select pg_backend_pid()")
        .fetch_one(&mut connection)
        .await
        .expect("a pid");
    let fsync: String =
        sqlx::query_scalar("show fsync").fetch_one(&mut connection).await.expect("a setting");
    if fsync != "on" {
        println!("(this PostgreSQL runs with fsync off)");
    }
    let server =
        parent(u32::try_from(pid).expect("a pid")).expect("PostgreSQL runs on this machine");
    connection.close().await.expect("closed");
    server
}
