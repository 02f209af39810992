//! Events for code of this process: live, under a name, by handlers of plugins.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use cms_core::{
    Actor, Change, Cms, Code, Error, Random, Result, Work,
    events::RecordedEvent,
    plugins::{EventCall, Handlers, Manifest, Plugin},
    webhooks::Consumer,
};
use futures_util::StreamExt as _;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use crate::support::{
    Site, each,
    log::Log,
    plugins::{manifest, plugin},
    until,
};

const SETTINGS: &str = "item.settings.created";

/// What comes in time: other processes are noticed by the machine's clock.
async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(10), what).await.expect("in time")
}

async fn none_comes(consumer: &mut Consumer) {
    let next = tokio::time::timeout(Duration::from_millis(700), consumer.next()).await;
    assert!(next.is_err(), "{next:?}");
}

async fn next(consumer: &mut Consumer) -> RecordedEvent {
    soon(consumer.next()).await.expect("an open site")
}

fn name(event: &RecordedEvent) -> String {
    #[derive(Deserialize)]
    struct Data {
        record: Setting,
    }
    #[derive(Deserialize)]
    struct Setting {
        name: String,
    }
    event.data_as::<Data>().unwrap().record.name
}

/// Settings of these names, one after the other.
async fn write(cms: &Cms, names: &[&str]) {
    for name in names {
        write_by(cms, cms.change(Actor::Operator).await.unwrap(), name).await;
    }
}

async fn write_by(cms: &Cms, mut change: Change, name: &str) {
    add(cms, &mut change, name).await;
    change.commit().await.unwrap();
}

async fn add(cms: &Cms, change: &mut Change, name: &str) {
    let record = json!({"name": name, "value": 1});
    cms.items().create(change, "settings", record.as_object().unwrap()).await.unwrap();
}

/// The next events are those of these names; each is handled.
async fn handle(consumer: &mut Consumer, names: &[&str]) {
    for expected in names {
        assert_eq!(name(&next(consumer).await), *expected);
        consumer.finish().await.unwrap();
    }
}

/// The name of the next event, and whether events before it are missing.
async fn next_and_gap(consumer: &mut Consumer) -> (String, bool) {
    let event = next(consumer).await;
    (name(&event), consumer.has_gap())
}

/// Another process of the same site.
async fn beside(site: &Site) -> Cms {
    let builder = Cms::builder(site.database.settings()).clock(site.clock.clone());
    builder.random(Random::seeded(1 << 63)).open().await.unwrap()
}

async fn named(cms: &Cms, name: &str) -> Consumer {
    cms.events().subscribe(SETTINGS).named(name).await.unwrap()
}

#[tokio::test]
async fn a_name_goes_on_where_it_stood() {
    let site = Site::open().await;
    write(&site.cms, &["before"]).await;
    let mut first = named(&site.cms, "index").await;
    assert_eq!(first.change().await.err().map(|e| e.code()), Some(Code::Conflict));
    write(&site.cms, &["one", "two", "three"]).await;
    let mut seen = name(&next(&mut first).await);
    // Other tests hold changes open on the same server.
    if site.database.is_postgres() && seen == "before" {
        first.finish().await.unwrap();
        seen = name(&next(&mut first).await);
    }
    assert_eq!(seen, "one", "what was before is not seen");
    // What is not committed is not done.
    drop(first.change().await.unwrap());
    assert_eq!(name(&next(&mut first).await), "one");
    write_by(&site.cms, first.change().await.unwrap(), "follows").await;
    let again = first.change().await.err().expect("refused");
    assert_eq!(again.code(), Code::Conflict, "{again}");
    assert_eq!(name(&next(&mut first).await), "two");
    first.release().await.unwrap();

    // As after a restart.
    let mut second = named(&site.cms, "index").await;
    for expected in ["two", "three", "follows"] {
        assert_eq!(name(&next(&mut second).await), expected);
        second.finish().await.unwrap();
        second.finish().await.unwrap();
    }
    none_comes(&mut second).await;
    assert!(!second.has_gap());
    let waiting = tokio::spawn(async move { second.next().await });
    site.cms.close().await;
    assert!(soon(waiting).await.unwrap().is_none(), "a closed site ends it");
}

