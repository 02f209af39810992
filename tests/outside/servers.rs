//! The API under other servers: HTTP/2 with many requests on one connection, and actix-web, whose
//! requests have types of their own.

#[path = "../../examples/mounted.rs"]
#[expect(dead_code, reason = "its main is not called")]
mod mounted;

use std::{io, net::SocketAddr};

use actix_web::{App, HttpRequest, HttpResponse, HttpServer, body::SizedStream, web};
use bytes::Bytes;
use cms_core::testing::TestSite;
use cms_http::{Api, Peer};
use futures_util::{StreamExt as _, future::join_all, stream};
use http::{HeaderName, Version, header::CONTENT_LENGTH};
use http_body::Frame;
use http_body_util::{BodyExt as _, StreamBody};
use tokio::{
    net::TcpListener,
    sync::{mpsc, oneshot},
};
use tower_service::Service as _;

#[tokio::test]
async fn many_requests_share_a_connection_of_http_2() {
    let desk = mounted::Desk::new().expect("a manifest");
    let site = TestSite::builder().await.plugin(desk).open().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("its address");
    let (stop, stopped) = oneshot::channel::<()>();
    let served = mounted::serve(site.cms.clone(), listener, async { drop(stopped.await) });
    let served = tokio::spawn(served);

    let client = cms_http::client::transport().expect("a client").http2_prior_knowledge();
    let client = client.build().expect("a client");
    let paid = format!("http://{address}/cms/api/paid");
    let calls = (0..50).map(|n| {
        let body = "x".repeat(n);
        let call = client.post(&paid).header("x-signature", format!("{n} bytes")).body(body);
        async { call.send().await.expect("a reply") }
    });
    for reply in join_all(calls).await {
        assert_eq!((reply.version(), reply.status().as_u16()), (Version::HTTP_2, 202));
        assert_eq!(reply.headers()["x-accepted"], "yes");
    }
    // The authority of the request is the host of the call.
    let document = client.get(format!("http://{address}/cms/api/openapi.json")).send().await;
    let document: serde_json::Value =
        serde_json::from_slice(&document.expect("a reply").bytes().await.expect("its body"))
            .expect("JSON");
    assert_eq!(document["servers"][0]["url"], "/cms");
    assert_eq!(site.fired().await.len(), 50);

    stop.send(()).expect("it serves");
    served.await.expect("no panic").expect("it stops");
}

/// The adapter for actix-web: types of `http` 0.2 become those of `http` 1 and back.
async fn cms(api: web::Data<Api>, request: HttpRequest, mut body: web::Payload) -> HttpResponse {
    let mut asked =
        http::Request::builder().method(request.method().as_str()).uri(request.uri().to_string());
    for (name, value) in request.headers() {
        asked = asked.header(name.as_str(), value.as_bytes());
    }
    if let Some(address) = request.peer_addr() {
        asked = asked.extension(Peer(address));
    }
    // The body of actix stays on its thread: its parts go through a channel of one.
    let (send, mut receive) = mpsc::channel::<io::Result<Bytes>>(1);
    actix_web::rt::spawn(async move {
        while let Some(part) = body.next().await {
            if send.send(part.map_err(io::Error::other)).await.is_err() {
                return;
            }
        }
    });
    let parts = stream::poll_fn(move |context| receive.poll_recv(context));
    let asked = asked.body(StreamBody::new(parts.map(|part| part.map(Frame::data))));
    let Ok(asked) = asked else { return HttpResponse::BadRequest().finish() };

    let mut api = api.get_ref().clone();
    let reply = match api.call(asked).await {
        Ok(reply) => reply,
        Err(never) => match never {},
    };
    let (head, body) = reply.into_parts();
    let status = actix_web::http::StatusCode::from_u16(head.status.as_u16());
    let mut answer = HttpResponse::build(status.expect("a status"));
    for (name, value) in &head.headers {
        answer.append_header((name.as_str(), value.as_bytes()));
    }
    let length = |name: HeaderName| head.headers.get(name)?.to_str().ok()?.parse().ok();
    match length(CONTENT_LENGTH) {
        Some(length) => answer.body(SizedStream::new(length, body.into_data_stream())),
        None => answer.streaming(body.into_data_stream()),
    }
}

#[actix_web::test]
async fn actix_serves_the_api_below_a_path() {
    let desk = mounted::Desk::new().expect("a manifest");
    let site = TestSite::builder().await.plugin(desk).open().await;
    let api = Api::builder(site.cms.clone()).base("/cms").build().expect("an API");
    let shared = web::Data::new(api);
    let server = HttpServer::new(move || {
        App::new().app_data(shared.clone()).route("/cms/{path:.*}", web::to(cms))
    });
    let server = server.workers(1).bind(("127.0.0.1", 0)).expect("a port");
    let address: SocketAddr = server.addrs()[0];
    let server = server.run();
    let handle = server.handle();
    let served = actix_web::rt::spawn(server);

    let client = cms_http::client::transport().expect("a client").build().expect("a client");
    let body = vec![b'x'; 300_000];
    let sent = client.post(format!("http://{address}/cms/api/paid"));
    let sent = sent.header("x-signature", "300000 bytes").body(body).send().await;
    let sent = sent.expect("a reply");
    assert_eq!(sent.status(), 202);
    assert_eq!(sent.headers()["x-accepted"], "yes");
    let closed = client.get(format!("http://{address}/cms/api/backend/keys")).send().await;
    let closed = closed.expect("a reply");
    assert_eq!(closed.status(), 401);
    assert_eq!(closed.headers()["content-type"], "application/problem+json");
    assert_eq!(site.fired().await, ["desk.paid"]);

    handle.stop(true).await;
    served.await.expect("no panic").expect("it stops");
    site.close().await;
}
