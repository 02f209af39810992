//! A plugin of the embedding program: it declares a table, and the API serves that table.
//!
//! `cargo run -p cms-examples --example plugin`

use cms_core::{Actor, Cms, Error, Result, items::Query, plugins::Manifest, settings::Settings};
use serde_json::{Map, Value, json};

#[tokio::main]
async fn main() -> Result<()> {
    let folder = tempfile::tempdir().map_err(Error::internal)?;
    println!("{}", tour(folder.path()).await?);
    Ok(())
}

fn shop() -> Result<Manifest> {
    let manifest = json!({
        "id": "shop",
        "name": "Shop",
        "version": "1.0.0",
        "tables": [
            {"name": "customers",
             "columns": [{"name": "email", "type": "text", "required": true, "unique": true}]},
            {"name": "orders", "columns": [
                {"name": "customer_id", "type": "integer", "required": true,
                 "references": "customers"},
                {"name": "total", "type": "decimal", "required": true},
                {"name": "paid", "type": "checkbox", "default": false},
            ]},
        ],
    });
    serde_json::from_value(manifest).map_err(Error::internal)
}

async fn tour(folder: &std::path::Path) -> Result<String> {
    let mut settings = Settings::default();
    settings.dirs.data = folder.to_owned();
    let cms = Cms::builder(settings).plugin(shop()?).open().await?;
    let mut change = cms.change(Actor::Operator).await?;
    cms.items()
        .create(&mut change, "customers", &object(json!({"email": "ada@example.org"})))
        .await?;
    cms.items()
        .create(&mut change, "orders", &object(json!({"customer_id": 1, "total": "19.90"})))
        .await?;
    change.commit().await?;
    let query = Query::parse([("expand", "customer_id")])?;
    Ok(cms.items().get("orders", "1", &query).await?.json().to_owned())
}

fn object(value: Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap_or_default()
}

#[tokio::test]
async fn the_order_is_served_with_its_customer() -> Result<()> {
    let folder = tempfile::tempdir().map_err(Error::internal)?;
    let order =
        r#"{"id":1,"customer_id":{"id":1,"email":"ada@example.org"},"total":19.9,"paid":false}"#;
    assert_eq!(tour(folder.path()).await?, order);
    Ok(())
}
