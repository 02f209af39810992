//! Indexes that are made while the site is in use: held up, refused, broken off, undeclared.

mod processes;

use std::time::Duration;

use cms_core::{Clock, Cms};
use cms_http::{
    Api,
    client::{Ask, Client},
};
use serde_json::{Value as Json, json};
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection, SqliteConnection};

use crate::support::{
    Site, TestDatabase,
    database::lock_of_schema,
    plugins::{self, columns, table},
    site::NOW,
    until, with,
};

const ITEMS: &str = "/api/backend/item";

/// A plugin with one table.
fn work(indexes: Json) -> Json {
    let table = table("tasks", "status text required, at text required");
    json!({"id": "work", "tables": [with(table, json!({"indexes": indexes}))]})
}

fn declared() -> Json {
    work(json!([["status", "-at"]]))
}

/// Waits for something that must not hang.
async fn soon<T>(what: &str, work: impl Future<Output = T>) -> T {
    let done = tokio::time::timeout(Duration::from_secs(60), work).await;
    done.unwrap_or_else(|_| panic!("{what} hangs"))
}

/// A site whose index somebody has dropped: the next start makes it beside requests. With the name
/// of the index.
async fn without_index() -> (Site, String) {
    let site = Site::builder().await.plugin(declared()).open().await;
    for i in 0..5 {
        add(&client(&site.cms), i).await;
    }
    let name = index_name(&site.database).await;
    site.database.run(format!("drop index \"{name}\"")).await;
    (site, name)
}

async fn index_name(database: &TestDatabase) -> String {
    let sql = match database.is_postgres() {
        true => {
            "select cast(indexname as text) from pg_indexes where schemaname = current_schema() \
             and indexname like 'tasks_status_at_%'"
        }
        false => "select name from sqlite_schema where name like 'tasks_status_at_%'",
    };
    database.text(sql).await
}

/// How many complete indexes of this name there are.
async fn made(database: &TestDatabase, name: &str) -> i64 {
    let made = match database.is_postgres() {
        true => format!(
            "pg_index i join pg_class c on c.oid = i.indexrelid where c.relname = '{name}' and \
             c.relnamespace = to_regnamespace(current_schema()) and i.indisvalid"
        ),
        false => format!("sqlite_schema where name = '{name}' and type = 'index'"),
    };
    database.rows(&made).await
}

/// Another program on the database, in the middle of a transaction.
pub enum Held {
    Sqlite(SqliteConnection),
    Postgres(PgConnection),
}

impl Held {
    /// Holds up whoever makes an index of the table: SQLite by its one writer, PostgreSQL by a
    /// transaction that has written to the table.
    async fn table(database: &TestDatabase) -> Self {
        Self::by(database, "lock table tasks in row exclusive mode").await
    }

    /// Keeps indexes from being begun, as another process does that makes one.
    async fn turn(database: &TestDatabase) -> Self {
        Self::by(database, &lock_of_schema(7_165_306_191)).await
    }

    /// SQLite's writer; what this statement locks on PostgreSQL.
    pub async fn by(database: &TestDatabase, sql: &str) -> Self {
        let mut held = match &database.url {
            Some(url) => Self::Postgres(PgConnection::connect(url).await.unwrap()),
            None => Self::Sqlite(database.sqlite_connection().await),
        };
        match &mut held {
            Self::Sqlite(_) => held.run("begin immediate".to_owned()).await,
            Self::Postgres(_) => held.run(format!("begin; {sql}")).await,
        }
        held
    }

    async fn run(&mut self, sql: String) {
        let sql = sqlx::raw_sql(AssertSqlSafe(sql));
        match self {
            Self::Sqlite(connection) => drop(connection.execute(sql).await.unwrap()),
            Self::Postgres(connection) => drop(connection.execute(sql).await.unwrap()),
        }
    }

    pub async fn end(mut self) {
        self.run("commit".to_owned()).await;
    }
}

fn client(cms: &Cms) -> Client {
    Client::local(Api::new(cms.clone()).unwrap())
}

