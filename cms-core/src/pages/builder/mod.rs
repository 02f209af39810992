//! The page builder: drafts of pages, what is published of them, and back.
//!
//! ```text
//! tree       a page as rows, columns, widgets and items (pure)
//! diff       what two trees differ in (pure)
//! types      what is said of drafts, edits and revisions
//! hold       a draft that a change holds: If-Match, the tree from its rows
//! edit       nodes added, changed, removed, moved
//! publish    frozen, discarded, restored, copied
//! revisions  drafts and revisions read, and compared
//! schedule   publications and take-offs at a time
//! link       links that show a draft without a login: made, listed, revoked
//! sql        statements
//! ```

mod diff;
mod edit;
mod hold;
pub(crate) mod link;
mod publish;
mod revisions;
mod schedule;
pub(crate) mod sql;
mod tree;
mod types;

use std::sync::{Arc, Weak};

use futures_util::future::BoxFuture;
use serde_json::Value as Json;

pub(super) use self::sql::TABLES as NODE_TABLES;
pub use diff::{Difference, Happened};
pub use hold::draft_tag;
pub use link::{Link, MadeLink};
pub use revisions::{PageState, RevisionTree};
pub use schedule::Schedule;
pub use tree::{MOST_BYTES, NodeKind, PageCol, PageItem, PageRow, PlacedWidget, Tree};
pub use types::{
    Draft, Edited, LeftOut, Move, NewNode, Parent, Plan, Published, Replaced, Revision,
};

use super::{Inner, Pages, TREE, redirects::place, refuse_circle};
use crate::{
    Change, Error, Result,
    items::{AfterWrite, Written},
};

/// Publishes and takes off pages whose `published` callers write as items, keeps the old addresses
/// of published pages that they move or delete, and refuses pages below themselves.
pub(super) struct ByHand(Weak<Inner>);

impl ByHand {
    /// Items know the pages, and pages the items: neither keeps the other from being closed.
    pub(super) fn of(pages: &Arc<Inner>) -> Self {
        Self(Arc::downgrade(pages))
    }
}

impl AfterWrite for ByHand {
    fn written<'c>(
        &'c self,
        change: &'c mut Change,
        written: &'c Written,
        is_new: bool,
    ) -> BoxFuture<'c, Result<()>> {
        Box::pin(async move {
            let changed = |column: &str| written.changed.iter().any(|name| name == column);
            if let (true, Some(page)) = (changed("parent_id"), written.key.as_i64()) {
                // Nothing stands below a new page, so it closes no circle with another change.
                if !is_new {
                    change.lock(TREE).await?;
                }
                refuse_circle(change, super::sql::PAGE_CIRCLE, page).await?;
            }
            let is_switched = changed("published");
            let is_moved = changed("url_rewrite") || changed("language_short");
            let Some(state) = self.0.upgrade().filter(|_| is_switched || is_moved) else {
                return Ok(());
            };
            let pages = Pages(state);
            let parsed = |json: &str| serde_json::from_str::<Json>(json).map_err(Error::internal);
            let record = parsed(&written.json)?;
            let is_published = record["published"] == true;
            if let (true, Some(page)) =
                (is_switched && (is_published || !is_new), record["id"].as_i64())
            {
                pages.published_by_hand(change, page, is_published).await?;
            }
            let before = written.before.as_deref().map(parsed).transpose()?;
            match before.filter(|before| before["published"] == true) {
                Some(before) if !is_published => pages.gone_from(change, place(&before)).await,
                Some(before) if is_moved => pages.moved(change, &before, &record).await,
                _ => Ok(()),
            }
        })
    }

    fn removed<'c>(
        &'c self,
        change: &'c mut Change,
        record: &'c Json,
    ) -> BoxFuture<'c, Result<()>> {
        Box::pin(async move {
            match self.0.upgrade().filter(|_| record["published"] == true) {
                Some(state) => Pages(state).deleted(change, record).await,
                None => Ok(()),
            }
        })
    }
}
