//! A database copied from SQLite to PostgreSQL and back. Needs a server.

use std::{
    collections::BTreeSet,
    process::{Command, Stdio},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicI64, Ordering},
    },
    time::{Duration, Instant},
};

use cms_core::{
    Actor, Builder, Cms, Code, Error, OwnTables,
    db::{Copied, CopyProgress, CopyStep},
    settings::Database,
};
use futures_util::future::join_all;
use serde_json::{Value as Json, json};

use crate::{
    own_tables::FIRST as LEDGER,
    support::{
        Receiver, Site, TestDatabase,
        database::server,
        media::png,
        plugins::{plugin, table},
        process,
        visits::leads,
        webhooks::open,
    },
};

/// A plugin with columns of every kind.
fn notes_plugin() -> Json {
    let notes = "title text required, n integer, price decimal, weight number, \
                 done boolean required default=false, day date, hour time, at datetime, more json, \
                 secret password, parent integer references=notes";
    let labels = "note integer references=notes, label text";
    let mut plugin = plugin("notes", [("notes", notes), ("labels", labels)]);
    plugin["tables"][0]["indexes"] = json!([["title"], ["n", "price"]]);
    plugin
}

/// An empty database with the plugin in its folder.
async fn place(is_postgres: bool) -> TestDatabase {
    let database = match is_postgres {
        true => TestDatabase::new().await,
        false => TestDatabase::sqlite().await,
    };
    database.write_plugin(&notes_plugin());
    database
}

/// One for each, where there is a server to copy to.
async fn places<const N: usize>(are_postgres: [bool; N]) -> Option<[TestDatabase; N]> {
    if server().is_none() {
        println!("skipped: CMS_TEST_DB names no PostgreSQL");
        return None;
    }
    Some(join_all(are_postgres.map(place)).await.try_into().ok().expect("as many"))
}

/// Closes a site.
async fn closed(site: Site) -> TestDatabase {
    site.cms.close().await;
    site.database
}

const NOWHERE: &str = "https://hooks.example.org/x";

fn note(number: usize) -> Json {
    let texts = ["plain", "ü 😀 ', \" \\", "\\N", "tab\tand\nline\r\u{b}", "", "\\x00", "a\\"];
    let text = texts[number % texts.len()];
    let price = ["0.1", "12.50", "-0.00", "123456789012.345", "7"][number % 5];
    let weight = [0.1, 1e-7, 1.5e300, -2.0, 0.333_333_333_333_333_3][number % 5];
    let hour = ["00:00:00", "23:59:59.25", "09:30:00.000001"][number % 3];
    let at = ["2026-11-21T09:30:00Z", "9999-12-31T23:59:59.999Z", "0001-01-01T00:00:00.25Z"];
    let more = [json!(null), json!({"b": [1, "ü\n", null], "a": 0.1}), json!("x"), json!([])];
    json!({
        "title": format!("{text} {number}"),
        "n": (number as i64 - 500) * 9_007_199_254_741,
        "price": price,
        "weight": weight,
        "done": number.is_multiple_of(2),
        "day": (!number.is_multiple_of(3)).then_some("2026-02-28"),
        "hour": hour,
        "at": at[number % 3],
        "more": more[number % 4],
        "secret": format!("secret {number}"),
    })
}

async fn notes(site: &Site, count: usize) {
    for first in (0..count).step_by(500) {
        let rows: Vec<_> = (first..count.min(first + 500)).map(note).collect();
        site.insert("notes", json!(rows)).await;
    }
}

