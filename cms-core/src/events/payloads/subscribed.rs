//! `emailmarketing.subscribed`: somebody subscribed to the newsletter.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use crate::events::{EventData, Payload};

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
