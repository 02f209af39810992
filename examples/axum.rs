//! The API inside an axum application: its routes and ours behind one listener.
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
use tokio::net::TcpListener;

type Failure = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let cms = Cms::open(Settings::default()).await?;
    let listener = TcpListener::bind("127.0.0.1:8080").await?;
    serve(cms, listener, async { drop(tokio::signal::ctrl_c().await) }).await
}

/// Serves until `stop` ends, then finishes open requests and background work.
pub async fn serve(
    cms: Cms,
    listener: TcpListener,
    stop: impl Future<Output = ()> + Send + 'static,
) -> Result<(), Failure> {
    // Delivers webhooks, writes counters, removes old rows.
    let background = cms.background();
    let api = Api::new(cms.clone())?;
    // Ends event streams too: otherwise the shutdown would wait for them.
    let stop = api.closing(stop);
    let application = application(api).into_make_service_with_connect_info::<SocketAddr>();
    axum::serve(listener, application).with_graceful_shutdown(stop).await?;
    background.stop().await;
    cms.close().await;
    Ok(())
}

/// `Api` is a tower service, so it can be the fallback: the CMS answers whatever the application
/// does not.
pub fn application(api: Api) -> Router {
    Router::new()
        .route("/hello", get(async || "from the application"))
        .fallback_service(api)
        .layer(from_fn(pass_address_on))
}

/// The CMS limits requests by client address. Without `Peer` all visitors count as one client: all
/// of them together may send 100 requests a minute.
async fn pass_address_on(
    ConnectInfo(address): ConnectInfo<SocketAddr>,
    mut request: Request,
    next: Next,
) -> Response {
    request.extensions_mut().insert(Peer(address));
    next.run(request).await
}