/// Whatever their ids, and the numbers of their transactions: a change that waits for a record has
/// a lower number than the one that it waits for.
#[tokio::test]
async fn events_have_the_order_in_which_they_were_raised() {
    let site = Site::open().await;
    let mut consumer = named(&site.cms, "index").await;
    let mut slow = site.cms.change(Actor::Operator).await.unwrap();
    add(&site.cms, &mut slow, "first").await;
    let mut expected = vec!["first"];
    if site.database.is_postgres() {
        write(&site.cms, &["ends before"]).await;
        expected.push("ends before");
    }
    for name in ["second", "third", "fourth", "fifth"] {
        add(&site.cms, &mut slow, name).await;
        expected.push(name);
    }
    slow.commit().await.unwrap();
    handle(&mut consumer, &expected).await;
    if site.database.is_postgres() {
        // An earlier version takes higher numbers for those of another server.
        let higher = "cms_events where rowid >= txid_snapshot_xmax(txid_current_snapshot())";
        assert_eq!(site.database.rows(higher).await, 0);
    }
}

#[tokio::test]
async fn one_process_at_a_time_has_a_name() {
    let site = Site::open().await;
    let other = beside(&site).await;
    let (mut here, mut there) = (named(&site.cms, "index").await, named(&other, "index").await);
    let mut apart = named(&other, "mail").await;
    write(&site.cms, &["one", "two"]).await;
    assert_eq!(name(&next(&mut here).await), "one");
    none_comes(&mut there).await;
    assert_eq!(name(&next(&mut apart).await), "one", "another name has its own place");

    // This process stands still for longer than its lease.
    site.clock.advance(31_000);
    assert_eq!(name(&next(&mut there).await), "one");
    let refused = here.change().await.err().expect("refused");
    assert!(refused.detail().contains("another process follows as index"), "{refused}");
    there.finish().await.unwrap();
    handle(&mut there, &["two"]).await;
    none_comes(&mut here).await;
    there.release().await.unwrap();
    write(&other, &["three"]).await;
    assert_eq!(name(&next(&mut here).await), "three");
    other.close().await;
}

/// The clock stands still, so no lease ends by itself.
#[tokio::test]
async fn a_closed_site_gives_its_names_back() {
    let site = Site::open().await;
    let before = beside(&site).await;
    let names = ["kept", "dropped", "released"];
    let mut consumers = Vec::new();
    for index in names {
        consumers.push(named(&before, index).await);
    }
    write(&site.cms, &["one", "two"]).await;
    for consumer in &mut consumers {
        assert_eq!(name(&next(consumer).await), "one");
        consumer.finish().await.unwrap();
    }
    consumers.pop().unwrap().release().await.unwrap();
    drop(consumers.pop());
    let mut here = named(&site.cms, "kept").await;
    none_comes(&mut here).await;
    let mut waits = named(&site.cms, "dropped").await;
    none_comes(&mut waits).await;
    before.close().await;
    assert!(soon(consumers[0].next()).await.is_none(), "its site is closed");
    for index in names {
        let mut after = named(&site.cms, index).await;
        assert_eq!(name(&next(&mut after).await), "two", "{index}");
    }
}

/// A consumer that is dropped leaves its name to the next one of its process, and to no other.
#[tokio::test]
async fn a_dropped_consumer_leaves_its_name_to_its_process() {
    let site = Site::open().await;
    let other = beside(&site).await;
    let (mut first, mut there) = (named(&site.cms, "index").await, named(&other, "index").await);
    write(&site.cms, &["one", "two"]).await;
    assert_eq!(name(&next(&mut first).await), "one");
    let mut second = named(&site.cms, "index").await;
    none_comes(&mut second).await;
    // Its change goes on, and is done once.
    let change = first.change().await.unwrap();
    drop(first);
    write_by(&site.cms, change, "three").await;
    none_comes(&mut there).await;
    assert_eq!(name(&next(&mut second).await), "two");
    second.finish().await.unwrap();
    none_comes(&mut there).await;
    drop(second);
    let mut third = named(&site.cms, "index").await;
    assert_eq!(name(&next(&mut third).await), "three");
    site.cms.close().await;
    assert_eq!(name(&next(&mut there).await), "three");
    other.close().await;
}

#[tokio::test]
async fn live_events_are_seen_as_they_happen_and_end_with_the_site() {
    let site = Site::open().await;
    let other = beside(&site).await;
    write(&site.cms, &["before"]).await;
    let mut live = site.cms.events().subscribe("item.*").live().await.unwrap();
    for (cms, expected) in [(&site.cms, "here"), (&other, "there")] {
        write(cms, &[expected]).await;
        let event = soon(live.next()).await.expect("an open site");
        assert_eq!((event.event.as_str(), name(&event)), (SETTINGS, expected.to_owned()));
    }
    other.close().await;
    let waiting = tokio::spawn(async move { live.next().await.is_none() });
    site.cms.close().await;
    assert!(soon(waiting).await.unwrap());
}

