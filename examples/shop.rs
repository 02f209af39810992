//! A plugin in Rust with all that a manifest declares: `../cms-cli/src/shop.rs`. This program
//! serves it as an embedding program would, and buys something.
//!
//! `cargo run -p cms-examples --example shop`

#[path = "../cms-cli/src/shop.rs"]
mod shop;

use bytes::Bytes;
use cms_core::{Actor, Cms, Error, Result, settings::Settings};
use cms_http::Api;
use http_body_util::{BodyExt, Full};
use serde_json::json;

#[tokio::main]
async fn main() -> Result<()> {
    let folder = tempfile::tempdir().map_err(Error::internal)?;
    for line in tour(folder.path()).await? {
        println!("{line}");
    }
    Ok(())
}

/// What the shop's endpoints answer to a visitor.
async fn tour(folder: &std::path::Path) -> Result<[String; 2]> {
    let mut settings = Settings::default();
    settings.dirs.data = folder.to_owned();
    let cms = Cms::builder(settings).plugin(shop::Shop::new()?).open().await?;
    let mut change = cms.change(Actor::Operator).await?;
    let bell = json!({"name": "Bell", "price": "9.90", "kind": "part"});
    let bell = bell.as_object().cloned().unwrap_or_default();
    cms.items().create(&mut change, "products", &bell).await?;
    change.commit().await?;
    let api = Api::new(cms.clone())?;
    let purchase = json!({"product_id": 1, "mail": "ada@example.org", "amount": 2}).to_string();
    let replies = [
        ask(&api, http::Request::get("/api/bikeshop_products?kind=part"), String::new()).await?,
        ask(&api, http::Request::post("/api/bikeshop_purchase"), purchase).await?,
    ];
    cms.close().await;
    Ok(replies)
}

async fn ask(api: &Api, request: http::request::Builder, body: String) -> Result<String> {
    let request = request.header("host", "shop.test").header("content-type", "application/json");
    let request = request.body(Full::new(Bytes::from(body))).map_err(Error::internal)?;
    let body = api.handle(request).await.into_body().collect().await?.to_bytes();
    Ok(String::from_utf8_lossy(&body).into_owned())
}

#[tokio::test]
async fn a_visitor_sees_the_offers_and_buys() -> Result<()> {
    let folder = tempfile::tempdir().map_err(Error::internal)?;
    let offers = r#"{"data":[{"id":1,"kind":"part","name":"Bell","on_sale":true,"price":9.9}]}"#;
    assert_eq!(tour(folder.path()).await?, [offers, r#"{"data":{"purchase":1}}"#]);
    Ok(())
}
