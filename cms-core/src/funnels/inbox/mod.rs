//! The inbox: what visitors sent, sorted, noted and assigned by the staff.
//!
//! ```text
//! columns  what lists show and can be asked for      query    filters, search and order, read
//! row      a submission in a list, and whole         list     lists, and how many in each state
//! detail   one, with the way that it took            files    files that visitors sent
//! update   one changed, one deleted                  people   who can be assigned
//! bulk     many changed or deleted in one change     undo     the last of these taken back
//! view     a query that a caller keeps              views    those of a caller
//! export   all as a table, or as lines of JSON        events   what events tell
//! erase    a person's submissions gone for good
//! search   where a text is searched for              index    what is kept for it and for counts
//! sql      statements
//! ```

mod bulk;
mod columns;
mod detail;
mod engines;
mod erase;
mod events;
mod export;
mod files;
mod index;
mod list;
mod people;
mod query;
mod row;
mod search;
pub(crate) mod sql;
mod undo;
mod update;
mod view;
mod views;

pub use bulk::{Bulk, BulkDone, BulkOp};
pub(super) use columns::inbox;
pub use export::{InboxLines, InboxTable};
pub use list::{InboxCount, InboxCounts, InboxPage};
pub use people::Assignable;
pub use query::{InboxFilter, InboxQuery};
pub use row::{
    FunnelSubmission, FunnelSubmissionDetail, StoredFile, SubmissionChange, SubmissionFile,
    SubmissionMail,
};
pub use undo::Undone;
pub use update::{SubmissionDeletion, SubmissionUpdate, Updated};
pub use view::{InboxView, NewView, ViewQuery};

use super::settings::INBOX_STATUSES;
use crate::{Actor, Code, Error};

/// The table's name in the audit log.
const TABLE: &str = "formfunnel_submissions";

fn none(id: i64) -> Error {
    Error::new(Code::NotFound, format!("There is no submission with id {id}."))
}

/// Whose bulk changes and views they are. The operator's are shared by all who open the folder.
fn owner(actor: &Actor) -> String {
    match actor.columns() {
        (kind, Some(id), _) => format!("{kind}:{id}"),
        (kind, None, Some(name)) => format!("{kind}:{name}"),
        (kind, None, None) => kind.to_owned(),
    }
}
