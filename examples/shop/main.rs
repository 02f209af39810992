//! A shop inside an axum server. It has its own customers: they log in with a code sent by mail,
//! place orders and cancel them. Its staff keeps the stock through the API.
//!
//! `cargo run -p cms-examples --example shop`; `CMS_MAIL__FROM` and `CMS_MAIL__SMTP_URL` say how
//! mails are sent (docs/mail.md).

mod customers;
mod orders;
#[cfg(test)]
mod tests;

use std::net::SocketAddr;

use axum::{Router, middleware::from_fn_with_state};
use cms_core::{
    Builder, Cms, Error, Result,
    plugins::{Handlers, Manifest, Plugin},
    settings::{Settings, environment},
};
use cms_http::Api;
use serde_json::{Value as Json, json};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let loaded = Settings::load(".".as_ref(), environment(), &[])?;
    let cms = shop(Cms::builder(loaded.settings))?.open().await?;
    // Sends mails and runs the task `tidy`.
    let background = cms.background();
    let api = Api::new(cms.clone())?;
    let stop = api.closing(async { drop(tokio::signal::ctrl_c().await) });
    let shop = application(api).into_make_service_with_connect_info::<SocketAddr>();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await?;
    axum::serve(listener, shop).with_graceful_shutdown(stop).await?;
    background.stop().await;
    cms.close().await;
    Ok(())
}

/// The API answers every request, also those to the endpoints of the shop. The shop's own pages
/// would be routes here.
fn application(api: Api) -> Router {
    Router::new().fallback_service(api.clone()).layer(from_fn_with_state(api, customers::introduce))
}

/// What the shop adds to a site.
fn shop(builder: Builder) -> Result<Builder> {
    let manifest = serde_json::from_value(manifest()).map_err(Error::internal)?;
    Ok(builder.own_tables(customers::LOGINS).content::<orders::Order>().plugin(Shop(manifest)))
}

struct Shop(Manifest);

impl Plugin for Shop {
    fn manifest(&self) -> Manifest {
        self.0.clone()
    }

    fn handlers(&self) -> Handlers {
        // The empty lists: replies differ by customer, so the API keeps none of them.
        Handlers::default()
            .endpoint("send_code", &[], customers::send_code)
            .endpoint("log_in", &[], customers::log_in)
            .endpoint("log_out", &[], customers::log_out)
            .endpoint("list", &[], orders::list)
            .endpoint("place", &[], orders::place)
            .endpoint("cancel", &[], orders::cancel)
            .before("products", "check", orders::check)
            .before("orders", "take", orders::take)
            .on_read("products", "ordered", orders::ordered)
            .task("tidy", customers::tidy)
    }
}

fn manifest() -> Json {
    json!({"id": "shop", "tables": [
        {"name": "products", "columns": [
            {"name": "name", "type": "text", "required": true, "unique": true},
            {"name": "price_cents", "type": "integer", "required": true},
            {"name": "stock", "type": "integer", "required": true},
        ]},
        {"name": "orders", "columns": [
            {"name": "customer", "type": "text", "required": true},
            {"name": "product_id", "type": "integer", "required": true, "references": "products"},
            {"name": "amount", "type": "integer", "required": true},
            {"name": "price_cents", "type": "integer"},
            {"name": "cancelled", "type": "boolean", "required": true, "default": false},
        ], "indexes": [["customer"]]},
    ],
    "endpoints": [
        // Each network may send ten requests below `checkout` at once, then one in six seconds.
        endpoint("POST", "checkout/code", "send_code"),
        endpoint("POST", "checkout/login", "log_in"),
        endpoint("POST", "shop/logout", "log_out"),
        endpoint("GET", "shop/orders", "list"),
        endpoint("POST", "shop/order", "place"),
        endpoint("DELETE", "shop/order/{id}", "cancel"),
    ],
    "webhook_events": [{"name": "shop.ordered", "description": "An order was placed."}],
    "tasks": [{"name": "tidy", "interval_s": 3600, "handler": "tidy"}]})
}

/// An endpoint that needs no right in the site, because customers have none. Its handler judges
/// the caller.
fn endpoint(method: &str, path: &str, handler: &str) -> Json {
    json!({"methods": [method], "endpoint": path, "modelPath": handler, "public": true})
}
