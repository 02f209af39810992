//! Reads while tables rest: no query for callers either, and never an old value.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use cms_http::client::Ask;
use serde_json::{Value as Json, json};

use crate::support::{
    Site, TestDatabase,
    plugins::table,
    process::{self, Served},
};

const ONE: &str = "GET /api/backend/item?table=settings&id=n0";

async fn site() -> Site {
    Site::with(|settings| settings.cache.enabled = true).await
}

async fn create(site: &Site, id: &str) {
    let body = json!({"name": id, "value": 0});
    site.insert("settings", body).await;
}

/// Statements that a request sends.
async fn cost(site: &Site, ask: crate::support::Ask) -> u64 {
    let before = site.cms.db().statements_sent();
    ask.expect(200).await;
    site.cms.db().statements_sent() - before
}

#[tokio::test]
async fn reads_of_unchanged_records_cost_no_query() {
    let site = site().await;
    create(&site, "n0").await;
    create(&site, "n1").await;
    let ana = site.person("ana", json!(["settings_settings_view"])).await;
    let (key, postgres) = (site.key(&[ONE]).await, site.database.is_postgres());
    // Identity and epoch are one statement. SQLite shows without any that nobody has committed.
    let rested = u64::from(postgres);
    let list = "GET /api/backend/item?table=settings&limit=20&sort=-name";
    for line in [ONE, list] {
        site.admin(line).expect(200).await;
        for _ in 0..3 {
            assert_eq!(cost(&site, site.admin(line)).await, rested, "{line}");
        }
        site.ask(line).bearer(&ana.token).expect(200).await;
        assert_eq!(cost(&site, site.ask(line).bearer(&ana.token)).await, rested, "{line}");
    }
    assert_eq!(cost(&site, site.ask(ONE).key(&key)).await, 1, "a key that is not known yet");
    // Another table changes: the record is still good.
    let item = json!({"menu": "m", "title": "x", "url": "/x", "language_short": "en"});
    site.insert("menu_items", item).await;
    assert_eq!(cost(&site, site.admin(ONE)).await, 1);
    assert_eq!(cost(&site, site.admin(ONE)).await, rested);
    // The table itself: no more than without memory.
    site.update("settings&id=n1", json!({"value": 1})).await;
    assert_eq!(cost(&site, site.admin(ONE)).await, 2);
    assert_eq!(cost(&site, site.admin(ONE)).await, rested);
}

#[tokio::test]
async fn records_are_kept_silently_and_for_those_who_may_read_them() {
    let site = site().await;
    create(&site, "n0").await;
    let etag = site.admin(ONE).expect(200).await.header("etag").to_owned();
    let again = site.admin(ONE).expect(200).await;
    assert_eq!(
        (again.header("etag"), again.header("cache-control")),
        (&*etag, "private, no-cache")
    );
    assert!(!again.headers.contains_key("x-cache") && !again.headers.contains_key("age"));
    let unchanged = site.admin(ONE).header("if-none-match", &etag).expect(304).await;
    assert!(unchanged.body.is_empty());
    let other = site.key(&["GET /api/backend/item?table=pages"]).await;
    site.ask(ONE).key(&other).refused(401, "api_key_forbidden").await;
    site.ask(ONE).refused(401, "login_required").await;
    let spelled = site.ask(&ONE.replace("backend", "%62ackend")).expect(401).await;
    assert_eq!(spelled.header("cache-control"), "private, no-cache", "however it is spelled");
    let narrow = site.key(&["GET /api/backend/item?table=settings&fields=name"]).await;
    site.ask(ONE).key(&narrow).refused(401, "api_key_forbidden").await;
    let named = site.ask(&format!("{ONE}&fields=name")).key(&narrow).expect(200).await;
    assert_eq!(named.data(), json!({"name": "n0"}));
    site.remove("settings&id=n0").await;
    site.admin(ONE).refused(404, "not_found").await;
    let shown = site.get("/api/backend/cache").await;
    assert_eq!((&shown["hits"], &shown["misses"]), (&json!(0), &json!(0)), "visitors only");
    assert!(shown["bytes"].as_u64().unwrap() > 0);
}

#[tokio::test]
async fn what_expands_depends_on_the_caller() {
    let table = table("t", "page integer references=pages, parent integer references=t");
    let endpoint = json!({"modelPath": "t", "endpoint": "t-list", "public": true});
    let declared = json!({"id": "p", "tables": [table], "endpoints": [endpoint]});
    let site = Site::builder().await.settings(|s| s.cache.enabled = true).plugin(declared);
    let site = site.open().await;
    let page = json!({"title": "a", "view": "a", "url_rewrite": "/a"});
    let id = site.insert("pages", page).await;
    site.insert("t", json!({"page": id["id"]})).await;
    let line = "GET /api/backend/item?table=t&expand=page";
    site.admin(line).expect(200).await;
    let key = site.key(&["GET /api/backend/item?table=t"]).await;
    site.ask(line).key(&key).refused(401, "api_key_forbidden").await;
    // Whoever shows nothing, at an endpoint for everybody.
    site.ask("GET /api/t-list").expect(200).await;
    for open in ["GET /api/t-list?expand=page", "GET /api/t-list?id=1&expand=page"] {
        site.admin(open).expect(200).await;
        site.ask(open).refused(401, "api_key_missing").await;
    }
    let renamed = json!({"title": "b"});
    site.update(&format!("pages&id={}", id["id"]), renamed).await;
    assert_eq!(site.admin(line).expect(200).await.data()[0]["page"]["title"], "b");
    // The endpoint shows its own table to everybody.
    let child = json!({"parent": 1});
    site.admin("POST /api/backend/item?table=t").json(child).expect(201).await;
    let own = site.ask("GET /api/t-list?id=2&expand=parent").expect(200).await;
    assert_eq!(own.data()["parent"]["page"], id["id"]);
    site.ask("GET /api/t-list?expand=parent,page").refused(401, "api_key_missing").await;
}

