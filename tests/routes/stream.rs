//! `/api/backend/events/stream`: events as they happen, for whom, and until when.

use std::time::Duration;

use bytes::Bytes;
use cms_core::Actor;
use cms_http::Body;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Empty};
use serde_json::{Value as Json, json};

use crate::support::{Site, SiteBuilder, plugins::plugin, with};

const STREAM: &str = "/api/backend/events/stream";

async fn builder() -> SiteBuilder {
    let shop = plugin("shop", [("orders", "title text, api_key text"), ("notes", "title text")]);
    let paid = json!({"webhook_events": [{"name": "shop.paid", "description": "Paid."}]});
    Site::builder().await.plugin(with(shop, paid))
}

/// An open stream, read event by event.
struct Stream {
    body: Body,
    text: String,
}

#[derive(Debug)]
struct Event {
    id: String,
    event: String,
    data: Json,
}

fn request(line: &str, key: &str, last: Option<&str>) -> Request<Empty<Bytes>> {
    let mut request = Request::get(line).header("host", "cms.test").header("x-api-key", key);
    if let Some(last) = last {
        request = request.header("last-event-id", last);
    }
    request.body(Empty::new()).unwrap()
}

impl Stream {
    async fn open(site: &Site, key: &str, query: &str, last: Option<&str>) -> Self {
        let reply = site.api.handle(request(&format!("{STREAM}{query}"), key, last)).await;
        assert_eq!(reply.status(), StatusCode::OK);
        assert_eq!(reply.headers()["content-type"], "text/event-stream");
        assert_eq!(reply.headers()["cache-control"], "no-store");
        let mut stream = Self { body: reply.into_body(), text: String::new() };
        assert_eq!(stream.part().await.as_deref(), Some("retry: 2000"));
        stream
    }

    /// The next part up to an empty line; None: the stream has ended.
    async fn part(&mut self) -> Option<String> {
        loop {
            if let Some((part, rest)) = self.text.split_once("\n\n") {
                let part = part.to_owned();
                self.text = rest.to_owned();
                return Some(part);
            }
            let frame = tokio::time::timeout(Duration::from_secs(10), self.body.frame());
            let frame = frame.await.expect("a part in time")?.unwrap();
            self.text.push_str(std::str::from_utf8(frame.data_ref().unwrap()).unwrap());
        }
    }

    /// The next event; a sign of life may come before it.
    async fn event(&mut self) -> Event {
        let part = loop {
            let part = self.part().await.expect("an event");
            if part != ": " {
                break part;
            }
        };
        let field = |name: &str| {
            let line = part.lines().find_map(|line| line.strip_prefix(&format!("{name}: ")));
            line.unwrap_or_else(|| panic!("no {name} in {part:?}")).to_owned()
        };
        let data = serde_json::from_str(&field("data")).unwrap();
        Event { id: field("id"), event: field("event"), data }
    }

    /// Nothing comes in a second and a half, by the machine's clock.
    async fn rests(&mut self) {
        let next = tokio::time::timeout(Duration::from_millis(1500), self.part()).await;
        assert!(next.is_err(), "{next:?}");
    }
}

/// Creates a record and lets its event become old enough.
async fn create(site: &Site, table: &str, title: &str) {
    site.insert(table, json!({"title": title})).await;
    site.clock.advance(1000);
}

