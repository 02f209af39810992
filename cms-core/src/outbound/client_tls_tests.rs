//! Certificates are always verified; broken connections have codes of their own.

use std::{
    io::{Read, Write},
    net::{Ipv4Addr, TcpListener, TcpStream},
};

use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};
use rustls::{
    ServerConfig, ServerConnection,
    pki_types::{CertificateDer, PrivatePkcs8KeyDer},
};

use super::*;
use std::net::SocketAddr;

/// Resolves every name to this machine.
struct Loopback;

impl Names for Loopback {
    fn look_up(
        &self,
        _: String,
    ) -> futures_util::future::BoxFuture<'static, std::io::Result<Vec<SocketAddr>>> {
        Box::pin(async { Ok(vec![SocketAddr::from((Ipv4Addr::LOCALHOST, 0))]) })
    }
}

fn sender(roots: RootCertStore) -> HttpClient {
    let settings = WebhookSettings {
        allow_http: true,
        allow_cidrs: vec!["127.0.0.1/32".parse().expect("cidr")],
        timeout_s: 5,
        ..WebhookSettings::default()
    };
    HttpClient::with(&settings, Arc::new(Loopback), roots).expect("a sender")
}

/// Calls `talk` for each connection; returns the port.
fn listen(talk: impl Fn(TcpStream) + Send + 'static) -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || listener.incoming().flatten().for_each(talk));
    port
}

/// A receiver named `hooks.example`, and its certificate.
fn secure(is_ca: IsCa) -> (u16, CertificateDer<'static>) {
    let key = KeyPair::generate().expect("a key");
    let mut params = CertificateParams::new(["hooks.example".to_owned()]).expect("a name");
    params.is_ca = is_ca;
    let certificate = params.self_signed(&key).expect("a certificate").der().clone();
    let key = PrivatePkcs8KeyDer::from(key.serialize_der());
    let config =
        ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(vec![certificate.clone()], key.into())
            .expect("a configuration");
    let config = Arc::new(config);
    let port = listen(move |mut stream| {
        let mut tls = ServerConnection::new(config.clone()).expect("a connection");
        let mut stream = rustls::Stream::new(&mut tls, &mut stream);
        // A client that does not trust the certificate disconnects here.
        if stream.read(&mut [0; 1024]).is_ok() {
            let _ = stream
                .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        }
    });
    (port, certificate)
}

#[tokio::test]
async fn only_a_trusted_certificate_with_the_name_is_accepted() {
    let (port, certificate) = secure(IsCa::NoCa);
    let mut trusting = RootCertStore::empty();
    trusting.add(certificate).expect("a root");
    let trusting = sender(trusting);
    let public = sender(RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.into() });
    for (sender, host, code) in [
        (&trusting, "hooks.example", "delivered"),
        (&trusting, "other.example", "tls"),
        (&trusting, "127.0.0.1", "tls"),
        (&public, "hooks.example", "tls"),
    ] {
        let attempt =
            sender.post(&format!("https://{host}:{port}/"), Vec::new(), Bytes::from("{}")).await;
        assert_eq!(attempt.code(), code, "{host}: {}", attempt.message());
    }
}

#[tokio::test]
async fn the_certificate_of_an_authority_is_refused_in_words() {
    let (port, certificate) = secure(IsCa::Ca(BasicConstraints::Unconstrained));
    let mut trusting = RootCertStore::empty();
    trusting.add(certificate).expect("a root");
    let url = format!("https://hooks.example:{port}/");
    let attempt = sender(trusting).post(&url, Vec::new(), Bytes::from("{}")).await;
    assert_eq!(attempt.code(), "tls");
    assert!(attempt.message().ends_with("make one with CA:FALSE"), "{}", attempt.message());
}

#[tokio::test]
async fn a_server_with_old_tls_has_the_code_tls() {
    // The alert protocol_version, as servers that know only TLS 1.1 send it.
    let old = listen(|mut stream| {
        let _ = stream.read(&mut [0; 1024]);
        let _ = stream.write_all(&[0x15, 3, 2, 0, 2, 2, 70]);
    });
    let closing = listen(|mut stream| drop(stream.read(&mut [0; 1024])));
    let sender = sender(RootCertStore::empty());
    for (port, code) in [(old, "tls"), (closing, "connect")] {
        let attempt = sender
            .post(&format!("https://hooks.example:{port}/"), Vec::new(), Bytes::from("{}"))
            .await;
        assert_eq!(attempt.code(), code, "{}", attempt.message());
    }
}

#[tokio::test]
async fn a_reply_that_breaks_off_is_a_failure() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = tokio::io::AsyncReadExt::read(&mut stream, &mut [0; 1024]).await;
            let _ = tokio::io::AsyncWriteExt::write_all(
                &mut stream,
                b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf",
            )
            .await;
            // The connection is reset, not closed.
            stream.set_zero_linger().expect("set");
        }
    });
    let attempt = sender(RootCertStore::empty())
        .post(&format!("http://hooks.example:{port}/"), Vec::new(), Bytes::from("{}"))
        .await;
    assert_eq!(attempt.code(), "protocol", "{}", attempt.message());
}