#[tokio::test]
async fn what_others_write_past_the_service_counts_too() {
    let database = TestDatabase::new().await;
    let schema = "create table notes (id integer primary key, n integer); \
                  insert into notes values (1, 0)";
    database.run(schema).await;
    let adopted = json!({"id": "p", "tables": [{"name": "notes", "adopt": true}]});
    let site = Site::on(database).settings(|s| s.cache.enabled = true).plugin(adopted);
    let site = site.open().await;
    let ask = || site.admin("GET /api/backend/item?table=notes&id=1");
    for n in 1..50 {
        site.database.run(format!("update notes set n = {n}")).await;
        assert_eq!(ask().expect(200).await.data()["n"], n);
        let known = cost(&site, ask()).await;
        assert_eq!(known, if site.database.is_postgres() { 2 } else { 0 });
    }
}

#[tokio::test]
async fn a_session_is_believed_only_while_nothing_is_committed() {
    let site = site().await;
    create(&site, "n0").await;
    let ana = site.person("ana", json!(["settings_settings_view"])).await;
    let ask = || site.ask(ONE).bearer(&ana.token);
    for (sql, status) in [
        ("update cms_users set active = false where username = 'ana'", 401),
        ("update cms_users set active = true where username = 'ana'", 200),
        ("update cms_user_groups set rights = '[]'", 403),
        ("update cms_user_groups set rights = '[\"settings_settings_view\"]'", 200),
        ("delete from cms_sessions", 401),
    ] {
        ask().send().await;
        ask().send().await;
        site.database.run(sql).await;
        ask().expect(status).await;
    }
}

/// How often the test below writes: `.ci/full` asks for 100,000.
fn rounds() -> u64 {
    let asked = std::env::var("CMS_TEST_ROUNDS").ok().and_then(|text| text.parse().ok());
    asked.unwrap_or(2_000)
}

const WRITERS: u64 = 4;

/// One process writes in grouped commits, with checkpoints between them; another reads all the
/// time. What was acknowledged before a read began must be in its reply.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_old_value_after_a_write_was_acknowledged() {
    let database = TestDatabase::new().await;
    process::run(&database, &["init"]);
    let site = Site::on(database).settings(|settings| settings.cache.enabled = true).open().await;
    let served = Served::start(&site.database, "warn");
    let done = Arc::new(AtomicBool::new(false));
    let mut written = Vec::new();
    for n in 0..WRITERS {
        create(&site, &format!("n{n}")).await;
        written.push(Arc::new(AtomicU64::new(0)));
    }
    let writers = written.iter().enumerate().map(|(n, written)| {
        let (client, written) = (served.client(&site.admin), written.clone());
        tokio::spawn(async move {
            for round in 1..=rounds() / WRITERS {
                let ask = Ask::patch("/api/backend/item")
                    .query("table", "settings")
                    .query("id", format!("n{n}"))
                    .json(&json!({"value": round}));
                client.send(ask).await.unwrap();
                written.store(round, Ordering::SeqCst);
            }
        })
    });
    let writers: Vec<_> = writers.collect();
    let (mut reads, mut rested) = (0_u64, 0_u64);
    let reader = async {
        while !done.load(Ordering::SeqCst) {
            for (n, written) in written.iter().enumerate() {
                let known = written.load(Ordering::SeqCst);
                let before = site.cms.db().statements_sent();
                let line = format!("GET /api/backend/item?table=settings&id=n{n}");
                let reply = site.admin(&line).expect(200).await;
                let value = reply.data()["value"].as_u64().unwrap();
                assert!(value >= known, "n{n} is {value}, {known} was acknowledged");
                reads += 1;
                rested += u64::from(site.cms.db().statements_sent() == before);
            }
            let known: Vec<_> = written.iter().map(|n| n.load(Ordering::SeqCst)).collect();
            let list = "GET /api/backend/item?table=settings&sort=name&fields=name,value";
            let rows = site.admin(list).expect(200).await.data();
            let values = rows.as_array().unwrap().iter().map(|row: &Json| row["value"].as_u64());
            for (value, known) in values.zip(known) {
                assert!(value >= Some(known), "{value:?} in the list, {known} was acknowledged");
            }
            if !site.database.is_postgres() && reads.is_multiple_of(200) {
                site.database.run("pragma wal_checkpoint(truncate)").await;
            }
            tokio::task::yield_now().await;
        }
    };
    let wait = async {
        for writer in writers {
            writer.await.unwrap();
        }
        done.store(true, Ordering::SeqCst);
    };
    tokio::join!(reader, wait);
    println!("{} writes, {reads} reads of a record, {rested} of them without a query", rounds());
}
