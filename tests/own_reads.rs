//! SQL of the embedding program beside changes: on connections that only read.

use std::time::Duration;

use cms_core::{Code, Error, Result, db::read_error, sqlx, testing::TestSite};
use futures_util::TryStreamExt as _;

use crate::own_tables::FIRST;

/// What a program may send by mistake, or to go around its changes, on either engine.
const WRITES: [&str; 9] = [
    "delete from ledger",
    "delete from ledger returning id",
    "insert into ledger (account, cents) values ('ben', 1)",
    "insert into ledger (account, cents) values ('ben', 1) returning id",
    "update ledger set cents = 0",
    "create table more (a bigint)",
    "create index more on ledger (cents)",
    "alter table ledger add column more bigint",
    "drop table ledger",
];
const SQLITE_WRITES: [&str; 9] = [
    "pragma user_version = 7",
    "pragma query_only = off; delete from ledger",
    "pragma query_only = off; begin immediate; delete from ledger; commit",
    "pragma writable_schema = on; delete from sqlite_schema",
    "begin; delete from ledger; commit",
    "create temp table ledger (id bigint)",
    "attach ':memory:' as more; create table more.ledger (id bigint)",
    "vacuum",
    "replace into ledger (id, account, cents) values (1, 'ben', 1)",
];
const POSTGRES_WRITES: [&str; 9] = [
    "select nextval(pg_get_serial_sequence('ledger', 'id'))",
    "select setval(pg_get_serial_sequence('ledger', 'id'), 90)",
    "with gone as (delete from ledger returning id) select id from gone",
    "select id from ledger for update",
    "do $$ begin delete from ledger; end $$",
    "do $$ begin commit; delete from ledger; end $$",
    "truncate ledger",
    "create temp table ledger (id bigint)",
    "comment on table ledger is 'more'",
];

/// What changes the session: the next read must not meet it. Texts after it must be refused.
const SQLITE_SESSIONS: [&str; 6] = [
    "begin",
    "pragma case_sensitive_like = on",
    "pragma query_only = off",
    "pragma locking_mode = exclusive",
    "pragma query_only = off; create temp table ledger (id bigint, cents bigint)",
    "attach ':memory:' as more",
];
const POSTGRES_SESSIONS: [&str; 9] = [
    "begin",
    "begin read write",
    "set default_transaction_read_only = off",
    "select set_config('default_transaction_read_only', 'off', false)",
    "set session characteristics as transaction read write",
    "set search_path = pg_catalog",
    "select pg_advisory_lock(77)",
    "listen more",
    "do $$ begin commit; perform set_config('default_transaction_read_only', 'off', false); end $$",
];

/// A site with one row in its own table, and one connection left to read with.
struct One {
    site: TestSite,
    _held: Held,
}

enum Held {
    Sqlite { _held: Vec<sqlx::pool::PoolConnection<sqlx::Sqlite>> },
    Postgres { _held: Vec<sqlx::pool::PoolConnection<sqlx::Postgres>> },
}

impl One {
    async fn open() -> Self {
        let site = TestSite::builder().await.with(|all| all.own_tables(FIRST)).open().await;
        let mut change = site.change().await;
        let insert = "insert into ledger (account, cents) values ($1, $2)";
        let sql = site.cms.items().sql(&mut change, insert).touches(["ledger"]);
        sql.bind("anna").bind(250).run().await.unwrap();
        change.commit().await.unwrap();
        let _held = if let Some(pool) = site.cms.db().sqlite() {
            let held = futures_util::future::try_join_all((0..3).map(|_| pool.acquire()));
            Held::Sqlite { _held: held.await.unwrap() }
        } else {
            let pool = site.cms.db().postgres().expect("one of both");
            let held = futures_util::future::try_join_all((0..3).map(|_| pool.acquire()));
            Held::Postgres { _held: held.await.unwrap() }
        };
        Self { site, _held }
    }

    fn is_sqlite(&self) -> bool {
        self.site.cms.db().sqlite().is_some()
    }

    async fn rows(&self) -> Result<Vec<(i64, i64)>> {
        self.site.cms.db().sql("select id, cents from ledger").rows().await
    }