#[tokio::test]
async fn events_come_as_in_a_delivery_to_those_who_may_read_them() {
    let site = builder().await.open().await;
    create(&site, "orders", "before").await;
    let stream = "GET /api/backend/events/stream";
    let reader = site.key(&[stream, "GET /api/backend/item?table=orders"]).await;
    let (one, titles) = (
        "GET /api/backend/item?table=orders&id=1",
        "GET /api/backend/item?table=notes&fields=title",
    );
    let half = site.key(&[stream, one, titles]).await;
    let (mut all, mut orders, mut none, mut notes) = (
        Stream::open(&site, &site.admin, "", None).await,
        Stream::open(&site, &reader, "", None).await,
        Stream::open(&site, &half, "", None).await,
        Stream::open(&site, &site.admin, "?event=item.notes.*", None).await,
    );
    let emitted = {
        let mut change = site.cms.change(Actor::System).await.unwrap();
        let paid = json!({"order": 7, "token": "x"});
        let emitted = change.emit("shop.paid", paid).await.unwrap();
        change.commit().await.unwrap();
        emitted
    };
    site.clock.advance(1000);
    create(&site, "orders", "one").await;
    create(&site, "notes", "two").await;

    let paid = all.event().await;
    assert_eq!((paid.id.as_str(), paid.event.as_str()), (emitted.id.as_str(), "shop.paid"));
    assert_eq!(paid.data, json!({"order": 7}), "the payload filter has run");
    let created = all.event().await;
    assert_eq!(created.event, "item.orders.created");
    assert_eq!(created.data["record"]["title"], "one");
    assert!(created.data["record"].get("api_key").is_none());
    assert_eq!(all.event().await.event, "item.notes.created");
    let message = site.get(&format!("/api/backend/webhooks/messages?id={}", created.id)).await;
    assert_eq!(message["payload"]["data"], created.data);

    assert_eq!(orders.event().await.id, created.id);
    assert_eq!(notes.event().await.data["record"]["title"], "two");
    tokio::join!(all.rests(), orders.rests(), none.rests(), notes.rests());
}

#[tokio::test]
async fn a_stream_goes_on_after_the_last_event_id() {
    let site = builder().await.open().await;
    let mut stream = Stream::open(&site, &site.admin, "", None).await;
    for title in ["one", "two", "three"] {
        create(&site, "orders", title).await;
    }
    let first = stream.event().await;
    drop(stream);
    let mut stream = Stream::open(&site, &site.admin, "", Some(&first.id)).await;
    assert_eq!(stream.event().await.data["record"]["title"], "two");
    assert_eq!(stream.event().await.data["record"]["title"], "three");
    stream.rests().await;
    // More than one read of the same moment, none of them twice.
    let many: Vec<Json> = (0..40).map(|n| json!({"title": n.to_string()})).collect();
    site.insert("orders", json!(many)).await;
    site.clock.advance(1000);
    let mut ids = std::collections::BTreeSet::new();
    for _ in 0..40 {
        ids.insert(stream.event().await.id);
    }
    assert_eq!(ids.len(), 40);
    stream.rests().await;

    for query in ["?event=a*b", "?since=2026-11-21T09:30:00Z"] {
        site.admin(&format!("GET {STREAM}{query}")).refused(400, "bad_query").await;
    }
}

/// A row of `settings` that is not public keeps its value, live and when the stream goes on.
#[tokio::test]
async fn the_value_of_a_setting_that_is_not_public_is_never_sent() {
    let site = builder().await.open().await;
    let mut stream = Stream::open(&site, &site.admin, "", None).await;
    let seen = json!({"name": "seen", "value": "shown", "public": true});
    site.insert("settings", seen).await;
    for (name, public) in [("smtp", json!({"public": false})), ("quiet", json!({}))] {
        let row = with(json!({"name": name, "value": {"a": ["hunter2"]}}), public);
        site.insert("settings", json!([row])).await;
        site.update(&format!("settings&id={name}"), json!({"value": "hunter2"})).await;
        site.remove(&format!("settings&id={name}")).await;
    }
    // It is no longer public: from then on its value stays.
    site.update("settings&id=seen", json!({"value": "hunter2", "public": false})).await;
    let first = stream.event().await;
    assert_eq!(first.data["record"]["value"], "shown", "a public one is sent");
    let mut resumed = Stream::open(&site, &site.admin, "", Some(&first.id)).await;
    for stream in [&mut stream, &mut resumed] {
        for event in ["created", "updated", "deleted", "created", "updated", "deleted", "updated"] {
            let found = stream.event().await;
            assert_eq!(found.event, format!("item.settings.{event}"));
            assert!(!found.data.to_string().contains("hunter2"), "{found:?}");
        }
        stream.rests().await;
    }
}

