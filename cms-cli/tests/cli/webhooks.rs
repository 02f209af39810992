//! Webhooks with the real binary: created, queued, delivered by `process-webhooks`, sent again.

use std::{
    io::{Read, Write},
    net::TcpListener,
    sync::mpsc,
};

use crate::support::{command, finish, site};

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
    let cms = |arguments: &[&str]| {
        let mut command = command(dir.path());
        command
            .env("CMS_WEBHOOKS__ALLOW_HTTP", "true")
            .env("CMS_WEBHOOKS__ALLOW_CIDRS", "127.0.0.1/32")
            .args(arguments);
        command
    };
    let run = |arguments: &[&str]| finish(cms(arguments), None);
    let secret =
        run(&["webhooks", "create", "-q", "--name", "w", "--url", &url, "--event", "item.*"]).ok();
    assert!(secret.starts_with("whsec_"), "{secret}");
    assert!(run(&["webhooks", "ping", "w"]).ok().contains("delivered"));
    for named in [&["webhooks", "show", "W"][..], &["queue", "list", "--webhook", "w"]] {
        run(named).ok();
    }
    run(&["webhooks", "deliveries", "list", "--webhook", "none"]).fails(5);
    assert!(received.recv().expect("a ping").contains("webhook.ping"));

    finish(cms(&["items", "create", "notes", "-"]), Some(r#"{"text": "a"}"#)).ok();
    let stats = run(&["queue", "stats", "--json"]).json();
    assert_eq!(stats["data"]["by_status"]["pending"], 1);
    run(&["queue", "retry", "1", "--json"]).json();
    let done = run(&["process-webhooks", "--time-limit=25", "--json"]).json();
    assert_eq!((&done["data"]["drained"], &done["data"]["delivered"]), (&true.into(), &1.into()));
    let delivery = received.recv().expect("a delivery");
    assert!(
        delivery.contains("x-webhook-signature: ") && delivery.contains("item.notes.created"),
        "{delivery}"
    );
    let listed = run(&["webhooks", "deliveries", "list", "--webhook", "w"]).ok();
    assert!(listed.contains("item.notes.created"), "{listed}");
    assert!(run(&["webhooks", "deliveries", "show", "1"]).ok().contains("item.notes.created"));
    let shown = run(&["webhooks", "deliveries", "show", "1", "--json"]).json();
    let event = shown["data"]["event_id"].as_str().expect("an id").to_owned();
    assert!(delivery.contains(&format!("webhook-id: {event}")), "{delivery}");
    for (list, event, until, expected) in [
        (&["webhooks", "deliveries", "list"][..], &*event, "2999-01-01T00:00:00Z", 1),
        (&["webhooks", "deliveries", "list"], &event, "1999-01-01T00:00:00Z", 0),
        (&["webhooks", "deliveries", "list"], "none", "2999-01-01T00:00:00Z", 0),
        (&["queue", "list"], &event, "", 1),
        (&["queue", "list"], "none", "", 0),
    ] {
        let until = if until.is_empty() { vec![] } else { vec!["--until", until] };
        let line = [list, &["--event-id", event, "--json"], &until].concat();
        let found = run(&line).json()["data"].as_array().map(Vec::len);
        assert_eq!(found, Some(expected), "{line:?}");
    }
    let none = ["webhooks", "deliveries", "redeliver", "--event-id", "none", "--expect", "1"];
    run(&none).fails(6);
    assert_eq!(
        run(&["webhooks", "deliveries", "redeliver", "1", "--json"]).json()["data"]["queued"],
        1
    );
    run(&["queue", "cancel", "2", "--yes", "--json"]).json();
    run(&["queue", "cancel", "2", "--yes"]).fails(6);
    run(&["webhooks", "deliveries", "redeliver", "--status", "delivered", "--expect", "7"])
        .fails(6);
    run(&["process-webhooks", "--time-limit=11"]).fails(2);
    run(&["process-webhooks", "--url", "http://127.0.0.1:1"]).fails(2);
    let listed = run(&["webhooks", "list"]).ok();
    assert!(!listed.contains(secret.trim()), "{listed}");
}

#[test]
fn a_name_that_is_not_found_is_told_of() {
    let dir = site();
    let url = ["--url", "https://hooks.invalid/x"];
    let create = [&["webhooks", "create", "--name", "w", "--event", "*"], &url[..]].concat();
    let run = crate::support::cms(dir.path(), &create);
    assert!(
        run.err.contains("warning: url: hooks.invalid is not found") && run.code == 0,
        "{run:?}"
    );
    let run = crate::support::cms(dir.path(), &[&["webhooks", "edit", "1"], &url[..]].concat());
    assert!(
        run.err.contains("warning: url: ") && run.code == 0 && !run.out.contains("warning"),
        "{run:?}"
    );
}
