//! `order.created`: an order was placed in the shop.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value as Json};

use super::Id;
use crate::events::{EventData, Payload};

/// An order was placed in the shop. Where several payment providers take orders, each raises the
/// event for its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OrderCreated {
    /// The order.
    pub order: Order,
}

/// An order. Only its id is required: `Order { total: Some("249.90".into()), ..Order::new(7) }`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Order {
    /// Its id in the shop.
    pub id: Id,
    /// What people call it by, up to 200 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("maxLength" = 200))]
    pub number: Option<String>,
    /// The payment provider, up to 200 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("maxLength" = 200))]
    pub provider: Option<String>,
    /// What the customer pays: a decimal number as text, exact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("pattern" = "^-?[0-9]{1,15}(\\.[0-9]{1,6})?$", "examples" = ["249.90"]))]
    pub total: Option<String>,
    /// The currency of all prices: three letters of ISO 4217.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("pattern" = "^[A-Z]{3}$", "examples" = ["EUR"]))]
    pub currency: Option<String>,
    /// The customer's address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("maxLength" = 254, "pattern" = "^[^@\\s]+@[^@\\s]+$"))]
    #[schemars(extend("examples" = ["ada@example.org"]))]
    pub email: Option<String>,
    /// What was ordered, up to 1000 entries.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("maxItems" = 1000))]
    pub items: Vec<OrderItem>,
    /// What else the shop tells.
    #[serde(flatten)]
    pub more: Map<String, Json>,
}

/// A line of an order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OrderItem {
    /// The article's id in the shop.
    pub id: Id,
    /// Its name, up to 1000 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("maxLength" = 1000))]
    pub title: Option<String>,
    /// How much of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quantity: Option<Number>,
    /// What one costs: a decimal number as text, exact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("pattern" = "^-?[0-9]{1,15}(\\.[0-9]{1,6})?$", "examples" = ["124.95"]))]
    pub price: Option<String>,
    /// What else the shop tells.
    #[serde(flatten)]
    pub more: Map<String, Json>,
}

impl Order {
    /// An order of which only the id is known.
    pub fn new(id: impl Into<Id>) -> Self {
        Self {
            id: id.into(),
            number: None,
            provider: None,
            total: None,
            currency: None,
            email: None,
            items: Vec::new(),
            more: Map::new(),
        }
    }
}

impl OrderItem {
    /// A line of which only the article is known.
    pub fn new(id: impl Into<Id>) -> Self {
        Self { id: id.into(), title: None, quantity: None, price: None, more: Map::new() }
    }
}

impl EventData for OrderCreated {
    const NAME: &'static str = "order.created";
}

impl Payload for OrderCreated {
    fn example() -> Self {
        let item = OrderItem {
            title: Some("Bell".to_owned()),
            quantity: Some(2.into()),
            price: Some("124.95".to_owned()),
            ..OrderItem::new(3)
        };
        let order = Order {
            number: Some("2026-0007".to_owned()),
            provider: Some("invoice".to_owned()),
            total: Some("249.90".to_owned()),
            currency: Some("EUR".to_owned()),
            email: Some("ada@example.org".to_owned()),
            items: vec![item],
            ..Order::new(7)
        };
        Self { order }
    }
}
