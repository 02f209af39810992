//! Bodies of strangers, whose trees take eighty times their bytes.

use std::{
    io::{Read, Write},
    net::TcpStream,
    process::Command,
    sync::Barrier,
    time::Duration,
};

use serde_json::json;

use crate::support::{
    TestDatabase,
    process::{self, Served},
};

const CLIENTS: usize = 60;
/// Above what the server has at rest.
const MOST_MIB: usize = 150;
/// Address space of the server.
const ADDRESSES: &str = "--as=1000000000";
const SESSION: &str = "0191d0a4-7c9e-4b6f-8a2d-1f5e3c7b9a10";

fn peak_mib(served: &Served) -> usize {
    process::kib(served.child.id(), "VmHWM").expect("a number") >> 10
}

/// A body that was sent but for its last byte.
fn begin(served: &Served, path: &str, body: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(served.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: cms\r\ncontent-type: application/json\r\n\
         content-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    let _ = stream.write_all(head.as_bytes());
    let _ = stream.write_all(&body[..body.len() - 1]);
    stream
}

/// The head of the reply.
fn end(mut stream: TcpStream, body: &[u8]) -> String {
    let _ = stream.write_all(&body[body.len() - 1..]);
    let mut reply = Vec::new();
    let _ = stream.read_to_end(&mut reply);
    String::from_utf8_lossy(&reply).to_lowercase()
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_of_strangers_fill_no_memory() {
    let database = TestDatabase::new().await;
    process::run(&database, &["init"]);
    let plain = process::command(&database, &["serve", "--listen", "127.0.0.1:0"]);
    let mut command = Command::new("prlimit");
    command.arg(ADDRESSES);
    let served = Served::start_command(process::run_by(command, &plain), "error", &[]);
    served.get("/healthz");
    let before = peak_mib(&served);
    let answers = |filled: &str| {
        format!("{{\"session_uuid\":\"{SESSION}\",\"answers\":{{\"a\":[{filled}]}}}}").into_bytes()
    };
    let maps = |times: usize| "{\"a\":1},".repeat(times);
    let text = "x".repeat(900_000);
    for (path, body) in [
        ("/api/formfunnel/step", answers(&format!("{}1", maps(120_000)))),
        ("/api/formfunnel/step", answers(&format!("{}\"{text}\"", maps(2400)))),
        ("/api/formfunnel/resume", format!("{{\"x\":[{}\"{text}\"]}}", maps(9900)).into_bytes()),
        ("/api/form/submit", answers(&format!("{}\"{text}\"", maps(2400)))),
        ("/api/formfunnel/abandon", answers(&text)),
        ("/api/backend/auth/login", format!("[{}\"{text}\"]", maps(9900)).into_bytes()),
    ] {
        let barrier = Barrier::new(CLIENTS);
        std::thread::scope(|scope| {
            for _ in 0..CLIENTS {
                scope.spawn(|| {
                    let stream = begin(&served, path, &body);
                    barrier.wait();
                    let reply = end(stream, &body);
                    let status = reply.get(9..12).unwrap_or("none");
                    // What is refused before it was sent may break.
                    let known = ["204", "400", "404", "422", "503", "none"];
                    assert!(known.contains(&status), "{path}: {reply}");
                });
            }
        });
        assert!(served.get("/healthz").starts_with("HTTP/1.1 200"), "after {path}");
        let peak = peak_mib(&served);
        println!("{path}: {before} MiB before, {peak} MiB at most");
        assert!(peak < before + MOST_MIB, "{path}: {before} MiB before, {peak} MiB at most");
    }
}

/// What one network holds keeps out neither small bodies nor other networks.
#[tokio::test(flavor = "multi_thread")]
async fn bodies_beyond_a_share_are_told_to_wait() {
    let database = TestDatabase::new().await;
    process::run(&database, &["init"]);
    // The share of a network is 256 KiB.
    let limits = [("CMS_HTTP__PARSED_LIMIT_BYTES", "1048576")];
    let served = Served::start_with(&database, "error", &limits);
    let of = |length| {
        let body = json!({"session_uuid": SESSION, "answers": {"a": "x".repeat(length)}});
        body.to_string().into_bytes()
    };
    let path = "/api/formfunnel/step";
    let (large, body, small) = (of(200_000), of(120_000), of(5_000));
    let send = |body: &[u8]| end(begin(&served, path, body), body);
    let ask = || send(&body);
    assert!(ask().starts_with("http/1.1 404"));
    // Whichever comes first has the room: the large one, after some tries.
    let refused = (0..100).find_map(|_| {
        let held = begin(&served, path, &large);
        std::thread::sleep(Duration::from_millis(20));
        let (refused, small) = (ask(), send(&small));
        assert!(small.starts_with("http/1.1 404"), "{small}");
        let has_room = end(held, &large).starts_with("http/1.1 404");
        (has_room && refused.starts_with("http/1.1 503")).then_some(refused)
    });
    let refused = refused.expect("a body that is refused while another is held");
    for part in ["retry-after: 1\r\n", "\"error\":\"unavailable\"", "http.parsed_limit_bytes"] {
        assert!(refused.contains(part), "{refused}");
    }
    // Room is given back just after the reply.
    let again = (0..1000).any(|_| ask().starts_with("http/1.1 404"));
    assert!(again, "there is room again");
    // A beacon is answered alike whatever it holds.
    let beacon = end(begin(&served, "/api/formfunnel/abandon", &body), &body);
    assert!(beacon.starts_with("http/1.1 204"), "{beacon}");
}
