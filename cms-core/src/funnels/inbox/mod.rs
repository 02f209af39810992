//! The inbox: what visitors sent, sorted, noted and assigned by the staff.
//!
//! ```text
//! row      a submission, the columns of lists          query    filters, search and order, read
//! list     lists, one of them, how many in each state  update   one changed, deleted, erased
//! bulk     many changed or deleted at once, undone     people   who can be assigned
//! views    queries that a caller keeps                 export   all as a table, or as JSON lines
//! search   how a text is searched for                  index    the search index, and the counts
//! sql      statements
//! ```

mod bulk;
mod export;
mod index;
mod list;
mod people;
mod query;
mod row;
mod search;
pub(crate) mod sql;
mod update;
mod views;

pub use bulk::{Bulk, BulkDone, BulkOp, Undone};
pub use export::{InboxLines, InboxTable};
pub use list::{InboxCount, InboxCounts, InboxPage};
pub use people::Assignable;
pub use query::{InboxFilter, InboxQuery, InboxView, NewView, ViewQuery};
pub(crate) use row::COLUMNS;
pub(super) use row::inbox;
pub use row::{
    FunnelSubmission, FunnelSubmissionDetail, StoredFile, SubmissionChange, SubmissionFile,
    SubmissionMail,
};
pub(crate) use sql::UNASSIGN;
pub use update::{SubmissionDeletion, SubmissionUpdate, Updated};

use super::settings::INBOX_STATUSES;
use crate::{Actor, Code, Error};

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
