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
pub use tree::{
    MOST_BYTES, MOST_COLS, MOST_ITEMS, MOST_ROWS, MOST_WIDGETS, NodeKind, PageCol, PageItem,
    PageRow, PlacedWidget, Tree,
};
pub use types::{
    Draft, Edited, LeftOut, Move, NewNode, Parent, Plan, Published, Replaced, Revision,
};

use super::{Pages, State};
use crate::{
    Change, Error, Result,
    items::{Beside, Written},
};

/// Publishes and takes off pages whose `published` callers write as items, and tells of published
/// pages that they delete.
pub(super) struct ByHand(Weak<State>);

impl ByHand {
    /// Items know the pages, and pages the items: neither keeps the other from being closed.
    pub(super) fn of(pages: &Arc<State>) -> Self {
        Self(Arc::downgrade(pages))
    }
}

impl Beside for ByHand {
    fn written<'c>(
        &'c self,
        change: &'c mut Change,
        written: &'c Written,
        is_new: bool,
    ) -> BoxFuture<'c, Result<()>> {
        Box::pin(async move {
            if !written.changed.iter().any(|name| name == "published") {
                return Ok(());
            }
            let record: Json = serde_json::from_str(&written.json).map_err(Error::internal)?;
            let is_published = record["published"] == true;
            match (self.0.upgrade(), record["id"].as_i64()) {
                (Some(state), Some(page)) if is_published || !is_new => {
                    Pages(state).published_by_hand(change, page, is_published).await
                }
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
            match record["published"] == true {
                true => publish::deleted(change, record).await,
                false => Ok(()),
            }
        })
    }
}