#[tokio::test]
async fn what_cannot_be_followed_is_refused() {
    let site = Site::open().await;
    for pattern in ["", "item.*.created", "**"] {
        for outcome in [
            site.cms.events().subscribe(pattern).live().await.map(drop),
            site.cms.events().subscribe(pattern).named("index").await.map(drop),
        ] {
            assert_eq!(outcome.unwrap_err().code(), Code::BadQuery, "{pattern}");
        }
    }
    let long = "n".repeat(101);
    for name in ["", "Index", "a b", "a\0", &*long] {
        let refused = site.cms.events().subscribe("*").named(name).await.err().expect(name);
        assert!(refused.detail().contains("1 to 100"), "{refused}");
    }
    let handlers: Shop = Shop::with(|all, _| {
        let done = |_: EventCall| async { Ok(()) };
        all.on("a*b", "one", done).on("*", "A", done).on("*", "one", done)
    });
    let builder = Site::builder().await.program(handlers);
    let refused = builder.try_open().await.err().expect("refused").to_string();
    for problem in ["\"a*b\" is neither", "\"A\" is not", "two handlers of events are named one"] {
        assert!(refused.contains(problem), "{refused}");
    }
}

async fn remove(site: &Site, which: &str) {
    site.database.run(format!("delete from cms_events where {which}")).await;
}

const NEWEST: &str = "id = (select id from cms_events order by rowid desc, place desc, id desc \
                      limit 1)";

/// Events that were removed before they were handled leave a gap, and the rest comes.
#[tokio::test]
async fn removed_events_are_a_gap() {
    let site = Site::open().await;
    let mut consumer = named(&site.cms, "index").await;
    write(&site.cms, &["one", "two", "three"]).await;
    handle(&mut consumer, &["one"]).await;
    consumer.release().await.unwrap();
    remove(&site, "body like '%\"two\"%'").await;
    let mut consumer = named(&site.cms, "index").await;
    assert_eq!(next_and_gap(&mut consumer).await, ("three".to_owned(), true));
    consumer.finish().await.unwrap();
    write(&site.cms, &["four"]).await;
    assert_eq!(next_and_gap(&mut consumer).await, ("four".to_owned(), false));
}

/// A gap that comes while an event is in hand is shown with the next one.
#[tokio::test]
async fn a_gap_is_shown_once_the_row_was_read() {
    let site = Site::open().await;
    let mut consumer = named(&site.cms, "index").await;
    write(&site.cms, &["one", "two", "three"]).await;
    assert_eq!(next_and_gap(&mut consumer).await, ("one".to_owned(), false));
    remove(&site, "body like '%\"two\"%'").await;
    consumer.finish().await.unwrap();
    let event = next(&mut consumer).await;
    // It may be read ahead.
    assert!(["two", "three"].contains(&&*name(&event)), "{event:?}");
    assert!(consumer.has_gap());
}

/// An event of another name that was removed is nothing to stand at.
#[tokio::test]
async fn a_place_is_an_event_that_is_there() {
    let site = Site::open().await;
    write(&site.cms, &["one"]).await;
    let mut consumer = site.cms.events().subscribe("shop.*").named("index").await.unwrap();
    write(&site.cms, &["two"]).await;
    none_comes(&mut consumer).await;
    remove(&site, NEWEST).await;
    // The lease is renewed, and the place with it.
    site.clock.advance(11_000);
    none_comes(&mut consumer).await;
    let there = "select count(*) from cms_event_consumers c join cms_events e on e.id = c.event_id";
    assert_eq!(site.database.count(there).await, 1);
}

/// Events of another server come before those of this one, in their order.
#[tokio::test]
async fn events_that_were_restored_are_handled_in_their_order() {
    let site = Site::open().await;
    if !site.database.is_postgres() {
        return;
    }
    let mut consumer = named(&site.cms, "shop.copies").await;
    write(&site.cms, &["one", "two", "three"]).await;
    handle(&mut consumer, &["one"]).await;
    consumer.release().await.unwrap();
    let restored = "update cms_events set rowid = rowid + 1000000000";
    site.database.run(restored).await;
    let shop = Shop::with(|all, _| all.on(SETTINGS, "copies", |_| async { Ok(()) }));
    let again = Cms::builder(site.database.settings())
        .clock(site.clock.clone())
        .random(Random::seeded(1 << 62))
        .plugin(shop)
        .open()
        .await
        .unwrap();
    write(&again, &["four"]).await;
    let mut consumer = named(&again, "shop.copies").await;
    handle(&mut consumer, &["two", "three", "four"]).await;
    again.close().await;
}

