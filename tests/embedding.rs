//! Programs that embed a site: their webhooks are delivered, and their visitors are told apart.

#[path = "../examples/axum.rs"]
#[expect(dead_code, reason = "its main listens to a fixed port")]
mod axum_program;

use std::{net::SocketAddr, sync::Arc};

use axum::extract::ConnectInfo;
use cms_core::{Actor, Cms, Work, settings::Settings, webhooks::NewSubscription};
use cms_http::Api;
use http_body_util::{BodyExt, Empty};
use serde_json::json;
use tower_service::Service as _;

use crate::support::{Receiver, TestDatabase, log::Log, until, webhooks::open};

/// A site that may deliver to loopback, with the limiter of an operator.
async fn site(database: &TestDatabase) -> Cms {
    let mut settings = database.settings();
    open(&mut settings);
    settings.limiter = Settings::default().limiter;
    Cms::open(settings).await.unwrap()
}

async fn subscribe(cms: &Cms, receiver: &Receiver) {
    let mut change = cms.change(Actor::Operator).await.unwrap();
    let new = json!({"name": "shop", "url": receiver.url, "events": ["item.settings.created"]});
    let new: NewSubscription = serde_json::from_value(new).unwrap();
    cms.webhooks().create(&mut change, new).await.unwrap();
    change.commit().await.unwrap();
}

async fn write(cms: &Cms) {
    let mut change = cms.change(Actor::Operator).await.unwrap();
    let record = json!({"name": "claim", "value": "Hello", "public": true});
    cms.items().create(&mut change, "settings", record.as_object().unwrap()).await.unwrap();
    change.commit().await.unwrap();
}

/// What the first delivery says, once it has arrived.
async fn arrival(receiver: &Receiver) -> serde_json::Value {
    until("a delivery", async || receiver.count() > 0).await;
    receiver.deliveries()[0].json()
}

/// Requests that the visitor may still make.
fn left(headers: &http::HeaderMap) -> Option<u32> {
    headers.get("x-ratelimit-remaining")?.to_str().ok()?.parse().ok()
}

#[tokio::test]
async fn the_core_alone_delivers_webhooks() {
    let (database, receiver) = (TestDatabase::new().await, Receiver::start(200).await);
    let cms = site(&database).await;
    subscribe(&cms, &receiver).await;
    let background = cms.background();
    write(&cms).await;
    assert_eq!(arrival(&receiver).await["event"], "item.settings.created");
    background.stop().await;
    assert_eq!(cms.webhooks().outcomes().done, 1, "the stop waits for what is under way");
    cms.close().await;
}

#[tokio::test]
async fn a_process_may_leave_deliveries_to_others() {
    let (database, receiver) = (TestDatabase::new().await, Receiver::start(200).await);
    let cms = site(&database).await;
    subscribe(&cms, &receiver).await;
    let background = cms.background_of(&[Work::Upkeep]);
    write(&cms).await;
    assert_eq!(cms.webhooks().worker_state(), "none");
    background.stop().await;
    assert_eq!(cms.webhooks().depth().await.unwrap().by_status["pending"], 1);
    cms.close().await;
}

#[tokio::test]
async fn an_axum_program_delivers_webhooks() {
    let (database, receiver) = (TestDatabase::new().await, Receiver::start(200).await);
    let cms = site(&database).await;
    subscribe(&cms, &receiver).await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let stop = Arc::new(tokio::sync::Notify::new());
    let stopped = stop.clone();
    let stopped = async move { stopped.notified().await };
    let serving = tokio::spawn(axum_program::serve(cms.clone(), listener, stopped));

    let key = {
        let mut change = cms.change(Actor::Operator).await.unwrap();
        let new = serde_json::from_value(json!({"name": "writer", "rights": [{"endpoint": "*"}]}));
        let all = [cms_core::access::Right::everything()];
        let (_, key) = cms.keys().create(&mut change, &all, new.unwrap()).await.unwrap();
        change.commit().await.unwrap();
        key
    };
    let reply = cms_http::client::transport()
        .unwrap()
        .build()
        .unwrap()
        .post(format!("http://{address}/api/backend/item?table=settings"))
        .header("X-Api-Key", key.expose())
        .header("Content-Type", "application/json")
        .body(json!({"name": "claim", "value": "Hello", "public": true}).to_string())
        .send()
        .await
        .unwrap();
    assert_eq!(reply.status(), 201);
    assert_eq!(arrival(&receiver).await["data"]["record"]["name"], "claim");

    stop.notify_one();
    serving.await.unwrap().unwrap();
    assert_eq!(cms.webhooks().outcomes().done, 1, "the end waits for what is under way");
}

#[tokio::test]
async fn an_axum_program_has_routes_of_its_own_and_tells_visitors_apart() {
    let database = TestDatabase::new().await;
    let cms = site(&database).await;
    let mut application = axum_program::application(Api::new(cms.clone()).unwrap());
    let mut ask = async |host: u8, path: &str| {
        let visitor = ConnectInfo(SocketAddr::from(([192, 0, 2, host], 50_000)));
        let request = http::Request::get(path).extension(visitor).body(axum::body::Body::empty());
        let reply = application.call(request.unwrap()).await.unwrap();
        let left = left(reply.headers());
        (left, reply.into_body().collect().await.unwrap().to_bytes())
    };
    assert_eq!(ask(1, "/hello").await, (None, "from the application".into()));
    for _ in 0..20 {
        assert_eq!(ask(1, "/api/settings").await.1, r#"{"data":{}}"#);
    }
    let (first, other) = (ask(1, "/api/settings").await.0, ask(2, "/api/settings").await.0);
    assert_eq!(other, Some(99), "of 100 requests a minute");
    assert!(first < other, "{first:?}");
    cms.close().await;
}

#[tokio::test]
async fn without_addresses_all_visitors_count_as_one_and_the_log_is_told_once() {
    let database = TestDatabase::new().await;
    let cms = site(&database).await;
    let api = Api::new(cms.clone()).unwrap();
    let log = Log::begin();
    let mut last = None;
    for _ in 0..20 {
        let request = http::Request::get("/api/settings").body(Empty::<bytes::Bytes>::new());
        let reply = api.handle(request.unwrap()).await;
        assert_eq!(reply.status(), 200);
        last = left(reply.headers());
    }
    let log = log.end();
    assert!(last < Some(90), "{last:?}");
    assert_eq!(log.matches("cms_http::Peer").count(), 1, "{log}");
    cms.close().await;
}