/// Rows of every kind, `count` notes, and `JOBS` deliveries that wait.
async fn filled(database: TestDatabase, count: usize, hook: &str) -> Site {
    let own = |all: Builder| all.own_tables(LEDGER);
    let site = Site::on(database).settings(open).with(own).open().await;
    let ledger = "insert into ledger (account, cents, note, open) values ('ü', 5, '{\"a\": [1]}', \
                  false), ('b', -7, null, true)";
    site.database.run(ledger).await;
    notes(&site, count).await;
    let last = count as i64;
    for row in 1..=20 {
        site.update(&format!("notes&id={row}"), json!({"parent": last - row})).await;
    }
    let labels: Vec<_> =
        (1..=500.min(last - 1)).map(|n| json!({"note": n, "label": format!("l{n}")})).collect();
    site.insert("labels", json!(labels)).await;
    // Ids that never come again: the last of one table, all of another.
    site.remove(&format!("notes&id={last}")).await;
    let item = json!({"menu": "m", "title": "t", "url": "/", "language_short": "en"});
    site.insert("menu_items", item).await;
    site.remove("menu_items&id=1").await;
    let page = |id: i64, parent: Option<i64>| {
        json!({"id": id, "parent_id": parent, "language_short": "en", "published": true,
               "url_rewrite": format!("/p{id}"), "title": format!("Page {id}")})
    };
    // A child with a lower id than its parent's.
    site.insert("pages", page(9, None)).await;
    site.insert("pages", page(3, Some(9))).await;
    site.person("ana", json!(["pages_pages_view"])).await;
    let form = json!({"name": "contact", "fields": [{"id": "mail", "type": "email"}]});
    site.insert("forms", form).await;
    for number in 0..20 {
        let answers = json!({"form": "contact", "answers": {"mail": format!("a{number}@x.org")}});
        site.ask("POST /api/form/submit").json(answers).expect(201).await;
    }
    let funnel = site.funnel(leads()).await;
    for number in 0..15 {
        let visit = site.visit(funnel.id).await;
        visit.answers(json!({"name": format!("Ana {number}"), "mail": "a@x.org"})).await;
        if number % 3 == 0 {
            visit.step(None, json!({"budget": 9000})).expect(200).await;
            visit.upload("paper", b"%PDF-1.7 x %%EOF").await;
        }
    }
    for seed in 0..5 {
        site.upload(&format!("p{seed}.png"), &png(8, 8, seed)).await;
    }
    let origin = json!({"origin": "https://app.example.org", "active": true});
    site.create("/api/backend/origins", origin).await;
    site.webhook(hook, &["item.labels.created"]).await;
    wait_for_delivery(&site, JOBS).await;
    site
}

/// Deliveries of [`filled`] that wait.
const JOBS: usize = 50;

async fn wait_for_delivery(site: &Site, jobs: usize) {
    for number in 0..jobs {
        let label = json!({"note": 1, "label": format!("job {number}")});
        site.insert("labels", label).await;
    }
}

/// The jobs that wait in it run, each once.
async fn deliver(site: &Site, receiver: &Receiver, jobs: usize) {
    let mut worker = site.worker();
    for _ in 0..2 * jobs {
        worker.step().await.unwrap();
    }
    let deliveries = receiver.deliveries();
    let ids: BTreeSet<_> =
        deliveries.iter().map(|delivery| &delivery.headers["webhook-id"]).collect();
    assert_eq!((receiver.count(), ids.len()), (jobs, jobs));
}

fn address(database: &TestDatabase) -> Database {
    database.settings().database().unwrap()
}

/// Copies a database that is not served.
async fn copied(from: &TestDatabase, to: &TestDatabase, resume: bool) -> Result<Copied, Error> {
    let mut settings = from.settings();
    settings.migrate = false;
    open(&mut settings);
    let cms = Cms::open(settings).await?;
    let copied = cms.copy_to(&address(to), resume, &|_| ()).await;
    cms.close().await;
    copied
}

/// Every row of SQLite as SQLite writes it, by table. Without what each database has of its own.
async fn dumped(database: &TestDatabase) -> Vec<(String, String)> {
    let names = "name not like 'cms_formfunnel_search%' and name not in ('cms_migrations', \
                 'sqlite_stat1', 'sqlite_stat4')";
    let mut dump = database.rows_of(names).await;
    // Events are equal in their order.
    let order = "select coalesce(group_concat(id), '') from (select id from cms_events order by \
                 rowid)";
    dump.push(("order of events".to_owned(), database.text(order).await));
    dump
}

async fn are_equal(one: &TestDatabase, other: &TestDatabase) {
    let (one, other) = (dumped(one).await, dumped(other).await);
    let names = |dump: &[(String, String)]| dump.iter().map(|(n, _)| n.clone()).collect::<Vec<_>>();
    assert_eq!(names(&one), names(&other));
    for ((name, rows), (_, others)) in one.iter().zip(&other) {
        let differ = rows.lines().zip(others.lines()).find(|(one, other)| one != other);
        let counts = (rows.lines().count(), others.lines().count());
        assert!(rows == others, "{name}, {counts:?}: {differ:#?}");
    }
}

