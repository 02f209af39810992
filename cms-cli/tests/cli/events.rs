//! Events with the real binary: described, raised, followed.

use std::{path::Path, process::Command};

use serde_json::Value as Json;

use crate::support::{Running, Served, cms, cms_with, command, finish, has, site};

fn tail(mut command: Command, args: &[&str]) -> Running {
    command.args(["events", "tail"]).args(args);
    Running::start(command, "")
}

impl Running {
    /// The name of the next event.
    fn event(&mut self) -> String {
        self.line().split('\t').nth(1).expect("a column").to_owned()
    }
}

fn emit(dir: &Path, event: &str) -> String {
    let data = r#"{
        "order": {"id": 7, "token": "x"}, "user": {"id": 7},
        "subscriber": {"email": "ada@example.org"},
        "deployment": {"target": "production", "status": "succeeded"}
    }"#;
    let made = cms_with(dir, &format!("events emit {event} --data - --json"), data).json();
    assert_eq!(made["data"]["queued"], 0);
    made["data"]["id"].as_str().expect("an id").to_owned()
}

#[test]
fn events_are_described_and_raised() {
    let dir = site();
    let at = dir.path();
    let shown = cms(at, "events show item.notes.updated --json").json();
    assert_eq!(shown["data"]["example"]["record"]["price"], 1.5);
    assert!(cms(at, "events show order.created").ok().contains("emit\ttrue"));
    let schema = cms(at, "events show order.created --schema").json();
    assert_eq!(schema["properties"]["data"]["required"], serde_json::json!(["order"]));
    let listed = cms(at, &["events", "list", "--where", "event_name:starts_with=order."]).ok();
    assert!(listed.contains("order.created") && !listed.contains("auth.login"), "{listed}");
    let id = emit(at, "order.created");
    let payload = cms(at, &format!("events payload {id} --json")).json();
    has(&payload, [("/data/removed/0", "order.token".into()), ("/data/payload/id", id.into())]);
    let lines = cms(at, "events tail --no-follow").ok();
    assert!(
        lines.ends_with('\n')
            && lines.lines().count() == 1
            && lines.contains("\torder.created\t0\t"),
        "{lines}"
    );
    let table = [
        ("show order.creatd", "", 5),
        ("payload x", "", 5),
        ("emit order.created", "", 2),
        ("emit order.creatd --data -", "{}", 1),
        ("emit auth.login --data -", "{}", 1),
        ("emit order.created --data -", "{}", 1),
        ("emit item.notes.created --data -", "{}", 1),
        ("emit order.created --data -", "[]", 2),
        ("emit order.created --data -", "{", 2),
        ("emit order.created --data /no/such", "", 1),
        ("tail --no-follow --since yesterday", "", 2),
        ("tail --event a*b", "", 1),
    ];
    for (args, input, code) in table {
        let run = cms_with(at, &format!("events {args}"), input).fails(code);
        assert!(run.out.is_empty() && !run.err.is_empty(), "{args:?}: {run:?}");
    }
}

#[test]
fn recorded_events_are_followed() {
    let dir = site();
    let at = dir.path();
    for event in ["order.created", "user.registered"] {
        emit(at, event);
    }
    let served = Served::start(at, &[]);
    let key =
        cms(at, "keys create -q --name tail --right 'GET /api/backend/webhooks/messages'").ok();
    let mut there = command(at);
    there.env("CMS_API_KEY", key.trim()).args(["--url", &served.url]);
    let (mut all, mut orders) = (tail(there, &[]), tail(command(at), &["--event", "order.*"]));
    let mut nothing_yet = tail(command(at), &["--event", "deployment.*"]);
    assert_eq!(
        [all.event(), all.event(), orders.event()],
        ["order.created", "user.registered", "order.created"]
    );
    for event in ["deployment.completed", "order.created", "emailmarketing.subscribed"] {
        emit(at, event);
    }
    let rest = [all.event(), all.event(), all.event()];
    assert_eq!(rest, ["deployment.completed", "order.created", "emailmarketing.subscribed"]);
    assert_eq!([orders.event(), nothing_yet.event()], ["order.created", "deployment.completed"]);
    // Every request asks for the last seconds again, yet nothing is printed twice.
    emit(at, "order.created");
    assert_eq!([all.event(), orders.event()], ["order.created", "order.created"]);
    assert_eq!((all.signalled("-TERM"), orders.signalled("-INT")), (Some(0), Some(0)));

    let mut since = command(at);
    since.args(["events", "tail", "--no-follow", "--since", "2000-01-01T00:00:00Z", "--json"]);
    let lines = finish(since, None).ok();
    let lines: Vec<Json> =
        lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(
        (lines.len(), &lines[0]["event"], &lines[5]["event"]),
        (6, &"order.created".into(), &"order.created".into())
    );
    let later = cms(at, "events tail --no-follow --since 2100-01-01T00:00:00Z").ok();
    assert_eq!(later, "");
}

/// The site tells of events; one that starts again is waited for, and nothing is left out.
#[test]
fn a_site_that_starts_again_is_followed_further() {
    let dir = site();
    let at = dir.path();
    emit(at, "order.created");
    let served = Served::start(at, &[]);
    let url = served.url.clone();
    let rights = ["GET /api/backend/webhooks/messages", "GET /api/backend/events/stream"];
    let [messages, stream] = rights;
    let make = ["keys", "create", "-q", "--name", "tail", "--right", messages, "--right", stream];
    let key = cms(at, &make).ok();
    let mut there = command(at);
    there.env("CMS_API_KEY", key.trim()).args(["--url", &url, "--verbose"]);
    let mut tail = tail(there, &[]);
    assert_eq!(tail.event(), "order.created");
    emit(at, "user.registered");
    assert_eq!(tail.event(), "user.registered");
    served.stop();
    emit(at, "deployment.completed");
    let listen = url.trim_start_matches("http://").to_owned();
    let again = Served::start_at(at, &listen, &[]);
    assert_eq!(tail.event(), "deployment.completed");
    emit(at, "order.created");
    assert_eq!(tail.event(), "order.created");
    let mut said = tail.child.stderr.take().expect("stderr");
    assert_eq!(tail.signalled("-TERM"), Some(0));
    let mut text = String::new();
    std::io::Read::read_to_string(&mut said, &mut text).expect("UTF-8");
    assert!(text.contains("the site tells of events as they happen"), "{text}");
    again.stop();
}