#[tokio::test]
async fn a_stream_whose_event_is_gone_says_so_and_begins_with_the_oldest() {
    let site = builder().await.open().await;
    let mut stream = Stream::open(&site, &site.admin, "", None).await;
    for title in ["one", "two", "three"] {
        create(&site, "orders", title).await;
    }
    let first = stream.event().await.id;
    site.database.run(format!("delete from cms_events where id = '{first}'")).await;
    let mut again = Stream::open(&site, &site.admin, "?event=item.orders.*", Some(&first)).await;
    let gap = format!("event: stream.gap\ndata: {{\"last_event_id\":\"{first}\"}}");
    assert_eq!(again.part().await, Some(gap));
    for title in ["two", "three"] {
        assert_eq!(again.event().await.data["record"]["title"], title);
    }
    again.rests().await;
}

#[tokio::test]
async fn no_clock_silences_a_stream() {
    let site = builder().await.open().await;
    let mut stream = Stream::open(&site, &site.admin, "", None).await;
    create(&site, "orders", "before").await;
    assert_eq!(stream.event().await.data["record"]["title"], "before");
    site.clock.advance(-3_600_000);
    for title in ["one", "two"] {
        create(&site, "orders", title).await;
        let event = stream.event().await;
        assert_eq!(event.data["record"]["title"], title);
        let mut resumed = Stream::open(&site, &site.admin, "", Some(&event.id)).await;
        resumed.rests().await;
    }
    site.clock.advance(-3_600_000);
    assert_eq!(stream.part().await.as_deref(), Some(": "), "a sign of life");
}

/// On PostgreSQL changes overlap: the one that begins first may commit last, and late. On SQLite
/// the second waits for the first.
#[tokio::test]
async fn a_late_commit_is_not_missed() {
    let site = builder().await.open().await;
    if !site.database.is_postgres() {
        return;
    }
    let mut stream = Stream::open(&site, &site.admin, "", None).await;
    let mut late = site.cms.change(Actor::System).await.unwrap();
    late.emit("shop.paid", json!({"n": "late"})).await.unwrap();
    create(&site, "orders", "early").await;
    site.clock.advance(60_000);
    // What opens meanwhile sees the late one as well, and nothing from before.
    let mut opened = Stream::open(&site, &site.admin, "", None).await;
    tokio::time::sleep(Duration::from_millis(1200)).await;
    late.commit().await.unwrap();
    let mut seen = Vec::new();
    while seen.len() < 2 {
        let part = stream.part().await.expect("a part");
        seen.extend(["late", "early"].into_iter().filter(|name| part.contains(name)));
    }
    assert_eq!(seen, ["late", "early"]);
    loop {
        let part = opened.part().await.expect("a part");
        assert!(!part.contains("early"), "{part}");
        if part.contains("late") {
            break;
        }
    }
}

#[tokio::test]
async fn an_event_of_a_slow_change_is_not_missed() {
    let site = builder().await.open().await;
    let mut stream = Stream::open(&site, &site.admin, "", None).await;
    let mut change = site.cms.change(Actor::System).await.unwrap();
    change.emit("shop.paid", json!({"slow": true})).await.unwrap();
    // All that time the stream reads past the beginning of the change.
    site.clock.advance(30_000);
    assert_eq!(stream.part().await.as_deref(), Some(": "), "a heartbeat");
    change.commit().await.unwrap();
    site.clock.advance(1000);
    assert_eq!(stream.event().await.data, json!({"slow": true}));
}

