//! Clients that ask for large replies and do not read them.

use std::{
    io::{Read, Write},
    net::TcpStream,
    time::{Duration, Instant},
};

use cms_http::client::Ask;
use serde_json::json;

use crate::support::{
    TestDatabase,
    process::{self, Served},
};

/// Bytes that wait for readers at most; the records are of a quarter, the share of one network.
const BUDGET: usize = 16 << 20;
const CLIENTS: usize = 150;

fn resident_mib(served: &Served) -> usize {
    process::kib(served.child.id(), "VmRSS").expect("a number") >> 10
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_who_do_not_read_fill_no_memory() {
    let database = TestDatabase::new().await;
    let key = process::init(&database);
    let limits = [("CMS_HTTP__UNREAD_LIMIT_BYTES", &*BUDGET.to_string())];
    let served = Served::start_with(&database, "warn", &limits);
    let client = served.client(&key);
    let large = "x".repeat(1_000_000);
    let write = |n: usize| {
        let body = json!({"name": format!("large{n}"), "value": large});
        Ask::post("/api/backend/item").query("table", "settings").json(&body)
    };
    for n in 0..4 {
        client.send(write(n)).await.unwrap();
    }
    let before = resident_mib(&served);
    let ask = |n: usize| {
        let mut stream = TcpStream::connect(served.address()).unwrap();
        // Each asks for something else, so that no two share a kept reply.
        let head = format!(
            "GET /api/backend/item?table=settings&filter[name][ne]=n{n} HTTP/1.1\r\nhost: \
             cms\r\nx-api-key: {key}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream
    };
    let mut unread: Vec<_> = (0..CLIENTS).map(ask).collect();
    let (mut most, began) = (before, Instant::now());
    while began.elapsed() < Duration::from_secs(4) {
        most = most.max(resident_mib(&served));
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    println!("{CLIENTS} readers of 4 MB each: {before} MiB before, {most} at most");
    // Half of what they ask for; 160 MiB were seen: replies in the making, several times over.
    assert!(most < before + CLIENTS * 4 / 2, "{before} MiB before, {most} at most");
    let mut refused = 0;
    for stream in &mut unread {
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let mut head = [0; 2000];
        let read = stream.read(&mut head).unwrap();
        let head = String::from_utf8_lossy(&head[..read]).to_lowercase();
        if head.starts_with("http/1.1 503") {
            // A slow machine may also say that its database is busy.
            assert!(head.contains("retry-after: 1") || head.contains("is busy"), "{head}");
            refused += 1;
        } else {
            assert!(head.starts_with("http/1.1 200"), "{head}");
        }
    }
    // A share holds one, and as much again while parts of it are under way.
    println!("{refused} were refused");
    assert!((CLIENTS / 2..CLIENTS).contains(&refused), "{refused} were refused");
    // Small replies and writes go on; when the readers are gone, large ones too.
    client.send(Ask::get("/api/settings")).await.unwrap();
    client.send(write(9)).await.unwrap();
    drop(unread);
    let list = || Ask::get("/api/backend/item").query("table", "settings");
    let began = Instant::now();
    let reply = loop {
        match client.send(list()).await {
            Ok(reply) => break reply,
            Err(error) => assert!(began.elapsed() < Duration::from_secs(30), "{error}"),
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    assert!(reply.body.len() > 4_000_000);
}
