//! Funnels as their authors draw them.
//!
//! ```text
//! input      what is sent: a new funnel, a save, mail rules
//! draft      a funnel as it would be, judged
//! write      a draft → rows           tidy      what is stored of what was sent
//! create     new, duplicated         save      saved, mail rules alone
//! publish    versions frozen         versions  versions read again
//! delete     with all that was sent
//! list       lists, one             preview   a step as visitors see it
//! ```

mod addresses;
mod create;
pub(in crate::funnels) mod delete;
mod draft;
mod input;
mod list;
mod preview;
mod publish;
mod save;
pub(super) mod sql;
mod tidy;
pub(super) mod versions;
mod write;

pub use create::Created;
pub use input::{Duplicated, NewFunnel, Routings, Saved};
pub use preview::{Preview, Previewed, RefusedAnswer, Taken};
pub use publish::Published;
pub use save::{SavedFunnel, SavedRoutings};
pub(crate) use versions::VersionCache;

use super::record::WhichFunnel;
use crate::{AuditEntry, Change, Code, Error, Result};

/// The table's name in the audit log.
const TABLE: &str = "formfunnels";

fn missing(which: &WhichFunnel) -> Error {
    Error::new(Code::NotFound, format!("There is no funnel {which}."))
}

async fn audit(change: &mut Change, action: &'static str, id: i64, columns: &[&str]) -> Result<()> {
    let id = id.to_string();
    // Pages show which funnels are published.
    change.touch(TABLE);
    change.audit(AuditEntry { action, table: TABLE, id: &id, columns }).await
}