async fn add(client: &Client, i: i64) {
    let row = json!({"status": "open", "at": format!("2026-01-{:02}", i % 28 + 1)});
    let ask = Ask::post(ITEMS).query("table", "tasks").json(&row);
    soon("a write", client.send(ask)).await.unwrap();
}

async fn read(client: &Client) {
    let ask = Ask::get(ITEMS).query("table", "tasks").query("filter[status]", "open");
    soon("a read", client.send(ask)).await.unwrap();
}

/// What `/readyz` says of indexes.
async fn readiness(client: &Client) -> Json {
    let answer = soon("readiness", client.send(Ask::get("/readyz"))).await.unwrap();
    answer.json().unwrap()["data"]["indexes"].clone()
}

/// A neighbour of the site, which makes the index.
async fn open(site: &Site, manifest: Json, clock: &Clock) -> Cms {
    let builder = Cms::builder(site.database.settings()).clock(clock.clone());
    soon("opening", builder.plugin(plugins::manifest(&manifest)).open()).await.unwrap()
}

/// On SQLite the other program is one that writes, so writes wait for it.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn requests_go_on_while_an_index_is_made() {
    let (site, name) = without_index().await;
    let held = Held::table(&site.database).await;
    let cms = open(&site, declared(), &Clock::system()).await;
    let client = client(&cms);
    for i in 0..10 {
        assert_eq!(readiness(&client).await, "making");
        read(&client).await;
        if site.database.is_postgres() {
            add(&client, i).await;
        }
    }
    assert_eq!(made(&site.database, &name).await, 0);
    held.end().await;
    soon("the index", cms.indexes_made()).await.unwrap();
    assert_eq!((readiness(&client).await, made(&site.database, &name).await), (json!("made"), 1));
    cms.close().await;
}

/// A process that lacks only indexes has nothing to write at its start, so another one's index, for
/// which SQLite keeps its writer, does not refuse it.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_second_process_opens_while_the_first_makes_an_index() {
    let (site, name) = without_index().await;
    let held = Held::table(&site.database).await;
    let one = open(&site, declared(), &Clock::system()).await;
    let two = open(&site, declared(), &Clock::system()).await;
    assert!(two.plugins().states().iter().all(|state| state.problems.is_empty()));
    assert_eq!(readiness(&client(&one)).await, "making", "it waits for the other program");
    held.end().await;
    for cms in [one, two] {
        soon("the index", cms.indexes_made()).await.unwrap();
        cms.close().await;
    }
    assert_eq!(made(&site.database, &name).await, 1);
}

/// On PostgreSQL a change of the table must not queue behind the index: all requests would queue
/// behind the change.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn applying_waits_for_an_index_and_holds_nobody_up() {
    let database = TestDatabase::new().await;
    if !database.is_postgres() {
        return;
    }
    database.write_plugin(&declared());
    let site = Site::on(database).open().await;
    add(&client(&site.cms), 1).await;
    let name = index_name(&site.database).await;
    site.database.run(format!("drop index \"{name}\"")).await;
    let held = Held::table(&site.database).await;
    let builder = Cms::open(site.database.settings()).await.unwrap();
    let under_way = "pg_stat_progress_create_index where relid = to_regclass('tasks')";
    until("the index is begun", async || site.database.rows(under_way).await > 0).await;
    let mut grown = declared();
    grown["tables"][0]["columns"] = columns("status text required, at text required, more text");
    site.database.write_plugin(&grown);
    let (applied, client) = (site.cms.clone(), client(&site.cms));
    let applying = tokio::spawn(async move { applied.apply_plugins(None).await });
    let waits = "pg_stat_activity where application_name = current_setting('application_name') \
                 and ((query like '%try_advisory_lock%' and state = 'idle') or (query like \
                 'alter table%' and wait_event_type = 'Lock'))";
    until("applying is begun", async || site.database.rows(waits).await > 0).await;
    for i in 0..10 {
        read(&client).await;
        add(&client, i).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(!applying.is_finished());
    held.end().await;
    let done = soon("applying", applying).await.unwrap().unwrap();
    assert!(done[0].problems.is_empty(), "{:?}", done[0]);
    soon("the index", builder.indexes_made()).await.unwrap();
    let tables = site.cms.tables();
    let table = tables.find("tasks").unwrap();
    assert!(table.columns.iter().any(|column| column.name == "more"));
    assert_eq!(made(&site.database, &name).await, 1);
    builder.close().await;
}

