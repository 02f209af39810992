//! Statements of deletions.

use crate::{
    Change, Result,
    db::{Db, args, statements},
};

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
pub(super) async fn has_more_than(change: &mut Change, id: i64, most: u64) -> Result<bool> {
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let (has_more,): (bool,) = change.one(HAS_MORE, args![id, most]).await?;
    Ok(has_more)
}

/// Deletes a funnel for everybody. Its rows go later.
pub(super) async fn bury(change: &mut Change, id: i64) -> Result<()> {
    change.hit(BURY, args![id]).await
}

/// A deleted funnel whose rows are still there.
pub(super) async fn buried(db: &Db) -> Result<Option<i64>> {
    Ok(db.optional::<(i64,)>(BURIED, args![]).await?.map(|(id,)| id))
}

/// Removes some submissions of a funnel. Returns how many.
pub(super) async fn empty(change: &mut Change, id: i64, most: u64) -> Result<u64> {
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    change.run(EMPTY, args![id, most]).await
}
