//! The inbox: what visitors sent, sorted, noted and assigned by the staff. This file has the users
//! who can be assigned, and views: queries of the inbox that a caller saves under a name.
//!
//! ```text
//! row      a submission, the columns of lists          query    filters, search and order, read
//! list     lists, counts, one of them, the export      update   one changed, deleted, erased
//! bulk     many changed or deleted at once, undone     search   how a text is searched for
//! sql      statements
//! ```

mod bulk;
mod list;
mod query;
mod row;
mod search;
pub(crate) mod sql;
mod update;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use bulk::{Bulk, BulkDone, BulkOp, Undone};
pub use list::{InboxCount, InboxCounts, InboxLines, InboxPage, InboxTable};
pub use query::{InboxFilter, InboxQuery, InboxView, NewView, ViewQuery};
pub(crate) use row::COLUMNS;
pub(super) use row::inbox;
pub use row::{
    FunnelSubmission, FunnelSubmissionDetail, StoredFile, SubmissionChange, SubmissionFile,
    SubmissionMail,
};
pub(crate) use sql::UNASSIGN;
pub use update::{SubmissionDeletion, SubmissionUpdate, Updated};

use self::row::kind;
use super::{Funnels, settings::INBOX_STATUSES};
use crate::{
    Actor, AuditEntry, Change, Code, Error, Page, Result, accounts, db::args, items::Query, plain,
};

/// The table's name in the audit log.
const TABLE: &str = "formfunnel_submissions";

fn none(id: i64) -> Error {
    Error::new(Code::NotFound, format!("There is no submission with id {id}."))
}

/// The owner of bulk changes and views. All operators of the site share theirs.
fn owner(actor: &Actor) -> String {
    match actor.columns() {
        (kind, Some(id), _) => format!("{kind}:{id}"),
        (kind, None, Some(name)) => format!("{kind}:{name}"),
        (kind, None, None) => kind.to_owned(),
    }
}

/// The permission to read the inbox.
const MAY_VIEW: &str = "formfunnel_inbox_view";

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
        let page = accounts::holders(&self.0.base, query, MAY_VIEW).await?;
        Ok(page.map(|(id, username)| Assignable { id, username }))
    }
}

/// Whether the user is switched on and may see the inbox.
async fn is_assignable(change: &mut Change, user: i64) -> Result<bool> {
    let person = accounts::person(change, user).await?;
    Ok(person.is_some_and(|person| person.active && person.rights.may(MAY_VIEW)))
}

/// Refuses a user who cannot be assigned.
async fn check_assignable(change: &mut Change, user: i64, field: &str) -> Result<()> {
    match is_assignable(change, user).await? {
        true => Ok(()),
        false => Err(Error::invalid_field(
            field,
            "unknown",
            "the id of a user who is switched on and may see the inbox",
        )),
    }
}

/// The table's name in the audit log.
const VIEW_TABLE: &str = "formfunnel_views";
/// Maximum number of views of a caller.
const VIEWS: i64 = 100;
/// Maximum characters of a name.
const NAME: usize = 100;

impl Funnels {
    /// The views of a caller, by name; at most 100.
    pub async fn views(&self, of: &Actor) -> Result<Vec<InboxView>> {
        self.0.base.db().all(sql::VIEWS, args![owner(of), VIEWS]).await
    }

    /// Saves a view of the caller.
    ///
    /// # Errors
    /// `validation_failed` for a query that cannot be read, or for too many views.
    pub async fn save_view(&self, change: &mut Change, new: NewView) -> Result<InboxView> {
        let length = new.name.chars().count();
        if length == 0 || length > NAME || new.name.trim() != new.name {
            let why = "1 to 100 characters are expected, with no blank at either end";
            return Err(Error::invalid_field("name", "format", why));
        }
        if let Some(fault) = plain::problem("name", &new.name) {
            return Err(Error::invalid(vec![fault]));
        }
        let query = new.query.filter.query("query.filter")?;
        self.0.inbox.check(&query.0).map_err(|error| at("query.filter", &error))?;
        if let Some(sort) = &new.query.sort {
            sorted(sort)?;
        }
        let owner = owner(change.actor());
        let user = match change.actor() {
            Actor::User { id, .. } => Some(*id),
            _ => None,
        };
        let text = serde_json::to_string(&new.query).map_err(Error::internal)?;
        let args = args![&owner, user, &new.name, text, change.now()];
        let view: InboxView = change.one(sql::SAVE_VIEW, args).await?;
        let (count,): (i64,) = change.one(sql::COUNT_VIEWS, args![owner, VIEWS + 1]).await?;
        if count > VIEWS {
            let why = format!("at most {VIEWS} views: delete one");
            return Err(Error::invalid_field("name", "range", why));
        }
        audit(change, "save", view.id).await?;
        Ok(view)
    }

    /// Deletes a view of the caller.
    ///
    /// # Errors
    /// `not_found`, also for a view of somebody else.
    pub async fn delete_view(&self, change: &mut Change, id: i64) -> Result<()> {
        let owner = owner(change.actor());
        if change.run(sql::DELETE_VIEW, args![owner, id]).await? == 0 {
            return Err(Error::new(Code::NotFound, format!("You have no view with id {id}.")));
        }
        audit(change, "delete", id).await
    }

    /// Removes the views and bulk changes of deleted keys and users. Returns the number of rows.
    pub(super) async fn expire_owned(&self) -> Result<u64> {
        let base = &self.0.base;
        // Usually there are none, and a needless change would hold up other writers.
        let owners: Vec<(String,)> = base.db().all(sql::GONE_OWNERS, args![]).await?;
        if owners.is_empty() {
            return Ok(0);
        }
        let (mut change, mut removed) = (base.change(Actor::System).await?, 0);
        for (owner,) in &owners {
            removed += change.run(sql::DELETE_VIEWS, args![owner]).await?;
            removed += change.run(sql::DELETE_BULKS, args![owner]).await?;
        }
        change.commit().await?;
        Ok(removed)
    }
}

async fn audit(change: &mut Change, action: &'static str, id: i64) -> Result<()> {
    let id = id.to_string();
    change.audit(AuditEntry { action, table: VIEW_TABLE, id: &id, columns: &[] }).await
}

fn at(field: &str, error: &Error) -> Error {
    Error::invalid_field(field, "format", error.detail().trim_end_matches('.').to_owned())
}

fn sorted(sort: &str) -> Result<()> {
    let query = InboxQuery::parse([("sort", sort)]).map_err(|error| at("query.sort", &error))?;
    let unknown = query.0.sort.iter().find(|(name, _)| kind(name).is_none());
    match unknown {
        Some((name, _)) => {
            let why = format!("there is no column {name:?} to sort by");
            Err(Error::invalid_field("query.sort", "unknown", why))
        }
        None => Ok(()),
    }
}
