//! A funnel goes, with all that visitors sent.

use super::{audit, sql as drawn, versions};
use crate::{
    Actor, Change, Error, Result,
    db::{Db, args, statements},
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
        if has_more_than(change, id, BATCH).await? {
            bury(change, id).await?;
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
        while let Some(id) = buried(base.db()).await? {
            let mut change = base.change(Actor::System).await?;
            let removed = empty(&mut change, id, BATCH).await?;
            if removed < BATCH {
                drawn::delete(&mut change, id).await?;
            }
            change.commit().await?;
            all += removed;
        }
        Ok(all)
    }
}

statements! {
    /// Whether a funnel has more submissions than that.
    HAS_MORE = "select exists (select 1 from cms_formfunnel_submissions where funnel_id = $1 \
                limit 1 offset $2)";
    /// Nobody finds it any more, and its slug is free. Slugs of authors have no colon.
    BURY = "update cms_formfunnels set status = 'deleted', slug = 'deleted:' || id, \
            base_id = null, published_version_id = null, live_slug = null, \
            live_language = null, live_base_id = null where id = $1";
    BURIED = "select id from cms_formfunnels where status = 'deleted' order by id limit 1";
    EMPTY = "delete from cms_formfunnel_submissions where id in (select id from \
             cms_formfunnel_submissions where funnel_id = $1 order by started_at, id limit $2)";
}

/// Whether a funnel has more submissions than that.
async fn has_more_than(change: &mut Change, id: i64, most: u64) -> Result<bool> {
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let (has_more,): (bool,) = change.one(HAS_MORE, args![id, most]).await?;
    Ok(has_more)
}

/// Deletes a funnel for everybody. Its rows go later.
async fn bury(change: &mut Change, id: i64) -> Result<()> {
    change.hit(BURY, args![id]).await
}

/// A deleted funnel whose rows are still there.
async fn buried(db: &Db) -> Result<Option<i64>> {
    Ok(db.optional::<(i64,)>(BURIED, args![]).await?.map(|(id,)| id))
}

/// Removes some submissions of a funnel. Returns how many.
async fn empty(change: &mut Change, id: i64, most: u64) -> Result<u64> {
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    change.run(EMPTY, args![id, most]).await
}
