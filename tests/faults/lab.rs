//! A site for one experiment: its database, the receiver, and the library opened on it to prepare
//! and to count.

use std::{
    fmt,
    path::Path,
    sync::Mutex,
    time::{Duration, Instant},
};

use cms_core::{Actor, Clock, Cms, Random, settings::Settings, webhooks::NewSubscription};
use cms_http::client::{Ask, Client};
use serde_json::json;
use sqlx::Connection;

use crate::{
    record::{LANE, Record},
    support::{
        Answer, Delivery, Receiver, TestDatabase,
        process::{self, Served},
    },
};

pub const SEED: u64 = 0xfa17;
/// A claimed row belongs to its worker for so long.
pub const LEASE: Duration = Duration::from_secs(30);
/// What lets the processes deliver to loopback.
pub const OPEN: [(&str, &str); 2] =
    [("CMS_WEBHOOKS__ALLOW_HTTP", "true"), ("CMS_WEBHOOKS__ALLOW_CIDRS", "127.0.0.1/32")];
const TEXT: &str = "something of the usual length of a record";
/// An event that nothing here raises by itself.
pub const EVENT: &str = "order.created";
/// An event that is raised by [`Lab::post`].
pub const ITEM: &str = "item.settings.created";

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Engine {
    Sqlite,
    Postgres,
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(if *self == Self::Sqlite { "SQLite" } else { "PostgreSQL" })
    }
}

/// Where and how thoroughly a fault is tried.
pub struct Run {
    pub engine: Engine,
    pub quick: bool,
    pub number: u8,
}

impl Run {
    /// The first number, or a quick run's.
    pub fn scaled(&self, full: usize, quick: usize) -> usize {
        if self.quick { quick } else { full }
    }

    pub fn dice(&self) -> Dice {
        Dice(Random::seeded((SEED + u64::from(self.number)) << 32))
    }
}

/// Random moments, the same in each run.
pub struct Dice(Random);

impl Dice {
    pub fn millis(&self, from: u64, to: u64) -> Duration {
        let roll = u64::from_le_bytes(self.0.bytes().expect("seeded"));
        Duration::from_millis(from + roll % (to - from))
    }
}

pub fn now() -> i64 {
    Clock::system().now()
}

pub fn today() -> String {
    cms_core::rfc3339(now()).split('T').next().unwrap_or_default().to_owned()
}

pub struct Lab {
    pub database: TestDatabase,
    pub cms: Cms,
    pub receiver: Receiver,
    pub record: Record,
    pub key: String,
    lanes: Mutex<usize>,
}

impl Lab {
    /// A new site; `answer` says what the receiver does with the nth delivery, after it was
    /// recorded.
    pub async fn new(
        run: &Run,
        answer: impl Fn(usize, &Delivery) -> Answer + Send + Sync + 'static,
    ) -> Self {
        let database = match run.engine {
            Engine::Sqlite => TestDatabase::sqlite().await,
            Engine::Postgres => TestDatabase::new().await,
        };
        let key = process::init(&database);
        let record = Record::default();
        let kept = record.clone();
        let receiver = Receiver::scripted(move |n, delivery| {
            kept.note(delivery);
            answer(n, delivery)
        })
        .await;
        let cms = Cms::open(settings(&database)).await.unwrap();
        Self { database, cms, receiver, record, key, lanes: Mutex::new(0) }
    }

    /// Subscriptions to `events` at the receiver; returns their ids.
    pub async fn subscribe(&self, count: usize, events: &[&str]) -> Vec<i64> {
        self.subscribe_at(&self.receiver.url, count, events).await
    }

    pub async fn subscribe_at(&self, url: &str, count: usize, events: &[&str]) -> Vec<i64> {
        let mut change = self.cms.change(Actor::Operator).await.unwrap();
        let mut ids = Vec::new();
        for _ in 0..count {
            let lane = {
                let mut lanes = self.lanes.lock().unwrap();
                *lanes += 1;
                *lanes
            };
            let new = json!({
                "name": format!("lane {lane}"), "url": url, "events": events,
                "custom_headers": {LANE: lane.to_string()},
            });
            let new: NewSubscription = serde_json::from_value(new).unwrap();
            let (made, secret) = self.cms.webhooks().create(&mut change, new).await.unwrap();
            self.record.expect(lane, secret.expose());
            ids.push(made.id);
        }
        change.commit().await.unwrap();
        ids
    }

    /// Raises so many events of this name in one change.
    pub async fn emit(&self, event: &str, count: usize) {
        let mut change = self.cms.change(Actor::System).await.unwrap();
        for n in 0..count {
            let data = json!({"order": {"id": n}, "user": {"id": n}, "text": TEXT});
            change.emit(event, data).await.unwrap();
        }
        change.commit().await.unwrap();
    }

    /// `cms serve`; ready when this returns.
    pub fn serve(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Served {
        let variables: Vec<_> = OPEN.iter().chain(variables).copied().collect();
        let arguments = [&["serve", "--listen", "127.0.0.1:0"], arguments].concat();
        let command = process::command(&self.database, &arguments);
        Served::start_command(command, "error", &variables)
    }

    pub async fn count(&self, sql: &str) -> i64 {
        self.database.count(sql).await
    }

    /// The first column of a query.
    pub async fn texts(&self, sql: &str) -> Vec<String> {
        let sql = sqlx::AssertSqlSafe(sql.to_owned());
        match &self.database.url {
            Some(url) => sqlx::query_scalar(sql)
                .fetch_all(&mut sqlx::PgConnection::connect(url).await.unwrap())
                .await
                .unwrap(),
            None => sqlx::query_scalar(sql)
                .fetch_all(&mut self.database.sqlite_connection().await)
                .await
                .unwrap(),
        }
    }

    /// Jobs in one of these states, as `'pending', 'retry'`.
    pub async fn jobs(&self, states: &str) -> usize {
        let rows = format!("cms_webhook_queue where status in ({states})");
        usize::try_from(self.database.rows(&rows).await).unwrap()
    }

    /// Waits until so many deliveries have arrived, at most so many seconds.
    pub async fn arrived(&self, count: usize, seconds: u64) {
        let began = Instant::now();
        while self.record.count() < count && began.elapsed() < Duration::from_secs(seconds) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Waits until every job is delivered, at most so long; says how long it took.
    pub async fn delivered_within(&self, limit: Duration) -> Option<Duration> {
        let began = Instant::now();
        let open = "'pending', 'retry', 'sending', 'held'";
        while self.jobs(open).await > 0 {
            if began.elapsed() > limit {
                return None;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Some(began.elapsed())
    }
}

/// What the processes use too: the keys of the site are in its folder.
pub fn settings(database: &TestDatabase) -> Settings {
    let mut variables: Vec<(String, String)> =
        OPEN.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    variables.extend(database.url.iter().map(|url| ("CMS_DATABASE_URL".to_owned(), url.clone())));
    Settings::load(Path::new(database.folder()), variables.into_iter(), &[]).unwrap().settings
}

/// Writes a record that nobody else writes, which raises [`ITEM`].
pub async fn post(client: &Client, name: &str) -> Result<(), cms_http::client::ClientError> {
    let body = json!({"name": name, "value": name});
    let ask = Ask::post("/api/backend/item").query("table", "settings").json(&body);
    client.send(ask).await.map(drop)
}
