//! The chapters of docs/embedding.md on endpoints and serving, on a real socket.

#[path = "../../examples/mounted.rs"]
#[expect(dead_code, reason = "its main is not called")]
mod mounted;

use cms_core::testing::TestSite;
use cms_http::{Api, testing::ask};
use serde_json::json;
use tokio::{net::TcpListener, sync::oneshot};

#[tokio::test]
async fn the_application_serves_the_api_below_a_path_and_stops() {
    let desk = mounted::Desk::new().expect("a manifest");
    let site = TestSite::builder().await.plugin(desk).open().await;
    mounted::make_group(&site.cms).await.expect("a group");
    site.fired().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("its address");
    let (stop, stopped) = oneshot::channel::<()>();
    let served = mounted::serve(site.cms.clone(), listener, async { drop(stopped.await) });
    let served = tokio::spawn(served);

    let client = cms_http::client::transport().expect("a client").build().expect("a client");
    let paid = format!("http://{address}/cms/api/paid");
    let sent = client.post(&paid).header("x-signature", "4 bytes").body("paid").send().await;
    let sent = sent.expect("a reply");
    assert_eq!(sent.status(), 202);
    assert_eq!(sent.headers()["x-accepted"], "yes");
    let health = client.get(format!("http://{address}/cms/healthz")).send().await.expect("a reply");
    assert_eq!(health.status(), 200);
    let noted = client.post(format!("http://{address}/payments"));
    let noted = noted.header("authorization", "Bearer anna-was-here").send().await;
    assert_eq!(noted.expect("a reply").status(), 204);
    assert_eq!(site.fired().await, ["desk.paid", "desk.paid"]);

    stop.send(()).expect("it serves");
    served.await.expect("no panic").expect("it stops");
}

#[tokio::test]
async fn an_endpoint_sees_the_whole_request() {
    let desk = mounted::Desk::new().expect("a manifest");
    let site = TestSite::builder().await.plugin(desk).open().await;
    let api = Api::new(site.cms.clone()).expect("an API");
    let wrong = ask(&api, "POST /api/paid").header("content-type", "text/plain");
    let wrong = wrong.header("x-signature", "9 bytes").body("paid");
    assert_eq!(wrong.expect(400).await.data(), json!({"seen": "9 bytes"}));
    site.close().await;
}
