//! Tables of the embedding program, made by steps of its own.

use cms_core::{Code, OwnTables, content, testing::TestSite};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::support::{Site, plugins::table, with};

const MAKE: &str = "create table ledger (id {{id}}, account TEXT not null, cents BIGINT not null, \
                    note {{json}}, open BOOLEAN not null default {{true}}) {{strict}}";
const INDEX: &str = "create index ledger_by_account on ledger (account)";
const MORE: &str = "create table ledger_days (day text primary key)";

/// A table with a column of each token.
pub(crate) const FIRST: OwnTables = OwnTables::new("ledger", &["ledger"], &[MAKE, INDEX]);
const SECOND: OwnTables =
    OwnTables::new("ledger", &["ledger", "ledger_days"], &[MAKE, INDEX, MORE]);

#[tokio::test]
async fn own_tables_are_written_in_one_change_with_records() {
    let site = TestSite::builder().await.with(|all| all.own_tables(FIRST)).open().await;
    let items = site.cms.items();
    let insert = "insert into ledger (account, cents) values ($1, $2)";
    for commits in [true, false] {
        let mut change = site.change().await;
        let setting = json!({"name": format!("paid {commits}"), "value": 1});
        let setting = setting.as_object().cloned().unwrap();
        items.create(&mut change, "settings", &setting).await.unwrap();
        let sql = items.sql(&mut change, insert).touches(["ledger"]).bind("anna").bind(250);
        assert_eq!(sql.run().await.unwrap(), 1);
        let sum = "select cast(sum(cents) as bigint) from ledger where account = $1";
        let sum = items.sql(&mut change, sum).bind("anna").optional::<(i64,)>().await.unwrap();
        assert_eq!(sum, Some((if commits { 250 } else { 500 },)), "a change sees what it wrote");
        if commits {
            change.commit().await.unwrap();
        }
    }
    let mut change = site.change().await;
    let all =
        items.sql(&mut change, "select id, cents, open from ledger").rows::<(i64, i64, bool)>();
    assert_eq!(all.await.unwrap(), [(1, 250, true)]);
    let unnamed = items.sql(&mut change, insert).touches(["ledger_days"]).bind("x").bind(1).run();
    assert_eq!(unnamed.await.map_err(|error| error.code()), Err(Code::UnknownTable));
    drop(change);
    site.close().await;
}

#[tokio::test]
async fn steps_run_once_and_later_ones_follow() {
    let site = Site::builder().await.with(|all| all.own_tables(FIRST)).open().await;
    site.database.run("insert into ledger (account, cents) values ('anna', 250)").await;
    site.cms.close().await;
    let site = Site::on(site.database).with(|all| all.own_tables(FIRST)).open().await;
    site.cms.close().await;
    let database = site.database;
    // A newer program waits for its step where nothing may be made.
    let waits = |migrate: bool| {
        let mut settings = database.settings();
        settings.migrate = migrate;
        cms_core::Cms::builder(settings).own_tables(SECOND)
    };
    let told = waits(false).open().await.err().expect("a step is missing").to_string();
    assert!(told.contains("step 3 of ledger is missing"), "{told}");
    // Two processes of it start at once.
    let (one, two) = tokio::join!(waits(true).open(), waits(true).migrations(true));
    one.unwrap().close().await;
    two.unwrap();
    waits(false).open().await.unwrap().close().await;
    for (rows, count) in [
        ("ledger", 1),
        ("ledger_days", 0),
        ("cms_own_tables", 3),
        ("cms_own_tables where tables like '%ledger_days%'", 3),
    ] {
        assert_eq!(database.rows(rows).await, count, "{rows}");
    }
}

#[tokio::test]
async fn edited_and_missing_steps_are_refused() {
    let site = Site::builder().await.with(|all| all.own_tables(SECOND)).open().await;
    let mut database = site.database;
    site.cms.close().await;
    const EDITED: OwnTables = OwnTables::new(
        "ledger",
        &["ledger"],
        &[MAKE, "create index other on ledger (cents)", MORE],
    );
    for (own, why) in [(EDITED, "differs from the text"), (FIRST, "run a newer one")] {
        let settings = database.settings();
        let open = cms_core::Cms::builder(settings).own_tables(own).open().await;
        let told = open.err().expect("it is refused").to_string();
        assert!(told.contains(why), "{told}");
    }
    // Without them the site opens as ever: the tables are there, and nobody writes to them.
    let site = Site::on(database).open().await;
    let insert = "insert into ledger (account, cents) values ($1, $2)";
    let mut change = site.cms.change(cms_core::Actor::Operator).await.unwrap();
    let sql = site.cms.items().sql(&mut change, insert).touches(["ledger"]).bind("x").bind(1);
    assert_eq!(sql.run().await.map_err(|error| error.code()), Err(Code::UnknownTable));
    drop(change);
    database = site.database;
    assert_eq!(database.rows("cms_own_tables").await, 3);
}

