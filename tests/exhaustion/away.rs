//! PostgreSQL stops answering: a stop is not held up, and work goes on when it is back.

use std::{
    io::{Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use futures_util::future::join_all;
use serde_json::json;

use super::Story;
use crate::support::{Site, TestDatabase, database};

/// Passes bytes on until it falls silent. Connections stay open then.
fn pass_on(mut from: TcpStream, mut to: TcpStream, silent: &AtomicBool) {
    let mut part = [0; 16 << 10];
    while let Ok(count @ 1..) = from.read(&mut part) {
        if silent.load(Ordering::SeqCst) || to.write_all(&part[..count]).is_err() {
            break;
        }
    }
    if !silent.load(Ordering::SeqCst) {
        let _ = to.shutdown(Shutdown::Both);
    }
}

/// A listener before the server; returns its port.
fn proxy(server: &str, silent: Arc<AtomicBool>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (port, server) = (listener.local_addr().unwrap().port(), server.to_owned());
    std::thread::spawn(move || {
        let mut held = Vec::new();
        for stream in listener.incoming().flatten() {
            held.push(stream.try_clone().unwrap());
            if silent.load(Ordering::SeqCst) {
                continue;
            }
            let server = TcpStream::connect(&server).unwrap();
            let (back, forth) = (server.try_clone().unwrap(), stream.try_clone().unwrap());
            let (one, other) = (silent.clone(), silent.clone());
            std::thread::spawn(move || pass_on(stream, server, &one));
            std::thread::spawn(move || pass_on(back, forth, &other));
        }
    });
    port
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_does_not_wait_for_a_database_that_is_away() {
    let Some(url) = database::server() else { return };
    let authority = url.split('@').nth(1).unwrap().split('/').next().unwrap();
    let silent = Arc::new(AtomicBool::new(false));
    let port = proxy(authority, silent.clone());
    let mut story = Story::begin(|mut command: Command| {
        let given = command
            .get_envs()
            .find(|(name, _)| *name == "CMS_DATABASE_URL")
            .and_then(|(_, url)| {
                Some(url?.to_str()?.replace(authority, &format!("127.0.0.1:{port}")))
            })
            .unwrap();
        command.env("CMS_DATABASE_URL", given);
        command
    })
    .await;
    story.write_for(Duration::from_millis(500)).await;
    silent.store(true, Ordering::SeqCst);
    // A request that waits for the database.
    let (mut waiting, head) = (TcpStream::connect(story.address()).unwrap(), "HTTP/1.1\r\nhost: x");
    write!(waiting, "GET /readyz {head}\r\n\r\n").unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let (began, pid) = (Instant::now(), story.served.child.id().to_string());
    assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    // Each wait for the database has an end, and few stand in line.
    let ended = loop {
        match story.served.child.try_wait().unwrap() {
            None if began.elapsed() < Duration::from_secs(60) => {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            ended => break ended,
        }
    };
    let took = began.elapsed();
    assert_eq!(ended.map(|status| status.code()), Some(Some(0)), "after {took:?}");
    // Docker kills after ten seconds. No limit here: machines that test are busy.
    println!("the stop took {took:?}");
}

/// Its machine vanishes: nothing is reset, and what was sent before is never answered.
#[tokio::test]
async fn work_goes_on_when_a_server_that_vanished_is_back() {
    let Some(url) = database::server() else { return };
    let authority = url.split('@').nth(1).unwrap().split('/').next().unwrap();
    let silent = Arc::new(AtomicBool::new(false));
    let port = proxy(authority, silent.clone());
    let mut database = TestDatabase::new().await;
    if let Some(url) = &mut database.url {
        *url = url.replace(authority, &format!("127.0.0.1:{port}"));
    }
    let site = Site::on(database).open().await;
    let list = "GET /api/backend/item?table=settings";
    join_all((0..8).map(|_| site.admin(list).expect(200))).await;

    silent.store(true, Ordering::SeqCst);
    // Each deadline passes at once: nobody waits for anything but the server.
    tokio::time::pause();
    let refused = join_all((0..24).map(|_| site.admin(list).refused(503, "unavailable")));
    tokio::time::timeout(Duration::from_secs(40), refused).await.expect("all hear of it");
    // Connections whose callers have gone are on their way back to the pool.
    tokio::time::sleep(Duration::from_secs(40)).await;
    tokio::time::resume();

    silent.store(false, Ordering::SeqCst);
    join_all((0..24).map(|_| site.admin(list).expect(200))).await;
    let body = json!({"name": "after", "value": 1});
    site.admin("POST /api/backend/item?table=settings").json(body).expect(201).await;
}
