//! Calls to a service with a limiter, on a clock that moves only as far as the pace waits.

use std::sync::atomic::{AtomicU32, Ordering};

use cms_core::{Secret, settings::LimiterStore};
use cms_http::client::Credential;
use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::mpsc::unbounded_channel,
};

use super::*;
use crate::driver::site::TestSite;

/// Against the service's own limiter.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn six_hundred_calls_are_never_refused() {
    let site = TestSite::with(|s| s.limiter.store = LimiterStore::Memory).await;
    let key = site.key("tui", json!({"rights": [{"endpoint": "*"}]})).await;
    let served = site.serve("127.0.0.1:0").await;
    let (client, begun) = (served.client(&key), Instant::now());
    let turns = Turns::new(begun);
    let (waited, refused) = (std::sync::Mutex::new(Duration::ZERO), AtomicU32::new(0));
    for n in 0..600 {
        let ask = match n % 3 {
            0 => Ask::get("/api/backend/keys"),
            1 => Ask::get("/api/backend/item").query("table", "posts"),
            _ => Ask::get("/api/backend/webhooks/queue"),
        };
        let wait = async |pause: Duration| {
            // A token comes within 1.1 s; after a refusal it takes longer.
            refused.fetch_add(u32::from(pause > Duration::from_millis(1_200)), Ordering::Relaxed);
            let ms =
                pause.as_millis() + u128::from(!pause.subsec_nanos().is_multiple_of(1_000_000));
            site.clock.advance(i64::try_from(ms).expect("a pause"));
            *waited.lock().expect("a lock") += pause;
        };
        let now = || begun + *waited.lock().expect("a lock");
        let answer = paced(&client, &turns, &ask, wait, now).await;
        assert!(answer.is_ok_and(|answer| answer.limit.is_some()), "call {n} is refused");
    }
    // A key's bucket holds 60 and gets one a second.
    let waited = waited.into_inner().expect("a lock").as_secs();
    assert!((500..640).contains(&waited), "{waited} s");
    assert_eq!(refused.into_inner(), 0);
    served.stop().await;
}

/// A server that answers when the test says so.
async fn asked(listener: &TcpListener) -> TcpStream {
    let (mut stream, _) = listener.accept().await.expect("a connection");
    let read = stream.read(&mut [0; 4096]).await.expect("a request");
    assert!(read > 0);
    stream
}

#[tokio::test]
async fn only_a_read_that_nobody_waits_for_is_broken_off() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let client = Client::remote(&url, &Credential::Key(Secret::new("key"))).expect("a client");
    let (sender, mut incoming) = unbounded_channel();
    let mut calls = Calls::new(client, false);
    let read: Read = |_| Ok(Reply::default());
    calls.start(1, Ask::get("/api/backend/keys"), read, &sender);
    let mut reading = asked(&listener).await;
    calls.forget(1);
    let end = reading.read(&mut [0; 16]).await;
    assert!(matches!(end, Ok(0) | Err(_)), "the connection is closed");
    let write = Ask::post("/api/backend/keys").json(&json!({}));
    calls.start(2, write, read, &sender);
    let mut writing = asked(&listener).await;
    calls.forget(2);
    let reply = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";
    writing.write_all(reply).await.expect("taken");
    let answered = incoming.recv().await;
    assert!(matches!(answered, Some(Incoming::Msg(Msg::Answered(2, Ok(_))))));
}

#[tokio::test]
async fn a_change_that_this_process_makes_is_known_until_it_ends() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let client = Client::remote(&url, &Credential::Key(Secret::new("key"))).expect("a client");
    let (sender, mut incoming) = unbounded_channel();
    let read: Read = |_| Ok(Reply::default());
    let write = || Ask::post("/api/backend/keys").json(&json!({}));
    // As if it were a site of this process: only its changes hold a database.
    let mut calls = Calls::new(client.clone(), true);
    calls.start(1, Ask::get("/api/backend/keys"), read, &sender);
    assert!(!calls.is_changing(), "a read");
    let reply = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}";
    asked(&listener).await.write_all(reply).await.expect("taken");
    incoming.recv().await.expect("an answer");
    calls.start(2, write(), read, &sender);
    let mut writing = asked(&listener).await;
    let elsewhere = calls.elsewhere(client.clone(), false);
    assert!(calls.is_changing() && elsewhere.is_changing());
    assert!(!calls.at_rest(Duration::from_millis(20)).await);
    writing.write_all(reply).await.expect("taken");
    assert!(elsewhere.at_rest(Duration::from_secs(60)).await && !calls.is_changing());
    let mut remote = Calls::new(client, false);
    remote.start(3, write(), read, &sender);
    let _writing = asked(&listener).await;
    assert!(!remote.is_changing(), "a server has its own writer");
}
