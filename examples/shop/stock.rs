//! Products and orders, and their rules, whoever writes: a customer, an editor or an
//! import over the API.

use cms_core::{
    Code, Error, Result, content,
    events::EventData,
    items::{Write, WriteKind},
    plugins::{Handlers, Manifest, Plugin},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use crate::customers::tidy;

content! {
    #[derive(Clone, Debug, Serialize, Deserialize)]
    pub struct Product in "products" {
        pub id: i64,
        pub name: String,
        pub price_cents: i64,
        pub stock: i64,
    }
}

content! {
    #[derive(Clone, Debug, Serialize, Deserialize)]
    pub struct Order in "orders" {
        pub id: i64,
        pub customer: String,
        pub product_id: i64,
        pub amount: i64,
        pub price_cents: Option<i64>,
        pub cancelled: bool,
    }
}

/// The event `shop.ordered`.
#[derive(Serialize)]
pub struct Ordered {
    pub order: i64,
}

impl EventData for Ordered {
    const NAME: &'static str = "shop.ordered";
}

pub struct Shop(Manifest);

impl Shop {
    pub fn new() -> Result<Self> {
        let manifest = json!({"id": "shop", "tables": [
            {"name": "products", "columns": [
                {"name": "name", "type": "text", "required": true, "unique": true},
                {"name": "price_cents", "type": "integer", "required": true},
                {"name": "stock", "type": "integer", "required": true},
            ]},
            {"name": "orders", "columns": [
                {"name": "customer", "type": "text", "required": true},
                {"name": "product_id", "type": "integer", "required": true,
                    "references": "products"},
                {"name": "amount", "type": "integer", "required": true},
                {"name": "price_cents", "type": "integer"},
                {"name": "cancelled", "type": "boolean", "required": true, "default": false},
            ], "indexes": [["customer"]]},
        ],
        "webhook_events": [{"name": Ordered::NAME, "description": "An order was placed."}],
        "tasks": [{"name": "tidy", "interval_s": 3600, "handler": "tidy"}]});
        Ok(Self(serde_json::from_value(manifest).map_err(Error::internal)?))
    }
}

impl Plugin for Shop {
    fn manifest(&self) -> Manifest {
        self.0.clone()
    }

    fn handlers(&self) -> Handlers {
        let handlers = Handlers::default().task("tidy", tidy);
        handlers.before("products", "check", check).before("orders", "take", take)
    }
}

/// Refuses a price or a stock below 0 or above 100 million.
async fn check(write: Write<'_>) -> Result<()> {
    for column in ["price_cents", "stock"] {
        let is_wrong = |number| !(0..=100_000_000).contains(&number);
        if write.value(column).as_i64().is_some_and(is_wrong) {
            return Err(write.refuse(column, "is from 0 to 100 million"));
        }
    }
    Ok(())
}

/// Takes the amount of an order from the stock. A cancelled or deleted order puts it back.
async fn take(mut write: Write<'_>) -> Result<()> {
    let before = write.old().map_or(0, |old| held(&old["amount"], &old["cancelled"]));
    let after = match (write.kind(), write.value("amount").as_i64()) {
        (WriteKind::Delete, _) => 0,
        (_, Some(1..=100)) => held(write.value("amount"), write.value("cancelled")),
        _ => return Err(write.refuse("amount", "order 1 to 100")),
    };
    let product = write.value("product_id").clone();
    if write.old().is_some_and(|old| old["product_id"] != product) {
        return Err(write.refuse("product_id", "an order keeps its product"));
    }
    let product = product.as_i64().unwrap_or_default();
    // Locks the row until the end of the change, so that the last piece is never sold twice.
    let sql = "update products set stock = stock - $1 where id = $2 and stock >= $1 \
               returning price_cents";
    let taken = write.items.sql(write.change, sql).touches(["products"]);
    let taken = taken.bind(after - before).bind(product).optional::<(i64,)>();
    let Some((price_cents,)) = taken.await? else {
        return Err(match write.items.of::<Product>().get_in(write.change, product).await {
            Ok(of) => Error::new(Code::Conflict, format!("{} of {} are left.", of.stock, of.name)),
            Err(error) if error.code() == Code::NotFound => {
                write.refuse("product_id", "there is no such product")
            }
            Err(error) => error,
        });
    };
    if write.kind() == WriteKind::Create {
        write.set("price_cents", price_cents);
    }
    Ok(())
}

fn held(amount: &Json, cancelled: &Json) -> i64 {
    if cancelled == true { 0 } else { amount.as_i64().unwrap_or_default() }
}
