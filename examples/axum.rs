//! The API inside an axum application: its own routes beside ours, one listener.
//!
//! `cargo run -p cms-examples --example axum`

use std::net::SocketAddr;

use axum::{
    Router,
    extract::{ConnectInfo, Request},
    middleware::{Next, from_fn},
    response::Response,
    routing::get,
};
use cms_core::{Cms, settings::Settings};
use cms_http::{Api, Peer};

type Failure = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let cms = Cms::open(Settings::default()).await?;
    // Delivers webhooks, writes counters, removes what is old.
    let background = cms.background();
    let application = application(Api::new(cms.clone())?);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await?;
    axum::serve(listener, application.into_make_service_with_connect_info::<SocketAddr>())
        .with_graceful_shutdown(async { drop(tokio::signal::ctrl_c().await) })
        .await?;
    background.stop().await;
    cms.close().await;
    Ok(())
}

/// `Api` is a tower service, so it can be the fallback: the CMS answers whatever the application
/// does not.
fn application(api: Api) -> Router {
    Router::new()
        .route("/hello", get(async || "from the application"))
        .fallback_service(api)
        .layer(from_fn(pass_address_on))
}

/// The CMS counts requests by client address. Without `Peer` all visitors count as one, and
/// together they are refused after 100 requests a minute.
async fn pass_address_on(
    ConnectInfo(address): ConnectInfo<SocketAddr>,
    mut request: Request,
    next: Next,
) -> Response {
    request.extensions_mut().insert(Peer(address));
    next.run(request).await
}

#[tokio::test]
async fn both_answer() -> Result<(), Failure> {
    use http_body_util::BodyExt;
    use tower_service::Service;

    let folder = tempfile::tempdir()?;
    let mut settings = Settings::default();
    settings.dirs.data = folder.path().join("data");
    let mut application = application(Api::new(Cms::open(settings).await?)?);
    for (path, expected) in
        [("/hello", "from the application"), ("/api/settings", r#"{"data":{}}"#)]
    {
        let address = ConnectInfo(SocketAddr::from(([127, 0, 0, 1], 50_000)));
        let request = http::Request::get(path).extension(address).body(axum::body::Body::empty())?;
        let body = application.call(request).await?.into_body().collect().await?.to_bytes();
        assert_eq!(body, expected);
    }
    Ok(())
}