#[tokio::test]
async fn a_step_that_fails_makes_nothing() {
    let faulty: &[(OwnTables, &str)] = &[
        (
            OwnTables::new("shop", &["a"], &["create table a (id bigint)", "create tabel b (x)"]),
            "step 2",
        ),
        (OwnTables::new("shop", &["a", "b"], &["create table a (id bigint)"]), "make no table b"),
        (OwnTables::new("shop", &["a"], &["create table a (id bigint); commit"]), "\"commit\""),
        (
            OwnTables::new("shop", &["a"], &["create table a (id bigint); /* x */ commit"]),
            "\"commit\"",
        ),
        (
            OwnTables::new("shop", &["a"], &["create table a (id bigint) -- x;\n; -- y\ncommit"]),
            "\"commit\"",
        ),
        (
            OwnTables::new(
                "shop",
                &["a"],
                &["create table a (b text unique on conflict ROLLBACK)"],
            ),
            "\"on conflict rollback\"",
        ),
        (OwnTables::new("shop", &["a"], &["drop table cms_users"]), "\"cms_users\""),
        (OwnTables::new("shop", &["cms_a"], &[]), "not beginning with cms_"),
        (OwnTables::new("Shop", &[], &["select 1"]), "a name is 1 to 40"),
        (OwnTables::new("shop", &[], &[]), "steps are missing"),
        (OwnTables::new("shop", &["a"], &["create table a (Id bigint)", "SET x = 1"]), "\"set\""),
    ];
    let site = Site::open().await;
    site.cms.close().await;
    let builder = || cms_core::Cms::builder(site.database.settings());
    for (own, why) in faulty {
        let open = builder().own_tables(*own).open().await;
        let told = open.err().expect("it is refused").to_string();
        assert!(told.contains(why), "{why}: {told}");
        assert_eq!(site.database.rows("cms_own_tables").await, 0, "{why}");
    }
    let twice = builder().own_tables(FIRST).own_tables(FIRST);
    let told = twice.open().await.err().expect("it is refused").to_string();
    assert!(told.contains("two have this name"), "{told}");
    // Nothing is left of table a.
    let own = OwnTables::new("shop", &["a"], &["create table a (id bigint)"]);
    builder().own_tables(own).open().await.unwrap().close().await;
}

/// The types that the engines name differently are no types within quotes and comments.
#[tokio::test]
async fn texts_of_steps_stay_and_bytes_may_be_null() {
    const KINDS: OwnTables = OwnTables::new(
        "kinds",
        &["kinds"],
        &["create table kinds (id {{id}}, seal {{bytes}}, kind TEXT not null default 'BOOLEAN; \
           commit' /* {{id}} */) {{strict}}"],
    );
    let site = TestSite::builder().await.with(|all| all.own_tables(KINDS)).open().await;
    let mut change = site.change().await;
    let seals = || [None, Some(vec![0_u8, 255])];
    for seal in seals() {
        let insert = "insert into kinds (seal) values ($1)";
        let insert = site.cms.items().sql(&mut change, insert).touches(["kinds"]);
        insert.bind(seal).run().await.unwrap();
    }
    change.commit().await.unwrap();
    let query = "select seal, kind from kinds order by id";
    let rows = site.cms.db().sql(query).rows::<(Option<Vec<u8>>, String)>().await.unwrap();
    assert_eq!(rows, seals().map(|seal| (seal, "BOOLEAN; commit".to_owned())));
    let bytes = site.cms.db().sql(query).rows::<(Vec<u8>, String)>().await;
    assert_eq!(bytes.map_err(|error| error.code()), Err(Code::Internal), "one of them is null");
    site.close().await;
}

content! {
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    struct Entry in "ledger" {
        id: i64,
        account: String,
        cents: i64,
    }
}

/// A plugin may declare an own table as a content table: then it is seen through the API as well.
#[tokio::test]
async fn an_own_table_may_be_a_content_table_too() {
    let ledger = table("ledger", "account text required, cents integer required");
    let ledger = json!({"id": "ledger", "tables": [with(ledger, json!({"adopt": true}))]});
    let site = Site::builder().await.with(|all| all.own_tables(FIRST));
    let site = site.with(|all| all.content::<Entry>()).plugin(ledger).open().await;
    site.insert("ledger", json!({"account": "anna", "cents": 5})).await;
    let mut change = site.cms.change(cms_core::Actor::Operator).await.unwrap();
    let sql = "update ledger set cents = cents * $1";
    let sql = site.cms.items().sql(&mut change, sql).touches(["ledger"]).bind(2);
    assert_eq!(sql.run().await.unwrap(), 1);
    change.commit().await.unwrap();
    let entry = site.cms.items().of::<Entry>().get(1).await.unwrap();
    assert_eq!(entry, Entry { id: 1, account: "anna".to_owned(), cents: 10 });
}
