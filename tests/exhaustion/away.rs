//! PostgreSQL stops answering: a stop is not held up, and work goes on when it is back. Another
//! program holds a row in a transaction that it leaves open.

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
use sqlx::{Connection, Executor};

use super::Story;
use crate::support::{Site, TestDatabase, database, process};

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

/// A proxy before a database, what silences it, and how addresses lead through it.
fn proxied(url: &str) -> (Arc<AtomicBool>, impl Fn(&str) -> String + use<>) {
    let authority = url.split('@').nth(1).unwrap().split('/').next().unwrap().to_owned();
    let silent = Arc::new(AtomicBool::new(false));
    let port = proxy(&authority, silent.clone());
    (silent, move |url: &str| url.replace(&authority, &format!("127.0.0.1:{port}")))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_does_not_wait_for_a_database_that_is_away() {
    let Some(url) = database::server() else { return };
    let (silent, by_proxy) = proxied(&url);
    let mut story = Story::begin(|mut command: Command| {
        let url = |(name, url): (&std::ffi::OsStr, Option<&std::ffi::OsStr>)| {
            (name == "CMS_DATABASE_URL").then(|| by_proxy(url.unwrap().to_str().unwrap()))
        };
        let given = command.get_envs().find_map(url).unwrap();
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
    let began = Instant::now();
    process::signal(story.served.child.id(), "-TERM");
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
    let (silent, by_proxy) = proxied(&url);
    let mut database = TestDatabase::new().await;
    if let Some(url) = &mut database.url {
        *url = by_proxy(url);
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
    site.insert("settings", body).await;
}

/// More than the pool has connections.
const WRITERS: usize = 24;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_row_that_another_program_holds_stops_only_its_own_writers() {
    let site = Site::open().await;
    let Some(url) = site.database.url.clone() else { return };
    for name in ["held", "free"] {
        let body = json!({"name": name, "value": 1});
        site.insert("settings", body).await;
    }
    let mut other = sqlx::PgConnection::connect(&url).await.unwrap();
    let hold = "begin; update cms_settings set name = name where name = 'held'";
    other.execute(sqlx::raw_sql(hold)).await.unwrap();

    let patch = |name: &str| format!("PATCH /api/backend/item?table=settings&id={name}");
    let began = Instant::now();
    let writers = join_all((0..WRITERS).map(async |n| {
        site.admin(&patch("held")).json(json!({"value": n})).refused(503, "unavailable").await;
    }));
    let others = async {
        // All connections wait by now.
        let waiting = "select count(*) from pg_stat_activity where application_name = \
                       current_setting('application_name') and wait_event_type = 'Lock'";
        while site.database.count(waiting).await < 10 {
            assert!(began.elapsed() < Duration::from_secs(5), "the writers wait for the row");
        }
        site.admin("GET /api/backend/item?table=settings").expect(200).await;
        site.admin(&patch("free")).json(json!({"value": 2})).expect(200).await;
    };
    tokio::join!(writers, others);
    assert!(began.elapsed() < Duration::from_secs(16), "{:?}", began.elapsed());

    other.execute(sqlx::raw_sql("rollback")).await.unwrap();
    site.admin(&patch("held")).json(json!({"value": 3})).expect(200).await;
}