/// As when a visitor is erased: what was done before must not come again.
#[tokio::test]
async fn a_name_stands_before_an_event_that_was_removed() {
    let site = Site::open().await;
    let mut consumer = named(&site.cms, "index").await;
    write(&site.cms, &["one", "two"]).await;
    handle(&mut consumer, &["one", "two"]).await;
    remove(&site, NEWEST).await;
    write(&site.cms, &["three"]).await;
    assert_eq!(next_and_gap(&mut consumer).await, ("three".to_owned(), false));
    // The one that is given out.
    remove(&site, NEWEST).await;
    let refused = consumer.finish().await.unwrap_err();
    assert_eq!(refused.code(), Code::Conflict, "{refused}");
    remove(&site, "1 = 1").await;
    write(&site.cms, &["four"]).await;
    handle(&mut consumer, &["four"]).await;
    none_comes(&mut consumer).await;
    consumer.release().await.unwrap();
    let mut again = named(&site.cms, "index").await;
    write(&site.cms, &["five"]).await;
    assert_eq!(name(&next(&mut again).await), "five");
}

/// A lease that is renewed before anything was read leaves the place of its name.
#[tokio::test]
async fn an_event_that_is_not_due_is_not_passed() {
    let shop =
        Shop::with(|all, _| all.on(SETTINGS, "copies", |call| async move { copied(&call).await }));
    let site = Site::builder().await.program(shop).open().await;
    let late = site.clock.now() + 60_000;
    let fails =
        format!("update cms_event_consumers set event_id = '', failures = 4, next_try_at = {late}");
    site.database.run(fails).await;
    write(&site.cms, &["one"]).await;
    let background = site.cms.background_of(&[Work::Events]);
    for _ in 0..2 {
        tokio::time::sleep(Duration::from_millis(700)).await;
        site.clock.advance(15_000);
    }
    assert_eq!(site.database.text("select event_id from cms_event_consumers").await, "");
    site.clock.advance(30_000);
    copied_are(&site, 1).await;
    background.stop().await;
}

/// A name whose events are rare stands after the others, which retention may remove.
#[tokio::test]
async fn other_events_are_passed() {
    let site = Site::open().await;
    let rare = |name| site.cms.events().subscribe("shop.*").named(name);
    let mut consumer = rare("index").await.unwrap();
    write(&site.cms, &["one", "two"]).await;
    let newest = format!("select id from cms_events where {NEWEST}");
    let place = "select event_id from cms_event_consumers";
    soon(async {
        while site.database.text(place).await != site.database.text(&newest).await {
            none_comes(&mut consumer).await;
            site.clock.advance(11_000);
        }
    })
    .await;
    consumer.release().await.unwrap();
    let gap = "select count(*) from cms_event_consumers where has_gap";
    remove(&site, "rowid < (select max(e.rowid) from cms_events e)").await;
    assert_eq!(site.database.count(gap).await, 0);
    remove(&site, "1 = 1").await;
    assert_eq!(site.database.count(gap).await, 0);
}

/// What a handler of the tests has been called for.
type Calls = Arc<Mutex<Vec<String>>>;

struct Shop {
    handlers: fn(Handlers, Calls) -> Handlers,
    calls: Calls,
}

impl Shop {
    fn with(handlers: fn(Handlers, Calls) -> Handlers) -> Self {
        Self { handlers, calls: Calls::default() }
    }
}

impl Plugin for Shop {
    fn manifest(&self) -> Manifest {
        manifest(&plugin("shop", [("copies", "of text")]))
    }

    fn handlers(&self) -> Handlers {
        (self.handlers)(Handlers::default(), self.calls.clone())
    }
}

async fn copies(site: &Site) -> Vec<Json> {
    each(&site.items("copies&sort=id").await, "of")
}

/// Waits for so many copies.
async fn copied_are(site: &Site, count: usize) {
    until("copies", async || copies(site).await.len() >= count).await;
}

async fn copied(call: &EventCall) -> Result<()> {
    let mut change = call.change().await?;
    let record = json!({"of": name(call.event())});
    call.items().create(&mut change, "copies", record.as_object().unwrap()).await?;
    change.commit().await
}

/// The call of an event, which its handler has let out.
static KEPT: Mutex<Option<EventCall>> = Mutex::new(None);