    /// By sqlx itself.
    async fn execute(&self, sql: &'static str) -> Result<()> {
        let db = self.site.cms.db();
        match (db.sqlite(), db.postgres()) {
            (Some(pool), _) => sqlx::query(sql).execute(pool).await.map(drop),
            (_, Some(pool)) => sqlx::query(sql).execute(pool).await.map(drop),
            _ => unreachable!("one of both"),
        }
        .map_err(read_error)
    }

    async fn close(self) {
        drop(self._held);
        self.site.close().await;
    }
}

fn refused(sql: &str, outcome: Result<()>) {
    let error = outcome.expect_err(sql);
    assert_eq!(error.code(), Code::Internal, "{sql}: {error:?}");
    assert!(format!("{error:?}").contains("only reads: write under a change"), "{sql}: {error:?}");
}

#[tokio::test]
async fn whatever_writes_is_refused_and_the_connection_reads_on() {
    let one = One::open().await;
    let more = if one.is_sqlite() { SQLITE_WRITES } else { POSTGRES_WRITES };
    for sql in WRITES.into_iter().chain(more) {
        let read = one.site.cms.db().sql(sql).rows::<(Option<i64>,)>().await;
        refused(sql, read.map(drop));
        assert_eq!(one.rows().await.unwrap(), [(1, 250)], "{sql}");
        refused(sql, one.execute(sql).await);
        assert_eq!(one.rows().await.unwrap(), [(1, 250)], "{sql}");
    }
    // Nothing has counted on.
    let mut change = one.site.change().await;
    let insert = "insert into ledger (account, cents) values ($1, $2) returning id";
    let sql = one.site.cms.items().sql(&mut change, insert).touches(["ledger"]);
    let id = sql.bind("anna").bind(1).optional::<(i64,)>().await.unwrap();
    assert_eq!(id, Some((2,)));
    assert_eq!(one.rows().await.unwrap(), [(1, 250)], "it sees what was committed");
    change.commit().await.unwrap();
    assert_eq!(one.rows().await.unwrap(), [(1, 250), (2, 1)]);
    one.close().await;
}

/// SQLite makes the file of `vacuum into` before it refuses to write it.
#[tokio::test]
async fn a_query_is_one_statement_that_reads_with_exactly_its_values() {
    let one = One::open().await;
    let db = one.site.cms.db();
    let target = one.site.database.folder().join("copy.db");
    let vacuum = format!("vacuum into '{}'", target.display());
    for sql in [
        vacuum.clone(),
        format!("/* select */ {vacuum}"),
        format!("select 1; {vacuum}"),
        format!("pragma query_only = off; {vacuum}; select 'x'"),
        "-- select".to_owned(),
    ] {
        let read = db.sql(sqlx::AssertSqlSafe(sql.clone())).rows::<(Option<i64>,)>().await;
        refused(&sql, read.map(drop));
        assert!(!target.exists(), "{sql}");
    }
    for sql in [
        "/* a; */ SELECT cents from ledger where account = 'anna' and ';' = ';' ; -- b",
        "with x as (select cents from ledger) select cents from x",
        "values (cast(250 as bigint))",
    ] {
        assert_eq!(db.sql(sql).rows::<(i64,)>().await.unwrap(), [(250,)], "{sql}");
    }
    let explained = db.sql("explain select cents from ledger");
    match one.is_sqlite() {
        true => assert!(explained.optional::<(i64,)>().await.unwrap().is_some()),
        false => assert!(explained.optional::<(String,)>().await.unwrap().is_some()),
    }
    let all = "select cents from ledger where account = $1 or $1 is null";
    assert_eq!(db.sql(all).bind("anna").rows::<(i64,)>().await.unwrap(), [(250,)]);
    for query in [db.sql(all), db.sql(all).bind("anna").bind(1)] {
        let error = query.rows::<(i64,)>().await.unwrap_err();
        assert_eq!(error.code(), Code::Internal);
        assert!(format!("{error:?}").contains("bind exactly"), "{error:?}");
    }
    one.close().await;
}

