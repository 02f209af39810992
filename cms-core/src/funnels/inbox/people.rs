//! Who can be assigned: users who are switched on and may see the inbox.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Change, Error, Page, Paging, Result,
    accounts::{self, Person},
    funnels::Funnels,
    ground::ListName,
};

/// The permission to read the inbox.
const VIEW: &str = "formfunnel_inbox_view";
/// Users that are read at once.
const STEP: i64 = 200;

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
    /// Users who can be assigned, by id, a page at a time.
    ///
    /// # Errors
    /// `bad_query` for a foreign cursor.
    pub async fn assignable_users(&self, paging: &Paging) -> Result<Page<Assignable>> {
        let base = &self.0.base;
        let list = base.list(ListName::Assignable);
        let read = async |mut after, limit: i64| {
            let mut found = Vec::new();
            loop {
                let people = accounts::people(base.db(), after, STEP).await?;
                let Some(last) = people.last().map(|person| person.id) else { break };
                after = last;
                found.extend(people.into_iter().filter(fits));
                if found.len() as i64 >= limit {
                    break;
                }
            }
            found.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
            let shown = |person: Person| Assignable { id: person.id, username: person.username };
            Ok(found.into_iter().map(shown).collect())
        };
        Page::by_id(list, paging, read, |user: &Assignable| user.id).await
    }
}

/// Refuses to assign anybody who could not see it.
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
