//! The data of `auth.login` and `auth.logout`.

use schemars::JsonSchema;
use serde::Serialize;

use crate::events::Payload;

/// Who logged in or out.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct LoginData {
    /// The user.
    user: User,
}

/// A backend user.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct User {
    /// The user's id.
    pub(crate) id: i64,
    /// The user's name.
    pub(crate) username: String,
}

impl LoginData {
    pub(crate) fn of(id: i64, username: &str) -> Self {
        Self { user: User { id, username: username.to_owned() } }
    }
}

impl Payload for LoginData {
    fn example() -> Self {
        Self::of(1, "ana")
    }
}
