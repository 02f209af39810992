//! A funnel goes, with all that visitors sent.

pub(in crate::funnels) mod sql;

use super::{audit, sql as drawn, versions::sql as versions};
use crate::{
    Actor, Change, Error, Result,
    funnels::{Funnels, record::WhichFunnel},
};

/// Submissions that a change removes at most.
const BATCH: u64 = 500;

impl Funnels {
    /// Deletes a funnel with its nodes, edges, mail rules, versions and submissions. The first of
    /// its language versions becomes the base of the others. Of a funnel with very many submissions
    /// nothing can be found any more, and these are removed in the background. `rev`: what its
    /// author has seen.
    ///
    /// # Errors
    /// `not_found`; `rev_conflict`.
    pub async fn delete(
        &self,
        change: &mut Change,
        which: WhichFunnel,
        rev: Option<i64>,
    ) -> Result<i64> {
        let id = self.held(change, Some(which), rev).await?.id;
        if let Some(heir) = drawn::first_version(change, id).await? {
            drawn::hand_on(change, id, heir).await?;
        }
        if sql::has_more_than(change, id, BATCH).await? {
            sql::bury(change, id).await?;
        } else if !drawn::delete(change, id).await? {
            return Err(Error::internal("a held funnel is gone"));
        }
        audit(change, "delete", id, &[]).await?;
        Ok(id)
    }

    /// Removes what deleted funnels have left, and versions that nothing needs any more, if there
    /// are more than `retention` says. Returns the number of rows.
    ///
    /// # Errors
    /// As every write.
    pub(crate) async fn expire(&self) -> Result<u64> {
        let base = &self.0.base;
        let kept = base.settings().retention.funnel_versions;
        let versions = versions::expire(base, kept).await?;
        Ok(versions + self.sweep_deleted().await?)
    }

    /// Removes what deleted funnels have left, some submissions in each change, so that nobody
    /// waits for long. Returns their number.
    async fn sweep_deleted(&self) -> Result<u64> {
        let base = &self.0.base;
        let mut all = 0;
        while let Some(id) = sql::buried(base.db()).await? {
            let mut change = base.change(Actor::System).await?;
            let removed = sql::empty(&mut change, id, BATCH).await?;
            if removed < BATCH {
                drawn::delete(&mut change, id).await?;
            }
            change.commit().await?;
            all += removed;
        }
        Ok(all)
    }
}
