//! A receiver of webhooks: it checks the signature of the raw body, handles each event once, and
//! answers at once.
//!
//! `WEBHOOK_SECRET=whsec_… cargo run -p cms-examples --example webhook_receiver`, then subscribe
//! it: `cms webhooks create --name try --url http://127.0.0.1:3000/hook --event 'item.*'` at a
//! service with `CMS_WEBHOOKS__ALLOW_HTTP=true` and `CMS_WEBHOOKS__ALLOW_CIDRS=127.0.0.1/32`.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex},
};

use axum::{Router, body::Bytes, extract::State, http::HeaderMap, http::StatusCode, routing::post};
use cms_core::{
    Clock,
    webhooks::{SignedHeaders, verify},
};

type Failure = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let secret = std::env::var("WEBHOOK_SECRET")?;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:3000").await?;
    println!("receiving at http://{}/hook", listener.local_addr()?);
    axum::serve(listener, application(Receiver::new(&secret))).await?;
    Ok(())
}

#[derive(Clone)]
struct Receiver {
    secret: Arc<str>,
    /// Ids of handled events. A program that restarts keeps them in its database, in the
    /// transaction of its own work.
    done: Arc<Mutex<HashSet<String>>>,
}

impl Receiver {
    fn new(secret: &str) -> Self {
        Self { secret: secret.into(), done: Arc::default() }
    }
}

fn application(receiver: Receiver) -> Router {
    Router::new().route("/hook", post(hook)).with_state(receiver)
}

/// `Bytes`, not `Json`: the signature covers the exact bytes of the body.
async fn hook(State(receiver): State<Receiver>, headers: HeaderMap, body: Bytes) -> StatusCode {
    let header = |name| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let received = SignedHeaders {
        id: header("webhook-id"),
        timestamp: header("webhook-timestamp"),
        signature: header("webhook-signature"),
    };
    if let Err(why) = verify(&receiver.secret, &received, &body, Clock::system().now() / 1000) {
        eprintln!("refused: {why}");
        return StatusCode::UNAUTHORIZED;
    }
    // A repeated event: the answer to its first delivery was lost.
    if receiver.done.lock().is_ok_and(|mut done| done.insert(received.id.to_owned())) {
        println!("{} {}", header("x-webhook-event"), String::from_utf8_lossy(&body));
    }
    StatusCode::NO_CONTENT
}

#[tokio::test]
async fn a_real_delivery_is_taken_and_a_forged_one_refused() -> Result<(), Failure> {
    use axum::{body::Body, http::Request};
    use cms_core::{
        Actor, Cms, Secret,
        events::{Order, OrderCreated},
        settings::Settings,
        webhooks::NewSubscription,
    };
    use tower_service::Service;

    let folder = tempfile::tempdir()?;
    let mut settings = Settings::default();
    settings.dirs.data = folder.path().to_owned();
    settings.encryption_key = Some(Secret::new("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="));
    settings.webhooks.allow_http = true;
    settings.webhooks.allow_cidrs = vec!["127.0.0.1/32".parse()?];
    let cms = Cms::open(settings).await?;

    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let new = serde_json::json!({
        "name": "try", "url": format!("http://{}/hook", listener.local_addr()?),
        "events": ["order.created"], "max_retries": 1,
    });
    let mut change = cms.change(Actor::Operator).await?;
    let new: NewSubscription = serde_json::from_value(new)?;
    let (_, secret) = cms.webhooks().create(&mut change, new).await?;
    let order = OrderCreated { order: Order::new(7) };
    let order = change.raise(&order).await?;
    change.commit().await?;

    let receiver = Receiver::new(secret.expose());
    let mut application = application(receiver.clone());
    tokio::spawn(axum::serve(listener, application.clone()).into_future());
    assert_eq!(cms.webhooks().worker().step().await?.done, 1);
    let done = receiver.done.lock().map_err(|e| e.to_string())?.clone();
    assert_eq!(done, HashSet::from([order.id]));

    let forged = Request::post("/hook")
        .header("webhook-id", "x")
        .body(Body::from(r#"{"event": "order.created"}"#))?;
    assert_eq!(application.call(forged).await?.status(), StatusCode::UNAUTHORIZED);
    Ok(())
}
