//! The baseline: hyper alone, sending a reply that was captured from the service.

use std::{convert::Infallible, io::Read};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Response};
use http_body_util::Full;
use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;

/// Serves the captured reply in the file; prints its address.
pub async fn serve(file: &str) {
    let mut captured = Vec::new();
    std::fs::File::open(file)
        .and_then(|mut file| file.read_to_end(&mut captured))
        .expect("the captured reply");
    let split = captured.windows(4).position(|part| part == b"\r\n\r\n").expect("a head");
    let head = String::from_utf8(captured[..split].to_vec()).expect("a head");
    let body = Bytes::from(captured.split_off(split + 4));
    let mut lines = head.lines();
    let status: u16 = lines
        .next()
        .and_then(|line| line.split(' ').nth(1))
        .and_then(|code| code.parse().ok())
        .expect("a status");
    let mut headers = HeaderMap::new();
    for (name, value) in lines.filter_map(|line| line.split_once(": ")) {
        // hyper adds these two by itself.
        if !["date", "content-length"].contains(&name) {
            headers.insert(
                name.parse::<HeaderName>().expect("a name"),
                HeaderValue::from_str(value).expect("a value"),
            );
        }
    }
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    println!("ready {}", listener.local_addr().expect("an address"));
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        let _ = stream.set_nodelay(true);
        let (headers, body) = (headers.clone(), body.clone());
        let service = service_fn(move |_| {
            let mut response = Response::new(Full::new(body.clone()));
            *response.status_mut() = http::StatusCode::from_u16(status).expect("a status");
            *response.headers_mut() = headers.clone();
            async move { Ok::<_, Infallible>(response) }
        });
        tokio::spawn(async move {
            let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
    }
}
