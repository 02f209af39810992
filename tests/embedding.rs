//! Programs that embed a site: their webhooks are delivered, and their visitors are told apart.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use axum::{
    Router,
    extract::{ConnectInfo, Request},
    middleware::{Next, from_fn},
};
use cms_core::{Actor, Cms, Work, settings::Settings, webhooks::NewSubscription};
use cms_http::{Api, Peer};
use serde_json::json;

use crate::support::receiver::Receiver;

/// A site in `folder` that may deliver to loopback.
async fn site(folder: &std::path::Path) -> Cms {
    let mut settings = Settings::default();
    settings.dirs.data = folder.to_owned();
    settings.webhooks.allow_http = true;
    settings.webhooks.allow_cidrs = vec!["127.0.0.0/8".parse().unwrap()];
    settings.encryption_key =
        Some(cms_core::Vault::new_key(&cms_core::Random::system()).unwrap().into());
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

/// Waits until a delivery has arrived; the test ends after ten seconds without one.
async fn arrival(receiver: &Receiver) -> serde_json::Value {
    let arrived = async {
        while receiver.count() == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), arrived).await.expect("a delivery");
    receiver.deliveries()[0].json()
}

#[tokio::test]
async fn the_core_alone_delivers_webhooks() {
    let (folder, receiver) = (tempfile::tempdir().unwrap(), Receiver::start(200).await);
    let cms = site(folder.path()).await;
    subscribe(&cms, &receiver).await;
    let background = cms.background();
    write(&cms).await;
    assert_eq!(arrival(&receiver).await["event"], "item.settings.created");
    background.stop().await;
    assert_eq!(cms.webhooks().outcomes().delivered, 1, "the stop waits for what is under way");
    cms.close().await;
}

#[tokio::test]
async fn a_process_may_leave_deliveries_to_others() {
    let (folder, receiver) = (tempfile::tempdir().unwrap(), Receiver::start(200).await);
    let cms = site(folder.path()).await;
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
    let (folder, receiver) = (tempfile::tempdir().unwrap(), Receiver::start(200).await);
    let cms = site(folder.path()).await;
    subscribe(&cms, &receiver).await;
    let background = cms.background();
    let pass_on =
        async |ConnectInfo(address): ConnectInfo<SocketAddr>, mut request: Request, next: Next| {
            request.extensions_mut().insert(Peer(address));
            next.run(request).await
        };
    let api = Api::new(cms.clone()).unwrap();
    let application = Router::new().fallback_service(api).layer(from_fn(pass_on));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let stop = Arc::new(tokio::sync::Notify::new());
    let stopped = stop.clone();
    let service = application.into_make_service_with_connect_info::<SocketAddr>();
    let serving = tokio::spawn(async move {
        let stopped = async move { stopped.notified().await };
        axum::serve(listener, service).with_graceful_shutdown(stopped).await
    });

    let key = {
        let mut change = cms.change(Actor::Operator).await.unwrap();
        let new = serde_json::from_value(json!({"name": "writer", "rights": [{"endpoint": "*"}]}));
        let all = [cms_core::keys::Right::everything()];
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
    background.stop().await;
    cms.close().await;
}
