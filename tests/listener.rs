//! The real listener over sockets.

use std::time::Duration;

use bytes::Bytes;
use cms_core::{Error, Result, plugins::EndpointReply};
use cms_http::{Server, Stop};
use futures_util::{StreamExt as _, stream};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    task::JoinHandle,
};

use crate::support::{
    Site, SiteBuilder,
    plugins::{plugin, program},
    with,
};

struct Running {
    address: std::net::SocketAddr,
    stop: Stop,
    task: JoinHandle<()>,
    site: Site,
}

async fn start(builder: SiteBuilder) -> Running {
    let site = builder.open().await;
    let server = Server::bind(site.api.clone(), "127.0.0.1:0").await.unwrap();
    Running {
        address: server.address(),
        stop: server.stop(),
        task: tokio::spawn(server.run()),
        site,
    }
}

impl Running {
    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// Sends bytes and reads until the connection ends.
    async fn exchange(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect().await;
        stream.write_all(bytes).await.unwrap();
        let mut reply = Vec::new();
        let _ = stream.read_to_end(&mut reply).await;
        String::from_utf8_lossy(&reply).into_owned()
    }

    async fn end(self) {
        self.stop.now();
        self.task.await.unwrap();
    }
}

#[tokio::test]
async fn a_stop_does_not_wait_for_those_who_ask_nothing() {
    let running = start(Site::builder().await).await;
    let (mut silent, mut kept) = (running.connect().await, running.connect().await);
    kept.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    assert!(kept.read(&mut [0; 1024]).await.unwrap() > 0);
    // Those who ask get ten seconds.
    tokio::time::timeout(Duration::from_secs(5), running.end()).await.expect("an end at once");
    for stream in [&mut silent, &mut kept] {
        assert_eq!(stream.read(&mut [0; 1024]).await.unwrap(), 0, "the connection is closed");
    }
}

