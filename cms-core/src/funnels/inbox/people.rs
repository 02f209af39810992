//! Who can be assigned: users who are switched on and may see the inbox.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Change, Error, Page, Result, accounts, funnels::Funnels, items::Query};

/// The permission to read the inbox.
const VIEW: &str = "formfunnel_inbox_view";

/// A user who can be assigned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "AssignableUser")]
#[non_exhaustive]
pub struct Assignable {
    /// The user's id.
    pub id: i64,
    /// The user's name.
    pub username: String,
}

impl Funnels {
    /// Users who can be assigned, a page at a time. Conditions and orders name `id`, `username` and
    /// `active`.
    pub async fn assignable_users(&self, query: &Query) -> Result<Page<Assignable>> {
        let page = accounts::holders(&self.0.base, query, VIEW).await?;
        Ok(page.map(|(id, username)| Assignable { id, username }))
    }
}

/// Whether the user is switched on and may see the inbox.
pub(super) async fn fits(change: &mut Change, user: i64) -> Result<bool> {
    let person = accounts::person(change, user).await?;
    Ok(person.is_some_and(|person| person.active && person.rights.may(VIEW)))
}

/// Refuses a user who cannot be assigned.
pub(super) async fn check(change: &mut Change, user: i64, field: &str) -> Result<()> {
    match fits(change, user).await? {
        true => Ok(()),
        false => Err(Error::invalid_field(
            field,
            "unknown",
            "the id of a user who is switched on and may see the inbox",
        )),
    }
}