/// Another process takes the declaration back while the index waits for its turn.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_index_that_is_undeclared_meanwhile_is_not_made() {
    let (site, name) = without_index().await;
    let mut held = Held::turn(&site.database).await;
    let cms = open(&site, declared(), &Clock::system()).await;
    assert_eq!(readiness(&client(&cms)).await, "making");
    let without = "update cms_content_tables set declaration = replace(declaration, \
                   '\"indexes\":[[\"status\",\"-at\"]]', '\"indexes\":[]') where name = 'tasks'";
    held.run(without.to_owned()).await;
    held.end().await;
    soon("the index", cms.indexes_made()).await.unwrap();
    let recorded = "cms_content_tables where declaration like '%-at%'";
    assert_eq!(site.database.rows(recorded).await, 0, "the update fits");
    assert_eq!(made(&site.database, &name).await, 0);
    cms.close().await;
}

/// A site that closes waits for no index, and the next one makes it.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn closing_waits_for_no_index() {
    let (site, name) = without_index().await;
    let held = Held::turn(&site.database).await;
    let cms = open(&site, declared(), &Clock::system()).await;
    assert_eq!(readiness(&client(&cms)).await, "making");
    soon("closing", cms.close()).await;
    held.end().await;
    let _ = soon("the index", cms.indexes_made()).await;
    // SQLite may have begun it in between.
    assert!(!site.database.is_postgres() || made(&site.database, &name).await == 0);
    let cms = open(&site, declared(), &Clock::system()).await;
    soon("the index", cms.indexes_made()).await.unwrap();
    assert_eq!(made(&site.database, &name).await, 1);
    cms.close().await;
}

/// Somebody has a table of the index's name.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_failed_index_is_told_and_tried_again() {
    let (site, name) = without_index().await;
    site.database.run(format!("create table \"{name}\" (a integer)")).await;
    let clock = Clock::fixed(NOW);
    let cms = open(&site, declared(), &clock).await;
    let told = soon("the index", cms.indexes_made()).await.unwrap_err();
    assert!(told.detail().contains("tasks (status, -at)"), "{told}");
    let client = client(&cms);
    let failed = async || {
        let shown = client.send(Ask::get("/api/backend/plugins").query("id", "work")).await;
        let shown = shown.unwrap().json().unwrap()["data"].clone();
        assert_eq!((&shown["in_service"], &shown["earlier"]), (&json!(true), &json!(false)));
        let problems = shown["problems"].as_array().unwrap().clone();
        problems.iter().any(|one| one["remedy"].as_str().unwrap().contains("tasks (status, -at)"))
    };
    for _ in 0..2 {
        assert_eq!(readiness(&client).await, "failed");
        assert!(failed().await);
        read(&client).await;
        // Too early: nothing is tried.
        clock.advance(59_000 / 2);
        cms.upkeep().await;
    }
    clock.advance(1_000);
    cms.upkeep().await;
    soon("the second try", cms.indexes_made()).await.unwrap_err();
    // The waits grow.
    site.database.run(format!("drop table \"{name}\"")).await;
    clock.advance(119_000);
    cms.upkeep().await;
    assert!(failed().await && made(&site.database, &name).await == 0);
    clock.advance(1_000);
    let held = Held::turn(&site.database).await;
    // On SQLite the counters, too, wait for whoever holds the writer.
    let tried = async {
        assert!(failed().await && readiness(&client).await == "failed", "while it is tried again");
        held.end().await;
    };
    tokio::join!(cms.upkeep(), tried);
    soon("the third try", cms.indexes_made()).await.unwrap();
    assert!(!failed().await && readiness(&client).await == "made");
    assert_eq!(made(&site.database, &name).await, 1);
    cms.close().await;
}
