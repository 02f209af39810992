//! Webhooks with the real binary: created, queued, delivered by `process-webhooks`, sent again.

use std::{
    io::{Read, Write},
    net::TcpListener,
    sync::mpsc,
};

use crate::support::{cms, cms_env, cms_with, site};

/// Answers every request with 200, and hands it over.
fn receiver() -> (String, mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/hook", listener.local_addr().expect("an address"));
    let (sender, received) = mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            let mut request = Vec::new();
            let mut part = [0; 4096];
            while !String::from_utf8_lossy(&request).contains("\"event\"") {
                let length = stream.read(&mut part).expect("a request");
                request.extend_from_slice(&part[..length]);
                if length == 0 {
                    break;
                }
            }
            let _ = stream
                .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
            let _ = sender.send(String::from_utf8_lossy(&request).into_owned());
        }
    });
    (url, received)
}

#[test]
fn deliveries_are_made_by_cron_and_sent_again_by_hand() {
    let dir = site();
    let (url, received) = receiver();
    let near =
        [("CMS_WEBHOOKS__ALLOW_HTTP", "true"), ("CMS_WEBHOOKS__ALLOW_CIDRS", "127.0.0.1/32")];
    let run = |args: &str| cms_env(dir.path(), args, &near);
    let secret = run(&format!("webhooks create -q --name w --url {url} --event item.*")).ok();
    assert!(secret.starts_with("whsec_"), "{secret}");
    assert!(run("webhooks ping w").ok().contains("delivered"));
    for named in ["webhooks show W", "queue list --webhook w"] {
        run(named).ok();
    }
    run("webhooks deliveries list --webhook none").fails(5);
    assert!(received.recv().expect("a ping").contains("webhook.ping"));

    cms_with(dir.path(), "items create notes -", r#"{"text": "a"}"#).ok();
    let stats = run("queue stats --json").json();
    assert_eq!(stats["data"]["by_status"]["pending"], 1);
    run("queue retry 1 --json").json();
    let done = run("process-webhooks --time-limit=25 --json").json();
    assert_eq!((&done["data"]["drained"], &done["data"]["delivered"]), (&true.into(), &1.into()));
    let delivery = received.recv().expect("a delivery");
    assert!(
        delivery.contains("x-webhook-signature: ") && delivery.contains("item.notes.created"),
        "{delivery}"
    );
    run("webhooks deliveries list --webhook w").shows("item.notes.created");
    assert!(run("webhooks deliveries show 1").ok().contains("item.notes.created"));
    let shown = run("webhooks deliveries show 1 --json").json();
    let event = shown["data"]["event_id"].as_str().expect("an id").to_owned();
    assert!(delivery.contains(&format!("webhook-id: {event}")), "{delivery}");
    for (list, event, until, expected) in [
        ("webhooks deliveries list", &*event, "--until 2999-01-01T00:00:00Z", 1),
        ("webhooks deliveries list", &event, "--until 1999-01-01T00:00:00Z", 0),
        ("webhooks deliveries list", "none", "--until 2999-01-01T00:00:00Z", 0),
        ("queue list", &event, "", 1),
        ("queue list", "none", "", 0),
    ] {
        let line = format!("{list} --event-id {event} --json {until}");
        let found = run(&line).json()["data"].as_array().map(Vec::len);
        assert_eq!(found, Some(expected), "{line:?}");
    }
    run("webhooks deliveries redeliver --event-id none --expect 1").fails(6);
    assert_eq!(run("webhooks deliveries redeliver 1 --json").json()["data"]["queued"], 1);
    run("queue cancel 2 --yes --json").json();
    run("queue cancel 2 --yes").fails(6);
    run("webhooks deliveries redeliver --status delivered --expect 7").fails(6);
    run("process-webhooks --time-limit=11").fails(2);
    run("process-webhooks --url http://127.0.0.1:1").fails(2);
    let listed = run("webhooks list").ok();
    assert!(!listed.contains(secret.trim()), "{listed}");
}

#[test]
fn a_name_that_is_not_found_is_told_of() {
    let dir = site();
    let create = "webhooks create --name w --event * --url https://hooks.invalid/x";
    let run = cms(dir.path(), create);
    assert!(
        run.err.contains("warning: url: hooks.invalid is not found") && run.code == 0,
        "{run:?}"
    );
    let run = cms(dir.path(), "webhooks edit 1 --url https://hooks.invalid/x");
    assert!(
        run.err.contains("warning: url: ") && run.code == 0 && !run.out.contains("warning"),
        "{run:?}"
    );
}