async fn next_id(site: &Site, table: &str, record: Json) -> i64 {
    site.insert(table, record).await["id"].as_i64().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_row_goes_there_and_back() {
    let Some([first, there, back]) = places([false, true, false]).await else { return };
    let receiver = Receiver::start(200).await;
    let site = filled(first, 3000, &receiver.url).await;
    let waiting = site.statuses().await;
    assert_eq!(waiting["pending"], JOBS);
    let clock = site.clock.now();
    let first = closed(site).await;
    let out = copied(&first, &there, false).await.unwrap();
    assert!(out.left_out.is_empty(), "{out:?}");
    assert!(out.tables.contains(&("notes".to_owned(), 2999)), "{out:?}");
    let again = copied(&there, &back, false).await.unwrap();
    assert_eq!(out.tables, again.tables);
    are_equal(&first, &back).await;

    // Both sites go on where the first was.
    for database in [there, back] {
        let is_postgres = database.is_postgres();
        let site = Site::on(database).settings(open).open().await;
        site.clock.advance(clock - site.clock.now());
        assert_eq!(next_id(&site, "notes", note(1)).await, 3001);
        let item = json!({"menu": "m", "title": "t", "url": "/", "language_short": "en"});
        assert_eq!(next_id(&site, "menu_items", item).await, 2);
        assert_eq!(site.statuses().await, waiting);
        let broken = json!({"note": 3000, "label": "of a note that is gone"});
        let labels = site.admin("POST /api/backend/item?table=labels").json(broken);
        labels.refused(409, "conflict").await;
        let list = site.get("/api/backend/formfunnel?action=submissions&limit=50").await;
        assert_eq!(list.as_array().map(Vec::len), Some(15), "{list}");
        if is_postgres {
            deliver(&site, &receiver, JOBS).await;
        }
        site.cms.close().await;
    }
}

/// Events of one change share a number on PostgreSQL.
#[tokio::test]
async fn events_of_one_change_keep_their_order() {
    let Some([there, back]) = places([true, false]).await else { return };
    let site = Site::on(there).settings(open).open().await;
    let mut change = site.cms.change(Actor::Operator).await.unwrap();
    for number in 0..20 {
        let label = json!({"label": format!("l{number}")});
        site.cms.items().create(&mut change, "labels", label.as_object().unwrap()).await.unwrap();
    }
    change.commit().await.unwrap();
    let there = closed(site).await;
    copied(&there, &back, false).await.unwrap();
    let order = "select string_agg(id, ',' order by rowid, place) from cms_events";
    let copy = "select group_concat(id) from (select id from cms_events order by rowid)";
    assert_eq!(there.text(order).await, back.text(copy).await);
}

#[tokio::test]
async fn a_target_in_use_is_refused() {
    let Some([source, used]) = places([false, true]).await else { return };
    let source = closed(filled(source, 30, NOWHERE).await).await;
    let used = closed(Site::on(used).open().await).await;
    let refused = copied(&source, &used, false).await.unwrap_err();
    assert_eq!(refused.code(), Code::Conflict);
    assert!(refused.detail().contains("holds rows"), "{refused}");
    let refused = copied(&source, &place(false).await, false).await.unwrap_err();
    assert!(refused.detail().contains("other engine"), "{refused}");
    let fresh = place(true).await;
    let refused = copied(&source, &fresh, true).await.unwrap_err();
    assert!(refused.detail().contains("leave out --resume"), "{refused}");
    // A site that nobody has used is as good as none.
    let cms = Cms::open(fresh.settings()).await.unwrap();
    cms.close().await;
    copied(&source, &fresh, false).await.unwrap();
}

/// Their broken references do not matter, but references to them do.
#[tokio::test]
async fn tables_of_other_programs_are_moved_first() {
    let Some([source, target]) = places([false, true]).await else { return };
    let source = closed(Site::on(source).settings(open).open().await).await;
    let theirs = "pragma foreign_keys = off; \
                  create table categories (id integer primary key, name text); \
                  insert into categories values (1, 'c'); \
                  create table legacy (id integer primary key, \
                  category integer references categories (id)); \
                  insert into legacy values (1, 99)";
    source.run(theirs).await;
    let adopted = json!({"name": "categories", "adopt": true});
    let shelves = table("shelves", "category integer references=categories");
    source.write_plugin(&json!({"id": "shelves", "tables": [adopted, shelves]}));
    let site = Site::on(source).settings(open).open().await;
    site.insert("shelves", json!({"category": 1})).await;
    let source = closed(site).await;
    let refused = copied(&source, &target, false).await.unwrap_err();
    assert_eq!(refused.code(), Code::Conflict, "{refused:?}");
    assert!(refused.detail().contains("move categories into the target first"), "{refused}");
    let moved = "create table categories (id bigint primary key, name text); \
                 insert into categories values (1, 'c')";
    target.run(moved).await;
    let done = copied(&source, &target, false).await.unwrap();
    assert_eq!(done.left_out, ["categories", "legacy"]);
    assert_eq!(target.rows("shelves").await, 1);
}

/// Also those that a foreign key of two columns refers to.
#[tokio::test]
async fn tables_of_other_programs_are_found_by_every_foreign_key() {
    const MAKE: &str = "create table parts (id {{id}}, shop BIGINT, number BIGINT, \
                        foreign key (shop, number) references theirs (shop, number)) {{strict}}";
    const PARTS: OwnTables = OwnTables::new("parts", &["parts"], &[MAKE]);
    let Some([source, target]) = places([false, true]).await else { return };
    let source = closed(Site::on(source).settings(open).open().await).await;
    let theirs = "create table theirs (shop bigint, number bigint, primary key (shop, number))";
    source.run(theirs).await;
    let own = |all: Builder| all.own_tables(PARTS);
    let source = closed(Site::on(source).settings(open).with(own).open().await).await;
    let refused = copied(&source, &target, false).await.unwrap_err();
    assert_eq!(refused.code(), Code::Conflict, "{refused:?}");
    assert!(refused.detail().contains("move theirs into the target first"), "{refused}");
    target.run(theirs).await;
    assert_eq!(copied(&source, &target, false).await.unwrap().left_out, ["theirs"]);
}

#[tokio::test]
async fn no_site_opens_a_target_in_which_a_copy_has_begun() {
    let Some([source, target]) = places([false, true]).await else { return };
    let source = closed(Site::on(source).settings(open).open().await).await;
    let other = Cms::builder(target.settings()).own_tables(LEDGER).open().await.unwrap();
    other.close().await;
    let refused = copied(&source, &target, false).await.unwrap_err();
    assert!(refused.detail().contains("which the source has not"), "{refused}");
    let opened = Cms::open(target.settings()).await.err().expect("refused");
    assert!(opened.is_outdated(), "{opened:?}");
}

#[tokio::test]
async fn a_schema_that_is_not_there_is_refused() {
    let Some([source]) = places([false]).await else { return };
    let server = server().unwrap();
    let joint = if server.contains('?') { '&' } else { '?' };
    let url = cms_core::Secret::new(format!("{server}{joint}options[search_path]=nowhere"));
    let site = Site::on(source).open().await;
    let target = Database::Postgres { url, idle_in_transaction_s: 60, max_connections: 2 };
    let refused = site.cms.copy_to(&target, false, &|_| ()).await.unwrap_err();
    assert_eq!(refused.code(), Code::Conflict, "{refused:?}");
    assert!(refused.detail().contains("(nowhere): make the schema first"), "{refused}");
}

#[tokio::test]
async fn values_that_the_other_engine_cannot_hold_are_named() {
    let Some([source, target]) = places([false, true]).await else { return };
    let source = closed(filled(source, 30, NOWHERE).await).await;
    source
        .run(
            "update notes set title = 'a' || char(0) || 'b' where id = 2; \
             update notes set title = cast(x'ff' as text) where id = 3; \
             update notes set done = 7 where id = 4; \
             update notes set weight = 9e999 where id = 5; \
             update notes set at = 'yesterday' where id = 6; \
             update notes set more = '{' where id = 7; \
             update notes set price = 0.1234567890123456 where id = 8; \
             update notes set day = '2026-02-30' where id = 9",
        )
        .await;
    let refused = copied(&source, &target, false).await.unwrap_err();
    assert_eq!(refused.code(), Code::Conflict);
    for named in [
        "notes, row id 2: title holds the character U+0000",
        "notes, row id 3: title is not UTF-8 text",
        "notes, row id 4: done is a number other than 0 and 1",
        "notes, row id 5: weight is not a finite number",
        "notes, row id 6: at is not an instant",
        "notes, row id 7: more is not JSON",
        "notes, row id 9: day is not a day",
    ] {
        assert!(refused.detail().contains(named), "{named}: {refused}");
    }
    // Nobody takes it for a site meanwhile.
    let mut settings = target.settings();
    let opened = Cms::open(settings.clone()).await.err().expect("refused");
    assert!(opened.is_outdated(), "{opened:?}");
    settings.migrate = false;
    assert!(Cms::open(settings).await.err().expect("refused").is_outdated());
    let again = copied(&source, &target, false).await.unwrap_err();
    assert!(again.detail().contains("go on with --resume"), "{again}");
    source
        .run(
            "update notes set title = 'x', done = 0, weight = 1, at = null, more = null, \
                day = null where id between 2 and 9",
        )
        .await;
    copied(&source, &target, true).await.unwrap();
    assert_eq!(target.rows("notes").await, 29);
}

fn cms(database: &TestDatabase, arguments: &[&str]) -> Command {
    let mut command = process::command(database, arguments);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes minutes: .ci/full runs it"]
async fn a_copy_goes_on_after_a_kill() {
    let Some([source, target, back]) = places([false, true, false]).await else { return };
    process::run(&source, &["init"]);
    process::run(&source, &["migrate", "up"]);
    source.run(many_notes(30_000)).await;
    let to = target.url.clone().unwrap();
    let mut killed = 0;
    for chunks in [1, 3] {
        let resume: &[&str] = if chunks == 1 { &[] } else { &["--resume"] };
        let arguments = [&["db", "copy", "--to", &to], resume].concat();
        let mut child = cms(&source, &arguments).spawn().unwrap();
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(60) {
            if child.try_wait().unwrap().is_some() {
                break;
            }
            let there = "select count(*) from pg_tables where schemaname = current_schema() and \
                         tablename = 'cms_copy_chunks'";
            if target.count(there).await == 1 && target.rows("cms_copy_chunks").await > chunks {
                child.kill().unwrap();
                killed += 1;
                break;
            }
        }
        child.wait().unwrap();
    }
    assert_eq!(killed, 2, "it was killed in the middle");
    // The source went on meanwhile.
    source
        .run("update notes set title = 'changed' where id = 7; delete from notes where id = 8")
        .await;
    let printed = process::run(&source, &["db", "copy", "--to", &to, "--resume"]);
    assert!(printed.lines().any(|line| line == "notes\t29999"), "{printed}");
    assert_eq!(target.text("select title from notes where id = 7").await, "changed");
    let foreign = "select count(*) from pg_constraint c join pg_class r on r.oid = c.conrelid \
                   join pg_namespace n on n.oid = r.relnamespace where c.contype = 'f' and \
                   n.nspname = current_schema()";
    assert!(target.count(foreign).await > 20, "the references are back");
    copied(&target, &back, false).await.unwrap();
    are_equal(&source, &back).await;
}

/// Statements that make so many notes.
fn many_notes(count: usize) -> String {
    format!(
        "with recursive n (i) as (select 1 union all select i + 1 from n where i < {count}) \
         insert into notes (title, n, price, weight, done, day, hour, at, more) select \
         'Note ' || i, i, i / 8.0, i / 3.0, i % 2, '2026-11-21', '09:30:00', \
         '2026-11-21T09:30:00.250Z', '{{\"a\":' || i || '}}' from n"
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "takes minutes: .ci/full runs it"]
async fn nothing_acknowledged_is_missing() {
    for from_postgres in [false, true] {
        let Some([source, target]) = places([from_postgres, !from_postgres]).await else { return };
        let site = filled(source, 6000, NOWHERE).await;
        let stop = Arc::new(AtomicBool::new(false));
        let acknowledged = Arc::new(Mutex::new(BTreeSet::new()));
        let removed = Arc::new(AtomicI64::new(100));
        let at_lock: Mutex<Option<(BTreeSet<i64>, i64)>> = Mutex::default();
        let address = address(&target);
        let writers = async {
            let one = async |number: usize| {
                while !stop.load(Ordering::SeqCst) {
                    let line = "POST /api/backend/item?table=notes";
                    let reply = site.admin(line).json(note(number)).send().await;
                    if reply.status.as_u16() == 201 {
                        let id = reply.data()["id"].as_i64().unwrap();
                        acknowledged.lock().unwrap().insert(id);
                    }
                    tokio::task::yield_now().await;
                }
            };
            let remover = async {
                while !stop.load(Ordering::SeqCst) {
                    // Rows that were copied long ago.
                    let id = removed.load(Ordering::SeqCst) + 1;
                    let line = format!("DELETE /api/backend/item?table=notes&id={}", id + 1000);
                    site.admin(&line).send().await;
                    let line = format!("PATCH /api/backend/item?table=notes&id={id}");
                    let patch = json!({"title": "changed"});
                    if site.admin(&line).json(patch).send().await.status.as_u16() == 200 {
                        removed.store(id, Ordering::SeqCst);
                    }
                }
            };
            tokio::join!(one(0), one(1), one(2), remover);
        };
        let on_progress = |now: CopyProgress<'_>| {
            if now.step == CopyStep::Settle {
                let mut at_lock = at_lock.lock().unwrap();
                at_lock.get_or_insert_with(|| {
                    let all = acknowledged.lock().unwrap().clone();
                    (all, removed.load(Ordering::SeqCst))
                });
            }
        };
        let copying = async {
            let copied = site.cms.copy_to(&address, false, &on_progress).await;
            stop.store(true, Ordering::SeqCst);
            copied
        };
        let ((), copied) = tokio::join!(writers, copying);
        let copied = copied.unwrap();
        let (before, changed) = at_lock.into_inner().unwrap().expect("it was locked");
        assert!(before.len() > 5, "others wrote: {}", before.len());
        println!("{} writes before the lock, {:?} locked", before.len(), copied.read_only);
        for chunk in before.iter().collect::<Vec<_>>().chunks(100) {
            let ids = chunk.iter().map(|id| id.to_string()).collect::<Vec<_>>().join(", ");
            let count = format!("select count(*) from notes where id in ({ids})");
            assert_eq!(target.count(&count).await, chunk.len() as i64, "{ids}");
        }
        let count = "select count(*) from notes where title = 'changed'";
        assert!(target.count(count).await >= changed - 100);
        let gone =
            format!("select count(*) from notes where id between 1101 and {}", changed + 1000);
        assert_eq!(target.count(&gone).await, 0);
        site.cms.close().await;
    }
}

#[tokio::test]
async fn the_command_says_what_is_wrong() {
    let source = place(false).await;
    process::run(&source, &["init"]);
    for (arguments, code, said) in [
        (&["db", "copy"][..], 2, "CMS_COPY_TO"),
        (&["db", "copy", "--to", "mysql://x/y"][..], 2, "must begin with"),
        (&["db", "copy", "--to", "sqlite://x.db"][..], 6, "other engine"),
        (&["db", "copy", "--to", "postgres://x:s3cret@127.0.0.1:1/y"][..], 7, "of the target"),
    ] {
        process::run(&source, &["migrate", "up"]);
        let output = process::output(&source, arguments);
        let err = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {err}");
        assert!(err.contains(said) && !err.contains("s3cret"), "{arguments:?}: {err}");
    }
}

/// With CMS_TEST_COPY=100000: so many notes, a tenth of it submissions, 500 jobs that wait; and how
/// fast they go.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_large_site_is_copied_fast() {
    let Ok(count) = std::env::var("CMS_TEST_COPY") else { return };
    let count: usize = count.parse().unwrap();
    let Some([first, there, back]) = places([false, true, false]).await else { return };
    let receiver = Receiver::start(200).await;
    let site = filled(first, 3000, &receiver.url).await;
    wait_for_delivery(&site, 500 - JOBS).await;
    let clock = site.clock.now();
    let first = closed(site).await;
    first.run(many_notes(count)).await;
    first
        .run(format!(
            "with recursive n (i) as (select 1 union all select i + 1 from n where i < {}) insert \
             into cms_form_submissions (form_id, created_at, spam, summary, answers) select 1, i, \
             0, 's' || i, '{{}}' from n",
            count / 10
        ))
        .await;
    for (from, to) in [(&first, &there), (&there, &back)] {
        let began = Instant::now();
        let done = copied(from, to, false).await.unwrap();
        let rows: u64 = done.tables.iter().map(|(_, rows)| rows).sum();
        let rate = rows as f64 / began.elapsed().as_secs_f64();
        println!(
            "{rows} rows in {:?}: {rate:.0} rows/s, locked {:?}, to PostgreSQL: {}",
            began.elapsed(),
            done.read_only,
            to.is_postgres()
        );
    }
    are_equal(&first, &back).await;
    // The steps of own tables are not run again there.
    let own = |all: Builder| all.own_tables(LEDGER);
    let site = Site::on(there).settings(open).with(own).open().await;
    site.clock.advance(clock - site.clock.now());
    deliver(&site, &receiver, 500).await;
}