#[tokio::test]
async fn what_a_session_was_told_ends_with_its_turn() {
    let one = One::open().await;
    let sessions: &[&str] = if one.is_sqlite() { &SQLITE_SESSIONS } else { &POSTGRES_SESSIONS };
    for sql in sessions {
        for by_sqlx in [false, true] {
            match by_sqlx {
                false => drop(one.site.cms.db().sql(*sql).rows::<(Option<i64>,)>().await),
                true => one.execute(sql).await.unwrap(),
            }
            refused(sql, one.execute("delete from ledger").await);
            assert_eq!(one.rows().await.unwrap(), [(1, 250)], "{sql}");
            if one.is_sqlite() {
                let like = "select cents from ledger where account like 'ANNA'";
                let found: Vec<(i64,)> = one.site.cms.db().sql(like).rows().await.unwrap();
                assert_eq!(found, [(250,)], "{sql}");
            }
            // It follows what is committed.
            let mut change = one.site.change().await;
            let update = "update ledger set cents = $1";
            for cents in [251, 250] {
                let sql = one.site.cms.items().sql(&mut change, update).touches(["ledger"]);
                sql.bind(cents).run().await.unwrap();
                change.commit().await.unwrap();
                assert_eq!(one.rows().await.unwrap(), [(1, cents)], "{update}");
                change = one.site.change().await;
            }
        }
    }
    if !one.is_sqlite() {
        let locks = "select count(*) from pg_locks where locktype = 'advisory' and objid = 77";
        let locks = one.site.cms.db().sql(locks).rows::<(i64,)>().await.unwrap();
        assert_eq!(locks, [(0,)]);
    }
    one.close().await;
}

/// Reads as a program does with sqlx: a stream, a transaction, one that is dropped half-way.
macro_rules! reads {
    ($pool:expr) => {{
        let pool = $pool;
        let rows = sqlx::query_as::<_, (i64, String)>("select cents, account from ledger");
        let rows: Vec<_> = rows.fetch(pool).try_collect().await.unwrap();
        assert_eq!(rows, [(250, "anna".to_owned())]);
        let mut tx = pool.begin().await.unwrap();
        let read = sqlx::query_scalar::<_, i64>("select cents from ledger");
        assert_eq!(read.fetch_one(&mut *tx).await.unwrap(), 250);
        let update = sqlx::query("update ledger set cents = 1").execute(&mut *tx).await;
        assert_eq!(read_error(update.unwrap_err()).code(), Code::Internal);
        drop(tx);
        let read = sqlx::query_scalar::<_, i64>("select cents from ledger");
        assert_eq!(read.fetch_one(pool).await.unwrap(), 250);
        drop(tokio::time::timeout(Duration::ZERO, pool.begin()).await);
        drop(pool.acquire().await.unwrap());
    }};
}

#[tokio::test]
async fn sqlx_reads_by_a_pool() {
    let one = One::open().await;
    let db = one.site.cms.db();
    match (db.sqlite(), db.postgres()) {
        (Some(pool), _) => reads!(pool),
        (_, Some(pool)) => reads!(pool),
        _ => unreachable!("one of both"),
    }
    assert_eq!(one.rows().await.unwrap(), [(1, 250)]);
    let unknown = one.site.cms.db().sql("select nothing from nowhere").rows::<(i64,)>().await;
    let unknown: Error = unknown.unwrap_err();
    assert!(unknown.code() == Code::Internal && !format!("{unknown:?}").contains("only reads"));
    one.close().await;
}

/// The service has connections of its own, and closes although the program keeps some.
#[tokio::test]
async fn who_keeps_all_connections_stops_nobody_else() {
    let one = One::open().await;
    let db = one.site.cms.db().clone();
    let mut last = (None, None);
    match (db.sqlite(), db.postgres()) {
        (Some(pool), _) => last.0 = Some(pool.acquire().await.unwrap()),
        (_, pool) => last.1 = Some(pool.unwrap().acquire().await.unwrap()),
    }
    one.site.change().await.commit().await.unwrap();
    let query = cms_core::items::Query::new();
    one.site.cms.items().list("settings", &query).await.unwrap();
    let closed = tokio::time::timeout(Duration::from_secs(20), one.site.cms.close()).await;
    assert!(closed.is_ok(), "it waits for the program");
    drop(last);
    assert_eq!(one.rows().await.map_err(|error| error.code()), Err(Code::Unavailable));
    one.close().await;
}
