//! SQLite's shared commits: what is refused is not written, whatever ends the transaction.

use cms_core::OwnTables;
use serde_json::json;

use crate::support::{Site, SiteBuilder, TestDatabase, each};

fn adopting(database: TestDatabase) -> SiteBuilder {
    Site::on(database).plugin(json!({"id": "p", "tables": [{"name": "t", "adopt": true}]}))
}

/// A site whose database had these tables before.
async fn with_tables(database: TestDatabase, schema: &str) -> Site {
    database.run(schema).await;
    adopting(database).open().await
}

/// Many writes at once, every tenth of them bad; what was answered must be what is there.
async fn write_at_once(site: Site, bad: impl Fn(usize) -> serde_json::Value, good_must_pass: bool) {
    let body = |n: usize| if n % 10 == 9 { bad(n) } else { json!({"name": format!("n{n}")}) };
    let write = |n: usize| site.admin("POST /api/backend/item?table=t").json(body(n)).send();
    let replies = futures_util::future::join_all((0..200).map(write)).await;
    let present = each(&site.items("t&fields=name&limit=500").await, "name");
    for (n, reply) in replies.iter().enumerate() {
        let name = body(n)["name"].clone();
        if n % 10 == 9 {
            assert!(!reply.status.is_success(), "{n}: {}", reply.text());
            assert!(!present.contains(&name));
        } else {
            assert_eq!(present.contains(&name), reply.status.is_success(), "{n}: {}", reply.text());
            assert!(reply.status.is_success() || !good_must_pass, "{n}: {}", reply.text());
        }
    }
    let events = site.database.rows("cms_events where name = 'item.t.created'").await;
    assert_eq!(events as usize, present.len() - usize::from(present.contains(&json!("taken"))));
    site.insert("t", json!({"name": "after"})).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_rollback_by_the_engine() {
    let schema = "create table t (id integer primary key, name text, u text unique \
                  on conflict rollback); insert into t (name, u) values ('taken', 'x')";
    let site = with_tables(TestDatabase::sqlite().await, schema).await;
    write_at_once(site, |n| json!({"name": format!("bad{n}"), "u": "x"}), false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_deferred_reference_fails_only_its_own_change() {
    let schema = "create table parent (id integer primary key); \
                  create table t (id integer primary key, name text, \
                  p integer references parent (id) deferrable initially deferred)";
    let site = with_tables(TestDatabase::sqlite().await, schema).await;
    write_at_once(site, |n| json!({"name": format!("bad{n}"), "p": 99}), true).await;
}

/// The tables are made when the database is open already.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn so_does_a_deferred_reference_of_an_own_table() {
    const OWN: OwnTables = OwnTables::new(
        "own",
        &["parent", "t"],
        &[
            "create table parent (id BIGINT primary key)",
            "create table t (id {{id}}, name TEXT, \
             p BIGINT references parent (id) deferrable initially deferred) {{strict}}",
        ],
    );
    let builder = adopting(TestDatabase::sqlite().await);
    let site = builder.with(|all| all.own_tables(OWN)).open().await;
    write_at_once(site, |n| json!({"name": format!("bad{n}"), "p": 99}), true).await;
}

#[tokio::test]
async fn a_deferred_rule_is_a_conflict() {
    let schema = "create table parent (id bigint primary key); \
                  create table t (id bigint primary key, \
                  p bigint references parent (id) deferrable initially deferred, \
                  w bigint unique deferrable initially deferred)";
    let site = with_tables(TestDatabase::new().await, schema).await;
    let post = |row: serde_json::Value| site.admin("POST /api/backend/item?table=t").json(row);
    post(json!({"id": 1, "p": 9})).refused(409, "conflict").await;
    post(json!({"id": 1, "w": 5})).expect(201).await;
    // SQLite checks it at once.
    let twice = post(json!({"id": 2, "w": 5})).refused(409, "conflict").await;
    assert!(twice.text().contains("already has this value (w)"), "{}", twice.text());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_dropped_change_leaves_no_trace() {
    let site = Site::open().await;
    let before = site.traces().await;
    for n in 0..20 {
        let mut change = site.cms.change(cms_core::Actor::Operator).await.unwrap();
        let body = json!({"name": format!("dropped{n}")});
        site.cms.items().create(&mut change, "settings", body.as_object().unwrap()).await.unwrap();
        drop(change);
        if n % 3 == 0 {
            site.insert("settings", json!({"name": format!("kept{n}")})).await;
        }
    }
    for (name, kept) in [("dropped", 0), ("kept", 7)] {
        let rows = format!("cms_settings where name like '{name}%'");
        assert_eq!(site.database.rows(&rows).await, kept, "{name}");
    }
    assert_eq!(site.traces().await[0], before[0] + 7);
}

/// Changes of many rows have a transaction of their own, between others that share theirs.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn large_changes_stand_among_small_ones() {
    let site = Site::open().await;
    let one = async |n: usize| {
        let mut change = site.cms.change(cms_core::Actor::Operator).await.unwrap();
        if n.is_multiple_of(3) {
            change = change.large().await.unwrap();
        }
        for part in 0..3 {
            let body = json!({"name": format!("{n} {part}")});
            let items = site.cms.items();
            items.create(&mut change, "settings", body.as_object().unwrap()).await.unwrap();
        }
        match n % 2 {
            0 => change.commit().await.unwrap(),
            _ => drop(change),
        }
    };
    futures_util::future::join_all((0..60).map(one)).await;
    for n in 0..60 {
        let kept = format!("cms_settings where name like '{n} %'");
        assert_eq!(site.database.rows(&kept).await, if n % 2 == 0 { 3 } else { 0 }, "{n}");
    }
}
