//! `user.registered`: a visitor registered.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::Id;
use crate::events::{EventData, Payload};

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
