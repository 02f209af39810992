//! The data of events of embedding programs: orders, registrations, subscriptions, deployments.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value as Json};

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

/// A visitor registered at the website. Backend users are not meant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UserRegistered {
    /// Who registered.
    pub user: RegisteredUser,
}

/// A user of the website. Only the id is required.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RegisteredUser {
    /// The user's id in the program that knows the users.
    pub id: Id,
    /// The user's name, up to 200 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("maxLength" = 200))]
    pub username: Option<String>,
    /// The user's address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("maxLength" = 254, "pattern" = "^[^@\\s]+@[^@\\s]+$"))]
    #[schemars(extend("examples" = ["ada@example.org"]))]
    pub email: Option<String>,
    /// The user's language, such as `en`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("maxLength" = 35))]
    pub language_short: Option<String>,
    /// What else the program tells.
    #[serde(flatten)]
    pub more: Map<String, Json>,
}

impl RegisteredUser {
    /// A user of whom only the id is known.
    pub fn new(id: impl Into<Id>) -> Self {
        Self { id: id.into(), username: None, email: None, language_short: None, more: Map::new() }
    }
}

impl EventData for UserRegistered {
    const NAME: &'static str = "user.registered";
}

impl Payload for UserRegistered {
    fn example() -> Self {
        let user = RegisteredUser {
            username: Some("ada".to_owned()),
            email: Some("ada@example.org".to_owned()),
            language_short: Some("en".to_owned()),
            ..RegisteredUser::new(12)
        };
        Self { user }
    }
}

/// Somebody subscribed to the newsletter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EmailmarketingSubscribed {
    /// Who subscribed.
    pub subscriber: Subscriber,
}

/// A subscriber. Only the address is required.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Subscriber {
    /// The address that the newsletter goes to.
    #[schemars(extend("maxLength" = 254, "pattern" = "^[^@\\s]+@[^@\\s]+$"))]
    #[schemars(extend("examples" = ["ada@example.org"]))]
    pub email: String,
    /// Which newsletter, up to 200 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("maxLength" = 200))]
    pub list: Option<String>,
    /// Whether the owner of the address has confirmed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmed: Option<bool>,
    /// The subscriber's language, such as `en`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("maxLength" = 35))]
    pub language_short: Option<String>,
    /// What else the program tells.
    #[serde(flatten)]
    pub more: Map<String, Json>,
}

impl Subscriber {
    /// A subscriber of whom only the address is known.
    pub fn new(email: impl Into<String>) -> Self {
        Self {
            email: email.into(),
            list: None,
            confirmed: None,
            language_short: None,
            more: Map::new(),
        }
    }
}

impl EventData for EmailmarketingSubscribed {
    const NAME: &'static str = "emailmarketing.subscribed";
}

impl Payload for EmailmarketingSubscribed {
    fn example() -> Self {
        let subscriber = Subscriber {
            list: Some("news".to_owned()),
            confirmed: Some(true),
            language_short: Some("en".to_owned()),
            ..Subscriber::new("ada@example.org")
        };
        Self { subscriber }
    }
}

/// A deployment has ended, well or not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DeploymentCompleted {
    /// The deployment.
    pub deployment: Deployment,
}

/// A deployment. Only target and status are required.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Deployment {
    /// What was deployed to: 1 to 200 characters, such as `production`.
    #[schemars(extend("minLength" = 1, "maxLength" = 200))]
    pub target: String,
    /// How it ended.
    pub status: DeploymentStatus,
    /// Its id in the program that deploys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<Id>,
    /// What was deployed, up to 200 characters: a version, a commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("maxLength" = 200))]
    pub version: Option<String>,
    /// Where it can be seen, up to 2000 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("maxLength" = 2000))]
    pub url: Option<String>,
    /// When it began, as RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub started_at: Option<String>,
    /// How long it took, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// What the program says about it, up to 10000 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("maxLength" = 10_000))]
    pub message: Option<String>,
    /// What else the program tells.
    #[serde(flatten)]
    pub more: Map<String, Json>,
}

/// How a deployment ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum DeploymentStatus {
    /// The target has what was deployed.
    Succeeded,
    /// The target is as it was, or broken.
    Failed,
}

impl Deployment {
    /// A deployment of which only target and status are known.
    pub fn new(target: impl Into<String>, status: DeploymentStatus) -> Self {
        Self {
            target: target.into(),
            status,
            id: None,
            version: None,
            url: None,
            started_at: None,
            duration_ms: None,
            message: None,
            more: Map::new(),
        }
    }
}

impl EventData for DeploymentCompleted {
    const NAME: &'static str = "deployment.completed";
}

impl Payload for DeploymentCompleted {
    fn example() -> Self {
        let deployment = Deployment {
            id: Some("20261121-3".into()),
            version: Some("1.4.0".to_owned()),
            url: Some("https://www.example.org/".to_owned()),
            started_at: Some("2026-11-21T09:28:11Z".to_owned()),
            duration_ms: Some(108_400),
            ..Deployment::new("production", DeploymentStatus::Succeeded)
        };
        Self { deployment }
    }
}

/// An id that another program gave: a number, or 1 to 200 characters.
///
/// ```
/// use cms_core::events::Id;
/// assert_eq!(Id::from(7), Id::Number(7));
/// assert_eq!(Id::from("A-7"), Id::Text("A-7".to_owned()));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Id {
    /// A number.
    Number(i64),
    /// A text, such as a UUID.
    Text(String),
}

impl From<i64> for Id {
    fn from(id: i64) -> Self {
        Self::Number(id)
    }
}

impl From<&str> for Id {
    fn from(id: &str) -> Self {
        Self::Text(id.to_owned())
    }
}

impl From<String> for Id {
    fn from(id: String) -> Self {
        Self::Text(id)
    }
}

impl JsonSchema for Id {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Id".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": ["integer", "string"], "minLength": 1, "maxLength": 200})
    }
}
