//! Deletes a funnel with all of its submissions.

use super::{TABLE, sql as drawn, versions};
use crate::{
    Actor, Change, Error, Result,
    db::{Db, args, statements},
    funnels::{Funnels, record::WhichFunnel},
};

/// Maximum number of submissions that a change removes.
const BATCH: u64 = 500;

impl Funnels {
    /// Deletes a funnel with its nodes, edges, mail rules, versions and submissions, and the mails
    /// that these caused. The first of its language versions becomes the base of the others. A
    /// funnel with more than 500 submissions is hidden at once and sends no more mails, and its
    /// rows are removed in the background. `rev`: the revision that the author has seen.
    pub async fn delete(
        &self,
        change: &mut Change,
        which: WhichFunnel,
        rev: Option<i64>,
    ) -> Result<i64> {
        let id = self.hold_at_rev(change, Some(which), rev).await?.id;
        if let Some(heir) = drawn::first_version(change, id).await? {
            drawn::hand_on(change, id, heir).await?;
        }
        // The funnel comes before its submissions: every change of a submission locks its
        // funnel first.
        bury(change, id).await?;
        if has_more_than(change, id, BATCH).await? {
            drop_waiting(change, id).await?;
        } else {
            empty(change, id, BATCH).await?;
            if !drawn::delete(change, id).await? {
                return Err(Error::internal("a held funnel is gone"));
            }
        }
        change.audit_row("delete", TABLE, id, &[]).await?;
        Ok(id)
    }

    /// Removes the remains of deleted funnels and of deleted keys, and unneeded versions beyond
    /// `retention.funnel_versions`. Returns the number of rows.
    pub(crate) async fn expire(&self) -> Result<u64> {
        let base = &self.0.base;
        let kept = base.settings().retention.funnel_versions;
        let versions = versions::expire(base, kept).await?;
        Ok(versions + self.sweep_deleted().await? + self.expire_owned().await?)
    }

    /// Removes the remains of deleted funnels, some submissions in each change, so that no other
    /// change waits for long. Returns the number of submissions.
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

/// The first $2 submissions of a funnel.
macro_rules! first {
    () => {
        "(select id from cms_formfunnel_submissions where funnel_id = $1 \
         order by started_at, id limit $2)"
    };
}

statements! {
    /// Whether a funnel has more than $2 submissions.
    HAS_MORE = "select exists (select 1 from cms_formfunnel_submissions where funnel_id = $1 \
                limit 1 offset $2)";
    /// Hides the funnel and frees its slug. Slugs of authors have no colon, so none equals
    /// the new slug.
    BURY = "update cms_formfunnels set status = 'deleted', slug = 'deleted:' || id, \
            base_id = null, published_version_id = null, live_slug = null, \
            live_language = null, live_base_id = null where id = $1";
    BURIED = "select id from cms_formfunnels where status = 'deleted' order by id limit 1";
    /// Removes waiting mails of a funnel's visits. Such mails are few: the index of the log finds
    /// them, and each looks for its submission.
    DROP_WAITING = "delete from cms_mails where lower(status) in ('queued', 'sending') \
                    and exists (select 1 from cms_formfunnel_submissions s where s.funnel_id = $1 \
                    and s.id = case when cms_mails.cause like 'funnel submission %' \
                    then cast(substr(cms_mails.cause, 19) as bigint) end)";
    EMPTY_MAILS = concat!(
        "delete from cms_mails where cause in (select 'funnel submission ' || f.id from ",
        first!(), " f)"
    );
    EMPTY = concat!("delete from cms_formfunnel_submissions where id in ", first!());
}

/// Whether a funnel has more than `most` submissions.
async fn has_more_than(change: &mut Change, id: i64, most: u64) -> Result<bool> {
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let (has_more,): (bool,) = change.one(HAS_MORE, args![id, most]).await?;
    Ok(has_more)
}

/// Hides a funnel from everybody. Its rows are removed later.
async fn bury(change: &mut Change, id: i64) -> Result<()> {
    change.run_one(BURY, args![id]).await
}

/// Removes the mails of a funnel's submissions that would still be sent.
async fn drop_waiting(change: &mut Change, id: i64) -> Result<()> {
    change.run(DROP_WAITING, args![id]).await.map(drop)
}

/// A deleted funnel whose rows are still there.
async fn buried(db: &Db) -> Result<Option<i64>> {
    Ok(db.optional::<(i64,)>(BURIED, args![]).await?.map(|(id,)| id))
}

/// Removes some submissions of a funnel with the mails that they caused. Returns how many.
async fn empty(change: &mut Change, id: i64, most: u64) -> Result<u64> {
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    change.run(EMPTY_MAILS, args![id, most]).await?;
    change.run(EMPTY, args![id, most]).await
}
