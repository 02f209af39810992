//! Names with changing or mixed answers: no forbidden address is dialled. 127.0.0.2 stands for an
//! allowed address and 127.0.0.1 for a forbidden one; both listen.

use std::{
    net::IpAddr,
    sync::atomic::{AtomicUsize, Ordering},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

use super::*;
use std::net::SocketAddr;

/// Returns its answers in order; the last one repeats.
struct Scripted(Vec<std::io::Result<Vec<&'static str>>>, AtomicUsize);

impl Names for Scripted {
    fn look_up(
        &self,
        _: String,
    ) -> futures_util::future::BoxFuture<'static, std::io::Result<Vec<SocketAddr>>> {
        let turn = self.1.fetch_add(1, Ordering::SeqCst).min(self.0.len() - 1);
        let answer = match &self.0[turn] {
            Ok(addresses) => Ok(addresses
                .iter()
                .map(|ip| SocketAddr::new(ip.parse::<IpAddr>().expect("an address"), 0))
                .collect()),
            Err(error) => Err(std::io::Error::new(error.kind(), error.to_string())),
        };
        Box::pin(async move { answer })
    }
}

fn sender(answers: Vec<std::io::Result<Vec<&'static str>>>) -> HttpClient {
    let settings = WebhookSettings {
        allow_http: true,
        allow_cidrs: vec!["127.0.0.2/32".parse().expect("cidr")],
        timeout_s: 2,
        ..WebhookSettings::default()
    };
    HttpClient::with(
        &settings,
        Arc::new(Scripted(answers, AtomicUsize::new(0))),
        RootCertStore::empty(),
    )
    .expect("a sender")
}

/// A receiver that answers 200, closes the connection and counts connections.
fn answering(listener: TcpListener) -> Arc<AtomicUsize> {
    let count = Arc::new(AtomicUsize::new(0));
    let accepted = count.clone();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            accepted.fetch_add(1, Ordering::SeqCst);
            let mut part = [0; 1024];
            let _ = stream.read(&mut part).await;
            let _ = stream
                .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
                .await;
        }
    });
    count
}

/// Listeners on both addresses and one port. A port that is free on one address may be taken on the
/// other.
async fn both() -> (String, Arc<AtomicUsize>, Arc<AtomicUsize>) {
    loop {
        let allowed = TcpListener::bind("127.0.0.2:0").await.expect("a port");
        let port = allowed.local_addr().expect("an address").port();
        if let Ok(forbidden) = TcpListener::bind(("127.0.0.1", port)).await {
            return (
                format!("http://hooks.example:{port}/"),
                answering(allowed),
                answering(forbidden),
            );
        }
    }
}

#[tokio::test]
async fn a_name_that_turns_inward_is_not_dialled_again() {
    let (url, allowed, forbidden) = both().await;
    let sender = sender(vec![Ok(vec!["127.0.0.2"]), Ok(vec!["127.0.0.1"])]);
    assert_eq!(sender.post(&url, Vec::new(), Bytes::new()).await.code(), "delivered");
    for _ in 0..3 {
        let attempt = sender.post(&url, Vec::new(), Bytes::new()).await;
        assert_eq!(attempt.code(), "refused_address");
        assert!(
            attempt.message().contains("127.0.0.1 is not delivered to: loopback"),
            "{}",
            attempt.message()
        );
    }
    assert_eq!((allowed.load(Ordering::SeqCst), forbidden.load(Ordering::SeqCst)), (1, 0));
}

#[tokio::test]
async fn a_mixed_answer_is_refused_as_a_whole() {
    let (url, allowed, forbidden) = both().await;
    for answer in [
        vec!["127.0.0.2", "127.0.0.1"],
        vec!["127.0.0.1", "127.0.0.2"],
        vec!["127.0.0.2", "::1"],
        vec!["169.254.169.254"],
    ] {
        assert_eq!(
            sender(vec![Ok(answer)]).post(&url, Vec::new(), Bytes::new()).await.code(),
            "refused_address"
        );
    }
    assert_eq!((allowed.load(Ordering::SeqCst), forbidden.load(Ordering::SeqCst)), (0, 0));
}

#[tokio::test]
async fn names_that_are_not_found_have_a_code_of_their_own() {
    let unknown = || Err(std::io::Error::new(std::io::ErrorKind::NotFound, "no such name"));
    for answer in [unknown(), Ok(Vec::new())] {
        let attempt = sender(vec![answer])
            .post("http://hooks.example/secret-path?t=1", Vec::new(), Bytes::new())
            .await;
        assert_eq!(attempt.code(), "dns");
        assert!(!attempt.message().contains("secret-path"), "{}", attempt.message());
    }
}

/// A resolver that is away says nothing about a receiver.
#[tokio::test]
async fn a_resolver_that_is_away_is_a_local_fault() {
    struct Silent;
    impl Names for Silent {
        fn look_up(
            &self,
            _: String,
        ) -> futures_util::future::BoxFuture<'static, std::io::Result<Vec<SocketAddr>>> {
            Box::pin(std::future::pending())
        }
    }
    let away = || {
        let text = "failed to lookup address information: Temporary failure in name resolution";
        Err(std::io::Error::other(text))
    };
    let settings = WebhookSettings { allow_http: true, timeout_s: 1, ..WebhookSettings::default() };
    let silent = HttpClient::with(&settings, Arc::new(Silent), RootCertStore::empty());
    for sender in [sender(vec![away()]), silent.expect("a sender")] {
        let attempt = sender.post("http://hooks.example/", Vec::new(), Bytes::new()).await;
        assert_eq!((attempt.code(), attempt.is_local()), ("local", true), "{attempt:?}");
    }
}

/// The look-up of a webhook that is being saved.
#[tokio::test]
async fn names_are_looked_up_before_anything_is_sent() {
    let unknown = || Err(std::io::Error::new(std::io::ErrorKind::NotFound, "no such name"));
    for (url, answer, expected) in [
        ("http://hooks.example/", Ok(vec!["127.0.0.2", "8.8.8.8"]), None),
        ("http://hooks.example/", Ok(vec!["127.0.0.2", "10.0.0.1"]), Some("refused_address")),
        ("http://hooks.example/", unknown(), Some("dns")),
        ("http://hooks.example/", Ok(Vec::new()), Some("dns")),
        // Nothing to look up.
        ("http://127.0.0.2/", unknown(), None),
        ("http://[2606:4700::1111]/", unknown(), None),
    ] {
        let outcome = sender(vec![answer]).look_up(&url.parse().expect("a URL")).await;
        assert_eq!(outcome.as_ref().err().map(Refused::code), expected, "{url} {outcome:?}");
    }
}

#[tokio::test]
async fn a_server_without_tls_is_told_apart() {
    let (url, ..) = both().await;
    let attempt = sender(vec![Ok(vec!["127.0.0.2"])])
        .post(&url.replace("http:", "https:"), Vec::new(), Bytes::new())
        .await;
    assert_eq!(attempt.code(), "tls", "{}", attempt.message());
}
