//! Who can be assigned: users who are switched on and may see the inbox.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Change, Error, Page, Result,
    accounts::{self, Person},
    funnels::Funnels,
    items::Query,
};

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

fn fits(person: &Person) -> bool {
    person.active && person.rights.may(VIEW)
}

impl Funnels {
    /// Users who can be assigned, a page at a time. Conditions and orders name `id`, `username` and
    /// `active`.
    ///
    /// # Errors
    /// `bad_query`.
    pub async fn assignable_users(&self, query: &Query) -> Result<Page<Assignable>> {
        let page = accounts::holders(&self.0.base, query, VIEW).await?;
        Ok(page.map(|(id, username)| Assignable { id, username }))
    }
}

/// Refuses a user who is switched off or may not see the inbox.
///
/// # Errors
/// `validation_failed`.
pub(super) async fn check(change: &mut Change, user: i64, field: &str) -> Result<()> {
    match accounts::person(change, user).await?.filter(fits) {
        Some(_) => Ok(()),
        None => Err(Error::invalid_field(
            field,
            "unknown",
            "the id of a user who is switched on and may see the inbox",
        )),
    }
}
