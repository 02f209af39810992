//! The caller's last bulk change of status or assignment taken back: what it changed, and nothing
//! that others have changed since.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    BulkOp,
    bulk::{Update, by_parts},
    owner, sql,
};
use crate::{
    Change, Code, Error, Result,
    funnels::{
        Funnels,
        counters::{self, TURN},
    },
};

/// What an undo did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "BulkOfSubmissionsUndone")]
#[non_exhaustive]
pub struct Undone {
    /// What was taken back: `set_status` or `assign`.
    pub op: String,
    /// Submissions that are as they were before.
    pub restored: i64,
    /// Those that somebody else has changed since: they stay.
    pub changed_since: i64,
    /// Those that were deleted since.
    pub gone: i64,
}

impl Funnels {
    /// Takes the caller's last bulk change back. A second call finds none.
    ///
    /// # Errors
    /// `not_found` when there is none.
    pub async fn undo(&self, change: &mut Change) -> Result<Undone> {
        change.lock(TURN).await?;
        counters::sql::hold_funnels(change).await?;
        let owner = owner(change.actor());
        let (id, op, changed) = sql::last_bulk(change, &owner).await?.ok_or_else(|| {
            Error::new(Code::NotFound, "There is no bulk change of yours to take back.")
        })?;
        let left = sql::rows(change, id).await?;
        let earlier = match op == BulkOp::SetStatus.as_str() {
            true => Update::EarlierStatus,
            false => Update::EarlierAssigned,
        };
        let restored = by_parts(change, id, earlier).await?;
        sql::drop_bulk(change, id).await?;
        Ok(Undone { op, restored, changed_since: left - restored, gone: changed - left })
    }
}