#[tokio::test]
async fn a_stream_shows_that_it_lives_and_ends_with_its_caller() {
    let site = builder().await.open().await;
    let line = "GET /api/backend/events/stream";
    let (id, key) = site.key_with(|_| {}, &[line, "GET /api/backend/item?table=orders"]).await;
    let person = site.person("ana", json!("0")).await;
    let mut stream = Stream::open(&site, &key, "", None).await;
    site.clock.advance(15_000);
    assert_eq!(stream.part().await.as_deref(), Some(": "));
    // A session that only listens ends when it is idle.
    let by_token = Request::get(STREAM)
        .header("host", "cms.test")
        .header("authorization", format!("Bearer {}", person.token))
        .body(Empty::<Bytes>::new())
        .unwrap();
    let mut session =
        Stream { body: site.api.handle(by_token).await.into_body(), text: String::new() };
    assert_eq!(session.part().await.as_deref(), Some("retry: 2000"));
    for _ in 0..7 {
        site.clock.advance(3_600_000);
        assert_eq!(session.part().await.as_deref(), Some(": "));
    }
    site.clock.advance(3_661_000);
    assert_eq!(session.part().await, None);

    // The last right goes, and with it the stream: what happens then is not sent.
    let rights = json!({"rights": [{"endpoint": "/api/pages", "methods": ["GET"]}]});
    site.patch(&format!("/api/backend/keys?id={id}"), rights).await;
    create(&site, "orders", "secret").await;
    while let Some(part) = stream.part().await {
        assert_eq!(part, ": ");
    }
    site.ask(&format!("GET {STREAM}")).refused(401, "login_required").await;
    site.ask(&format!("GET {STREAM}")).key(&key).refused(401, "api_key_forbidden").await;
}

/// SQLite counts rows from one again when none is left.
#[tokio::test]
async fn a_stream_ends_when_the_events_are_numbered_anew() {
    let site = builder().await.open().await;
    for title in ["one", "two", "three"] {
        create(&site, "orders", title).await;
    }
    if site.database.is_postgres() {
        return;
    }
    let mut stream = Stream::open(&site, &site.admin, "?event=item.orders.*", None).await;
    create(&site, "orders", "four").await;
    let last = stream.event().await.id;
    let event = "insert into cms_events (id, name, body, created_at) values ('new', \
                 'item.orders.created', '{\"data\":{}}', 0)";
    site.database.run(format!("begin; delete from cms_events; {event}; commit")).await;
    assert_eq!(stream.part().await, None);
    let mut again = Stream::open(&site, &site.admin, "?event=item.orders.*", Some(&last)).await;
    assert!(again.part().await.is_some_and(|part| part.contains("stream.gap")));
    assert_eq!(again.event().await.id, "new");
}

#[tokio::test]
async fn streams_are_few_and_end_together() {
    let site = builder().await.settings(|s| s.http.max_streams = 2).open().await;
    let mut first = Stream::open(&site, &site.admin, "", None).await;
    let second = Stream::open(&site, &site.admin, "", None).await;
    let refused = site.admin(&format!("GET {STREAM}")).refused(429, "rate_limited").await;
    assert_eq!(refused.header("retry-after"), "10");
    drop(second);
    let _third = Stream::open(&site, &site.admin, "", None).await;
    // A refusal and a HEAD give their place back.
    drop(_third);
    site.admin(&format!("GET {STREAM}?event=")).refused(400, "bad_query").await;
    let head = site.admin(&format!("HEAD {STREAM}")).expect(200).await;
    assert!(head.body.is_empty());
    let mut third = Stream::open(&site, &site.admin, "", None).await;
    site.api.end_streams();
    assert_eq!((first.part().await, third.part().await), (None, None));
}

/// An event holds a whole record. Of large ones a step reads fewer, and all come.
#[tokio::test]
async fn a_step_reads_some_megabytes_at_most() {
    let site = builder().await.open().await;
    let mut feed = site.cms.webhooks().feed(Some("item.orders.created"), None).await.unwrap();
    let body = json!({"title": "x".repeat(700 << 10)});
    for _ in 0..12 {
        site.insert("orders", body.clone()).await;
    }
    let (mut read, began) = (0, std::time::Instant::now());
    while read < 12 {
        assert!(began.elapsed() < Duration::from_secs(10), "{read} of 12");
        let step = feed.next().await.unwrap();
        let bytes: usize = step.iter().map(|one| one.data.len()).sum();
        assert!(bytes < 5 << 20, "{bytes}");
        read += step.len();
        tokio::task::yield_now().await;
    }
}
