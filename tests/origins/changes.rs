//! A change of the origins is in force from the next request on, in every process.

use std::time::{Duration, Instant};

use cms_core::{
    Actor, Cms,
    traffic::origins::{NewOrigin, OriginPatch},
};
use cms_http::client::{Ask, ClientError};
use serde_json::{Value as Json, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use super::{EVIL, PAGES, SHOP, add, from, site};
use crate::support::{
    Site, TestDatabase,
    process::{self, Served},
};

#[tokio::test]
async fn a_change_counts_from_the_next_request_on() {
    let site = Site::open().await;
    assert_eq!(from(&site, SHOP, PAGES).await.status, 403);
    let id = add(&site, SHOP, true).await;
    let one = format!("/api/backend/origins?id={id}");
    for (line, body, status) in [
        ("PATCH", json!({"active": true}), 200),
        ("PATCH", json!({"active": false}), 403),
        ("PATCH", json!({"active": true}), 200),
        ("PATCH", json!({"origin": EVIL}), 403),
        ("PATCH", json!({"origin": SHOP}), 200),
        ("DELETE", json!({}), 403),
    ] {
        site.admin(&format!("{line} {one}")).json(body).send().await;
        assert_eq!(from(&site, SHOP, PAGES).await.status.as_u16(), status, "{line}");
    }
    // What is known costs no query.
    add(&site, SHOP, true).await;
    from(&site, SHOP, "OPTIONS /api/pages").await;
    let ask_often = async || {
        for n in 0..50 {
            from(&site, &format!("https://{n}.example"), PAGES).await;
            assert_eq!(from(&site, SHOP, "OPTIONS /api/pages").await.status, 405);
        }
    };
    assert_eq!(site.statements(ask_often).await, 0);
    let change = site.cms.change(Actor::Operator).await;
    let mut change = change.unwrap();
    site.cms.origins().create(&mut change, NewOrigin::new(EVIL)).await.unwrap();
    drop(change);
    assert_eq!(from(&site, EVIL, PAGES).await.status, 403, "what was not committed does not count");
}

#[tokio::test]
async fn a_change_of_another_process_is_followed() {
    let site = site().await;
    assert_eq!(from(&site, EVIL, PAGES).await.status, 403);
    let other = Cms::open(site.cms.settings().clone()).await.unwrap();
    let mut change = other.change(Actor::Operator).await.unwrap();
    let evil = other.origins().create(&mut change, NewOrigin::new(EVIL)).await.unwrap();
    change.commit().await.unwrap();
    assert!(other.origins().allows(EVIL).await.unwrap(), "at once where it was made");
    site.cms.catch_up().await.unwrap();
    assert_eq!(from(&site, EVIL, PAGES).await.status, 200);
    let mut change = other.change(Actor::Operator).await.unwrap();
    let mut off = OriginPatch::default();
    off.active = Some(false);
    other.origins().update(&mut change, evil.id, off).await.unwrap();
    change.commit().await.unwrap();
    site.cms.catch_up().await.unwrap();
    assert_eq!(from(&site, EVIL, PAGES).await.status, 403);
    other.close().await;
}

/// Asks until the status is there; fails after a second.
async fn until(served: &Served, origin: &str, status: u16) -> Duration {
    let (host, begin) = (served.url.strip_prefix("http://").unwrap(), Instant::now());
    loop {
        let mut stream = TcpStream::connect(host).await.unwrap();
        let request = format!(
            "GET /api/pages HTTP/1.1\r\nhost: {host}\r\norigin: {origin}\r\nconnection: close\r\n\
             \r\n"
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).await.unwrap();
        if reply.starts_with(&format!("HTTP/1.1 {status} ")) {
            return begin.elapsed();
        }
        assert!(begin.elapsed() < Duration::from_secs(1), "still after a second: {reply}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_command_line_reaches_a_running_service() {
    let database = TestDatabase::new().await;
    process::run(&database, &["init"]);
    let served = Served::start(&database, "warn");
    until(&served, SHOP, 403).await;
    let check = |url: &str| {
        let output = process::output(&database, &["--json", "origins", "check", url]);
        let body: Json =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {output:?}"));
        (output.status.code(), body["data"]["reason"].as_str().unwrap().to_owned())
    };
    let code = |arguments: &[&str]| process::output(&database, arguments).status.code();
    assert_eq!(check(SHOP), (Some(1), "not_registered".to_owned()));
    assert_eq!(check("shop.example"), (Some(1), "not_an_origin".to_owned()));
    let id = process::json(&database, &["origins", "add", SHOP])["data"]["id"].to_string();
    let mut waits = vec![until(&served, SHOP, 200).await];
    assert_eq!(check(SHOP), (Some(0), "allowed".to_owned()));
    for (change, status) in [("deactivate", 403), ("activate", 200), ("deactivate", 403)] {
        process::run(&database, &["origins", change, &id]);
        waits.push(until(&served, SHOP, status).await);
    }
    assert_eq!(check(SHOP), (Some(1), "inactive".to_owned()));
    assert_eq!(code(&["--no-input", "origins", "remove", &id]), Some(2));
    assert_eq!(code(&["origins", "add", "https://a.example/b"]), Some(1));
    process::run(&database, &["origins", "remove", &id, "--yes"]);
    assert_eq!(code(&["origins", "activate", &id]), Some(5));
    assert_eq!(process::run(&database, &["origins", "list"]), "");
    process::run(&database, &["origins", "add", EVIL, "--inactive"]);
    println!("in force after the command has ended: {waits:?}");
    // The same over the network.
    let key = process::key(&database);
    let mut remote =
        process::command(&database, &["--url", &served.url, "--json", "origins", "add", SHOP]);
    assert!(remote.env("CMS_API_KEY", &key).output().unwrap().status.success());
    assert!(until(&served, SHOP, 200).await < Duration::from_millis(500));
    let again = Ask::post("/api/backend/origins").json(&json!({"origin": EVIL}));
    match served.client(&key).send(again).await {
        Err(ClientError::Problem { code, .. }) => assert_eq!(code, "conflict"),
        other => panic!("{other:?}"),
    }
    assert_eq!(served.terminate().0, Some(0));
}
