//! A shop inside an axum server. It has its own customers: they log in with a code sent by mail,
//! place orders and cancel them. Its staff keeps the stock through the API.
//!
//! `cargo run -p cms-examples --example shop`; `CMS_MAIL__FROM` and `CMS_MAIL__SMTP_URL` say how
//! mails are sent (docs/mail.md).

mod answer;
mod customers;
mod orders;
mod stock;
#[cfg(test)]
mod tests;

use std::net::SocketAddr;

use axum::{
    Router,
    extract::{ConnectInfo, Request},
    middleware::{Next, from_fn, from_fn_with_state},
    response::Response,
    routing::{delete, get, post},
};
use cms_core::{
    Builder, Cms, Result,
    settings::{Settings, environment},
};
use cms_http::{Api, Peer};
use tokio::net::TcpListener;

use crate::{
    customers::LOGINS,
    stock::{Order, Product, Shop},
};

type Failure = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let loaded = Settings::load(".".as_ref(), environment(), &[])?;
    let cms = shop(Cms::builder(loaded.settings))?.open().await?;
    // Sends mails and runs the task `tidy`.
    let background = cms.background();
    let api = Api::new(cms.clone())?;
    let stop = api.closing(async { drop(tokio::signal::ctrl_c().await) });
    let shop = application(api).into_make_service_with_connect_info::<SocketAddr>();
    let listener = TcpListener::bind("127.0.0.1:8080").await?;
    axum::serve(listener, shop).with_graceful_shutdown(stop).await?;
    background.stop().await;
    cms.close().await;
    Ok(())
}

/// What the shop adds to a site.
fn shop(builder: Builder) -> Result<Builder> {
    let builder = builder.own_tables(LOGINS).plugin(Shop::new()?);
    Ok(builder.content::<Product>().content::<Order>())
}

/// The routes of the shop. The API answers all other paths.
fn application(api: Api) -> Router {
    Router::new()
        .route("/login", post(customers::log_in))
        .route("/session", post(customers::begin_session).delete(customers::end_session))
        .route("/orders", get(orders::list).post(orders::place))
        .route("/orders/{id}", delete(orders::cancel))
        .with_state(api.cms().clone())
        .route_layer(from_fn_with_state(api.clone(), answer::refuse))
        .fallback_service(api)
        .layer(from_fn(pass_address_on))
}

/// Passes on the client's address, by which shop and API count requests. Tests have no address.
async fn pass_address_on(mut request: Request, next: Next) -> Response {
    let address = request.extensions().get::<ConnectInfo<SocketAddr>>().copied();
    if let Some(ConnectInfo(address)) = address {
        request.extensions_mut().insert(Peer(address));
    }
    next.run(request).await
}