/// A handler that fails in each way there is, once per way and event.
fn faulty(all: Handlers, calls: Calls) -> Handlers {
    let copies = move |call: EventCall| {
        let calls = calls.clone();
        async move {
            let of = name(call.event());
            let tries = {
                let mut calls = calls.lock().unwrap();
                calls.push(of.clone());
                calls.iter().filter(|one| **one == of).count()
            };
            if of == "one" {
                *KEPT.lock().unwrap() = Some(call.clone());
            }
            match (of.as_str(), tries) {
                ("refused", 1) => return Err(Error::new(Code::Conflict, "Not yet.")),
                ("panics", 1) => panic!("a fault of the test"),
                // It goes on below, with another change.
                ("undone", 1) => drop(call.change().await?),
                ("late", 1) => {
                    copied(&call).await?;
                    return Err(Error::new(Code::Conflict, "Too late: it is done."));
                }
                _ => {}
            }
            copied(&call).await
        }
    };
    all.on(SETTINGS, "copies", copies)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handler_sees_each_event_until_it_is_done() {
    let shop = Shop::with(faulty);
    let calls = shop.calls.clone();
    let site = Site::builder().await.program(shop).open().await;
    let names = ["one", "refused", "panics", "undone", "late", "last"];
    write(&site.cms, &names).await;
    // Its name began when the site was opened.
    let background = site.cms.background_of(&[Work::Events]);
    let failing = "select coalesce(max(error_message), '') from cms_event_consumers";
    let mut told: Vec<String> = Vec::new();
    soon(async {
        while copies(&site).await.len() < names.len() {
            let why = site.database.text(failing).await;
            if !why.is_empty() && told.last() != Some(&why) {
                if told.is_empty() {
                    let found = site.admin("GET /api/backend/status").expect(200).await.text();
                    let sentence = format!("shop.copies failed 1 times in a row: {why}");
                    assert!(found.contains(&sentence), "{found}");
                }
                told.push(why);
                site.clock.advance(1_000);
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    assert_eq!(copies(&site).await, names, "in their order, each once");
    assert_eq!(told, ["Not yet.", "The handler panicked; the log has the cause."]);
    let calls = calls.lock().unwrap().clone();
    assert_eq!(calls, ["one", "refused", "refused", "panics", "panics", "undone", "late", "last"]);
    assert!(site.cms.restarts().is_empty(), "a panic of a handler ends nothing");

    let kept = KEPT.lock().unwrap().take().expect("a call");
    let refused = kept.change().await.err().expect("refused");
    assert_eq!(refused.code(), Code::Conflict, "{refused}");

    // A stop releases the name: what comes meanwhile waits for the next start.
    background.stop().await;
    write(&site.cms, &["meanwhile"]).await;
    let background = site.cms.background_of(&[Work::Events]);
    copied_are(&site, names.len() + 1).await;
    background.stop().await;
}

/// A handler that causes its own event again, by its own change and by another one in turn.
fn endless(all: Handlers, calls: Calls) -> Handlers {
    let again = move |call: EventCall| {
        let calls = calls.clone();
        async move {
            let number = {
                let mut calls = calls.lock().unwrap();
                calls.push(call.event().id.clone());
                calls.len()
            };
            let cms = call.cms()?;
            let change = match number % 2 {
                0 => cms.change(Actor::Operator).await?,
                _ => call.change().await?,
            };
            write_by(&cms, change, &format!("again {number}")).await;
            Ok(())
        }
    };
    all.on(SETTINGS, "again", again)
}

#[tokio::test]
async fn a_handler_that_causes_its_own_event_ends() {
    let shop = Shop::with(endless);
    let calls = shop.calls.clone();
    let site = Site::builder().await.program(shop).open().await;
    let log = Log::begin();
    write(&site.cms, &["first"]).await;
    // On PostgreSQL each event waits for changes of other tests, so it begins near the end.
    let begin = if site.database.is_postgres() { 62 } else { 0 };
    site.database.run(&format!("update cms_events set depth = {begin}")).await;
    let last = "select id from cms_events order by rowid desc limit 1";
    let place = "select event_id from cms_event_consumers";
    until("the last event is done", async || {
        site.cms.step(&[Work::Events]).await.unwrap();
        site.database.text(place).await == site.database.text(last).await
    })
    .await;
    let last = site.database.text(last).await;
    let calls = calls.lock().unwrap().clone();
    assert_eq!(calls.len(), 64 - begin);
    assert!(!calls.contains(&last), "{last}");
    let waits = "select count(*) from cms_event_consumers where failures > 0 or next_try_at > 0";
    assert_eq!(site.database.count(waits).await, 0, "later events do not wait");
    let told = log.end();
    let ends: Vec<_> = told.lines().filter(|line| line.contains("it is skipped")).collect();
    assert!(matches!(ends[..], [line] if line.contains("again") && line.contains(&last)), "{told}");
}