#[tokio::test]
async fn a_request_is_answered_and_a_stop_waits_for_it() {
    let running = start(Site::builder().await).await;
    let reply =
        running.exchange(b"GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await;
    assert!(
        reply.starts_with("HTTP/1.1 200 OK\r\n")
            && reply.ends_with(r#"{"data":{"status":"ok","version":"3.0.0"}}"#),
        "{reply}"
    );
    let mut slow = running.connect().await;
    slow.write_all(
        b"POST /api/backend/keys HTTP/1.1\r\nhost: x\r\nconnection: close\r\nx-api-key: ",
    )
    .await
    .unwrap();
    slow.write_all(running.site.admin.as_bytes()).await.unwrap();
    slow.write_all(b"\r\ncontent-type: application/json\r\ncontent-length: 12\r\n\r\n{\"name\"")
        .await
        .unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    running.stop.now();
    slow.write_all(b":\"x\"}").await.unwrap();
    let mut reply = String::new();
    slow.read_to_string(&mut reply).await.unwrap();
    assert!(reply.starts_with("HTTP/1.1 201"), "{reply}");
    let address = running.address;
    running.end().await;
    assert!(TcpStream::connect(address).await.is_err());
}

/// Answers what lies in a socket at the stop, also where nobody has accepted it yet.
#[tokio::test]
async fn a_stop_answers_what_has_arrived() {
    for path in ["/healthz", "/api/settings"] {
        let running = start(Site::builder().await).await;
        let ask = format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n").into_bytes();
        let mut kept = running.connect().await;
        kept.write_all(&ask).await.unwrap();
        assert!(kept.read(&mut [0; 4096]).await.unwrap() > 0);
        // Nothing is awaited up to the stop, so the service does not run meanwhile.
        assert_eq!(kept.try_write(&ask).unwrap(), ask.len());
        let mut fresh = std::net::TcpStream::connect(running.address).unwrap();
        std::io::Write::write_all(&mut fresh, &ask).unwrap();
        running.stop.now();
        fresh.set_nonblocking(true).unwrap();
        for mut stream in [kept, TcpStream::from_std(fresh).unwrap()] {
            let mut reply = String::new();
            stream.read_to_string(&mut reply).await.unwrap();
            assert!(reply.starts_with("HTTP/1.1 200"), "{path}: {reply}");
            assert!(reply.contains("connection: close\r\n"), "{path}: {reply}");
        }
        running.end().await;
    }
}

/// One waits for a place of a full server, others wait to be accepted.
#[tokio::test]
async fn a_stop_refuses_whom_it_has_no_place_for() {
    let builder = Site::builder().await.settings(|s| {
        s.http.max_connections = 1;
        // A proxy's connections wait for a place; a network's are refused at once.
        s.trusted_proxies = vec!["127.0.0.1/32".parse().unwrap()];
    });
    let running = start(builder).await;
    let mut busy = running.connect().await;
    let head = "POST /api/backend/keys HTTP/1.1\r\nhost: x\r\nconnection: close\r\nx-api-key: ";
    let rest = "content-type: application/json\r\ncontent-length: 12\r\n\r\n{\"name\"";
    let ask = format!("{head}{}\r\n{rest}", running.site.admin);
    busy.write_all(ask.as_bytes()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    let ask = b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n";
    let mut first = running.connect().await;
    first.write_all(ask).await.unwrap();
    // The service accepts the first, which then waits.
    tokio::time::sleep(Duration::from_millis(50)).await;
    let mut waiting = vec![first];
    for _ in 0..3 {
        let mut stream = running.connect().await;
        stream.write_all(ask).await.unwrap();
        waiting.push(stream);
    }
    running.stop.now();
    for (number, stream) in waiting.iter_mut().enumerate() {
        let mut reply = String::new();
        stream.read_to_string(&mut reply).await.unwrap();
        assert!(reply.starts_with("HTTP/1.1 503"), "{number}: {reply}");
        assert!(reply.contains("connection: close\r\n"), "{number}: {reply}");
        assert_eq!(problem(&reply).as_deref(), Some("unavailable"), "{number}: {reply}");
    }
    busy.write_all(b":\"x\"}").await.unwrap();
    let mut reply = String::new();
    busy.read_to_string(&mut reply).await.unwrap();
    assert!(reply.starts_with("HTTP/1.1 201"), "{reply}");
    running.end().await;
}

#[tokio::test]
async fn replies_of_a_drain_end_their_connections() {
    let running = start(Site::builder().await.settings(|s| s.shutdown.drain_s = 1)).await;
    running.stop.now();
    // Reads until the service ends the connection.
    let reply = running.exchange(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n").await;
    assert!(reply.contains("HTTP/1.1 200") && reply.contains("connection: close"), "{reply}");
    running.end().await;
}

/// Only the end of the connection tells a client of HTTP/1.0 that the reply is whole.
#[tokio::test]
async fn a_reply_that_breaks_off_ends_with_a_reset() {
    let endpoint = |name: &str| json!({"modelPath": name, "endpoint": name, "public": true});
    let endpoints = json!({"endpoints": (["whole", "breaks"].map(endpoint))});
    let declared = with(plugin("office", [("letters", "a text")]), endpoints);
    let plugin = program(declared, |handlers| {
        ["whole", "breaks"].into_iter().fold(handlers, |handlers, name| {
            handlers.endpoint(name, &[], move |_| async move {
                let is_whole = name == "whole";
                let end: Result<Bytes> =
                    is_whole.then(|| "end".into()).ok_or_else(|| Error::internal("a fault"));
                // Each part goes out before the next is made.
                let parts = stream::iter([Ok("begin, ".into()), end]).then(|part| async move {
                    tokio::task::yield_now().await;
                    part
                });
                Ok(EndpointReply::stream("text/plain", parts.boxed()))
            })
        })
    });
    let running = start(Site::builder().await.program(plugin)).await;
    let read = async |path: &str| {
        let mut stream = running.connect().await;
        let ask = format!("GET {path} HTTP/1.0\r\nhost: x\r\n\r\n");
        stream.write_all(ask.as_bytes()).await.unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).await.map(|_| reply).map_err(|error| error.kind())
    };
    let whole = read("/api/whole").await.unwrap();
    assert!(whole.ends_with("\r\n\r\nbegin, end"), "{whole}");
    let broken = read("/api/breaks").await;
    assert_eq!(broken, Err(std::io::ErrorKind::ConnectionReset));
    running.end().await;
}

#[tokio::test]
async fn large_slow_and_broken_requests_end() {
    let builder = Site::builder().await.settings(|s| s.http.request_timeout_s = 1);
    let running = start(builder).await;
    let key = running.site.admin.clone();
    let post = |rest: &str| {
        format!(
            "POST /api/backend/keys HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\
             x-api-key: {key}\r\n{rest}"
        )
    };

    let head = format!("GET /healthz HTTP/1.1\r\nhost: x\r\nx-big: {}\r\n\r\n", "a".repeat(40_000));
    let reply = running.exchange(head.as_bytes()).await;
    assert!(reply.starts_with("HTTP/1.1 431"), "{reply}");
    let slow = post("content-type: application/json\r\ncontent-length: 100\r\n\r\n{\"name\"");
    let reply = running.exchange(slow.as_bytes()).await;
    assert!(
        reply.starts_with("HTTP/1.1 408") && reply.contains("\"error\":\"timeout\""),
        "{reply}"
    );
    let announced = post("content-type: application/json\r\ncontent-length: 2097152\r\n\r\n");
    let reply = running.exchange(announced.as_bytes()).await;
    assert!(reply.starts_with("HTTP/1.1 413") && reply.contains("payload_too_large"), "{reply}");
    let chunk = format!("{:x}\r\n{}\r\n", 1 << 20, "a".repeat(1 << 20));
    let streamed = post(&format!(
        "content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n{chunk}{chunk}0\r\n\
         \r\n"
    ));
    let reply = running.exchange(streamed.as_bytes()).await;
    assert!(reply.starts_with("HTTP/1.1 413"), "{reply}");
    assert!(running.exchange(b"nonsense\r\n\r\n").await.starts_with("HTTP/1.1 400"));
    let reply = running.exchange(b"GET /healthz HTTP/1.1\r\nhost: x\r\n").await;
    assert!(
        reply.starts_with("HTTP/1.1 408") && reply.contains("\"error\":\"timeout\""),
        "an unfinished head: {reply}"
    );
    assert!(request_id(&reply).is_some(), "{reply}");
    // Each byte comes soon, the head does not.
    let (mut read, mut write) = running.connect().await.into_split();
    let dripping = tokio::spawn(async move {
        for byte in b"GET /healthz HTTP/1.1\r\nhost: x\r\nx: ".iter().chain([b'a'; 40].iter()) {
            if write.write_all(&[*byte]).await.is_err() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    });
    let mut reply = Vec::new();
    let _ = read.read_to_end(&mut reply).await;
    let reply = String::from_utf8_lossy(&reply).into_owned();
    assert!(!dripping.is_finished(), "it was refused while it came");
    dripping.abort();
    assert!(reply.starts_with("HTTP/1.1 408") && request_id(&reply).is_some(), "{reply}");
    assert_eq!(running.exchange(b"").await, "", "who says nothing is told nothing");
    assert_eq!(running.site.database.count("select count(*) from cms_api_keys").await, 1);
    running.end().await;
}

#[tokio::test]
async fn a_silent_stream_is_kept_until_its_client_goes_or_the_service_stops() {
    let builder =
        Site::builder().await.settings(|s| (s.http.request_timeout_s, s.http.max_streams) = (1, 1));
    let running = start(builder).await;
    let head = format!(
        "GET /api/backend/events/stream HTTP/1.1\r\nhost: x\r\nx-api-key: {}\r\n\r\n",
        running.site.admin
    );
    let open = async || {
        let mut stream = running.connect().await;
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut reply = String::new();
        while !reply.contains("\r\n\r\n") {
            let mut bytes = [0; 1024];
            let read = stream.read(&mut bytes).await.unwrap();
            assert!(read > 0, "{reply}");
            reply.push_str(std::str::from_utf8(&bytes[..read]).unwrap());
        }
        (stream, reply)
    };
    let (first, reply) = open().await;
    assert!(reply.starts_with("HTTP/1.1 200"), "{reply}");
    drop(first);
    // The place is free as soon as the service has noticed.
    let (mut stream, reply) = loop {
        let (stream, reply) = open().await;
        if !reply.starts_with("HTTP/1.1 429") {
            break (stream, reply);
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    assert!(reply.starts_with("HTTP/1.1 200"), "{reply}");
    // Longer than a connection may stand still.
    tokio::time::sleep(Duration::from_millis(2500)).await;
    let (site, line) = (&running.site, "POST /api/backend/item?table=settings");
    site.admin(line).json(serde_json::json!({"name": "a", "value": "b"})).expect(201).await;
    site.clock.advance(1000);
    let mut text = String::new();
    while !text.contains("event: item.settings.created") {
        let mut bytes = [0; 4096];
        let read = stream.read(&mut bytes).await.unwrap();
        assert!(read > 0, "the stream was ended: {text}");
        text.push_str(std::str::from_utf8(&bytes[..read]).unwrap());
    }
    tokio::time::timeout(Duration::from_secs(5), running.end()).await.expect("an end at once");
    text.clear();
    stream.read_to_string(&mut text).await.unwrap();
    assert!(text.ends_with("0\r\n\r\n"), "the reply is complete: {text:?}");
}

fn request_id(reply: &str) -> Option<&str> {
    reply.lines().find_map(|line| line.strip_prefix("x-request-id: ")).filter(|id| id.len() == 24)
}

/// The code in a reply that is a problem document, whole.
fn problem(reply: &str) -> Option<String> {
    let (head, body) = reply.split_once("\r\n\r\n")?;
    let is_problem = head.contains("content-type: application/problem+json");
    let is_whole = head.contains(&format!("content-length: {}", body.len()));
    let body: serde_json::Value = serde_json::from_str(body).ok()?;
    let code = body["error"].as_str().filter(|_| is_problem && is_whole);
    code.filter(|_| body["request_id"].as_str() == request_id(reply)).map(str::to_owned)
}

#[tokio::test]
async fn a_request_has_one_host_and_every_refusal_an_id() {
    let running = start(Site::builder().await).await;
    for (head, status) in [
        ("GET /healthz HTTP/1.1\r\nhost: x\r\n", "200"),
        ("GET /healthz HTTP/1.0\r\n", "200"),
        ("GET /healthz HTTP/1.1\r\n", "400"),
        ("GET /healthz HTTP/1.1\r\nhost: x\r\nhost: x\r\n", "400"),
        ("GET /healthz HTTP/1.0\r\nhost: x\r\nhost: y\r\n", "400"),
        ("GET http://x/healthz HTTP/1.1\r\n", "400"),
        // Hyper refuses these by itself.
        ("nonsense\r\n", "400"),
        ("GET /healthz HTTP/1.1\r\nhost: x\r\nx y: 1\r\n", "400"),
        ("GET /healthz HTTP/3.7\r\nhost: x\r\n", "400"),
    ] {
        let reply = running.exchange(format!("{head}connection: close\r\n\r\n").as_bytes()).await;
        let line = reply.lines().next().unwrap_or_default();
        assert_eq!(line.split(' ').nth(1), Some(status), "{head}: {reply}");
        assert!(request_id(&reply).is_some(), "{head}: {reply}");
        assert_eq!(problem(&reply), (status == "400").then(|| "bad_query".to_owned()), "{head}");
    }
    let long = format!("GET /healthz HTTP/1.1\r\nhost: x\r\nx: {}\r\n\r\n", "a".repeat(40_000));
    let reply = running.exchange(long.as_bytes()).await;
    assert!(reply.starts_with("HTTP/1.1 431") && request_id(&reply).is_some(), "{reply}");
    assert_eq!(problem(&reply).as_deref(), Some("headers_too_large"), "{reply}");
    running.end().await;
}

#[tokio::test]
async fn many_headers_are_taken_within_their_bytes() {
    let running = start(Site::builder().await).await;
    for count in [99, 101, 1500] {
        let headers: String = (0..count).map(|n| format!("x-header-{n}: {n}\r\n")).collect();
        let head =
            format!("GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{headers}\r\n");
        assert!(head.len() < 32_768);
        let reply = running.exchange(head.as_bytes()).await;
        assert!(reply.starts_with("HTTP/1.1 200"), "{count}: {reply}");
    }
    running.end().await;
}

#[tokio::test]
async fn idle_connections_leave_when_others_come() {
    let builder = Site::builder().await.settings(|s| s.http.max_connections = 8);
    let running = start(builder).await;
    let ask = b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n";
    let mut idle = Vec::new();
    for n in 0..40 {
        let mut stream = running.connect().await;
        match n % 3 {
            0 => stream.write_all(ask).await.unwrap(),
            1 => stream.write_all(b"GET /heal").await.unwrap(),
            _ => {}
        }
        idle.push(stream);
    }
    let reply = tokio::time::timeout(
        Duration::from_secs(5),
        running.exchange(b"GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"),
    );
    assert!(reply.await.expect("in time").starts_with("HTTP/1.1 200"));
    // The oldest have left, the newest are still there.
    let mut rest = Vec::new();
    tokio::time::timeout(Duration::from_secs(5), idle[0].read_to_end(&mut rest))
        .await
        .expect("an end")
        .unwrap();
    let newest = idle.last_mut().unwrap();
    newest.write_all(ask).await.unwrap();
    assert!(newest.read(&mut [0; 1024]).await.unwrap() > 0);
    running.end().await;
}

/// Whoever holds one connection at a time is never refused one, however fast they follow.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ended_connections_take_no_place() {
    let builder = Site::builder().await.settings(|s| {
        s.http.max_connections = 8;
        // Connections are looked at four times a second.
        s.http.request_timeout_s = 1;
    });
    let running = start(builder).await;
    let ask = b"GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
    for number in 0..3000 {
        let reply = running.exchange(ask).await;
        assert!(reply.starts_with("HTTP/1.1 200"), "{number}: {reply}");
    }
    running.end().await;
}

#[tokio::test]
async fn who_asks_too_much_loses_the_connection() {
    let builder = Site::builder()
        .await
        .settings(|s| s.limiter.store = cms_core::settings::LimiterStore::Memory);
    let running = start(builder).await;
    let mut stream = running.connect().await;
    let mut reply = String::new();
    for _ in 0..1000 {
        if stream.write_all(b"GET /api/settings HTTP/1.1\r\nhost: x\r\n\r\n").await.is_err() {
            break;
        }
        let mut part = [0; 4096];
        let count = stream.read(&mut part).await.unwrap();
        reply = String::from_utf8_lossy(&part[..count]).into_owned();
        if reply.starts_with("HTTP/1.1 429") {
            break;
        }
    }
    assert!(reply.starts_with("HTTP/1.1 429") && reply.contains("connection: close"), "{reply}");
    assert_eq!(stream.read(&mut [0; 1024]).await.unwrap(), 0);
    running.end().await;
}

/// The sender of a body that nobody wants reads why, and no reset.
#[tokio::test]
async fn refusals_arrive_before_the_body() {
    const MIB: usize = 1 << 20;
    let builder = Site::builder().await.settings(|s| s.media.max_bytes = 20 * MIB as u64);
    let running = start(builder).await;
    let admin = format!("x-api-key: {}\r\n", running.site.admin);
    let json = "content-type: application/json\r\n";
    let form = "content-type: multipart/form-data; boundary=x\r\n";
    for (path, headers, length, status) in [
        ("/api/backend/item/blog", json.to_owned(), 400_000, "401"),
        ("/api/form/submit", format!("{json}origin: https://evil.example\r\n"), 400_000, "403"),
        ("/api/backend/keys", format!("{json}{admin}"), 3 * MIB, "413"),
        ("/api/backend/media", format!("{form}{admin}"), 30 * MIB, "413"),
        // With two hosts.
        ("/api/form/submit", format!("{json}host: y\r\n"), 400_000, "400"),
    ] {
        let mut stream = running.connect().await;
        let head = format!("POST {path} HTTP/1.1\r\nhost: x\r\n{headers}");
        let head = format!("{head}content-length: {length}\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        // The service has ended its side.
        let mut reply = String::new();
        stream.read_to_string(&mut reply).await.unwrap();
        assert!(reply.starts_with(&format!("HTTP/1.1 {status}")), "{path}: {reply}");
        assert!(reply.contains("\"error\":"), "{path}: {reply}");
        let part = vec![b'x'; 50_000];
        let mut left = length;
        while left > 0 {
            let count = left.min(part.len());
            stream.write_all(&part[..count]).await.expect("the service still reads");
            left -= count;
        }
        assert_eq!(stream.read(&mut [0; 1]).await.unwrap(), 0, "{path}: no reset");
    }
    running.end().await;
}

/// A client that sends on gives its place to others, and holds up no stop.
#[tokio::test]
async fn a_lingering_connection_leaves_when_others_come() {
    let builder = Site::builder().await.settings(|s| s.http.max_connections = 2);
    let running = start(builder).await;
    let head = "POST /api/nothing HTTP/1.1\r\nhost: x\r\ncontent-length: 100000\r\n\r\n";
    let mut lingering = Vec::new();
    for _ in 0..2 {
        let mut stream = running.connect().await;
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).await.unwrap();
        assert!(reply.starts_with("HTTP/1.1 401"), "{reply}");
        lingering.push(stream);
    }
    for _ in 0..4 {
        let ask = b"GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
        let reply = tokio::time::timeout(Duration::from_secs(1), running.exchange(ask)).await;
        assert!(reply.expect("in time").starts_with("HTTP/1.1 200"));
    }
    tokio::time::timeout(Duration::from_secs(5), running.end()).await.expect("an end soon");
}

#[tokio::test]
async fn a_body_is_chunked_once_or_not_at_all() {
    let running = start(Site::builder().await).await;
    for (coding, status) in [
        ("gzip, chunked", "400"),
        ("chunked\r\ntransfer-encoding: chunked", "400"),
        ("Chunked", "422"),
    ] {
        let head = "POST /api/form/submit HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\
                    content-type: application/json\r\ntransfer-encoding: ";
        let ask = format!("{head}{coding}\r\n\r\n2\r\n{{}}\r\n0\r\n\r\n");
        let reply = running.exchange(ask.as_bytes()).await;
        assert!(reply.starts_with(&format!("HTTP/1.1 {status}")), "{coding}: {reply}");
    }
    running.end().await;
}
