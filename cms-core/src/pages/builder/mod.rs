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

use super::{Pages, redirects::place, refuse_circle};
use crate::{Change, Error, Result, items::Written};

impl Pages {
    /// Handles a page written as an item. Publishes it or takes it off when `published` changed,
    /// keeps the old address of a published page that moves, and refuses a page below itself.
    pub(super) async fn page_written(&self, change: &mut Change, written: &Written) -> Result<()> {
        if let (true, Some(page)) = (written.has_changed("parent_id"), written.key.as_i64()) {
            refuse_circle(change, super::sql::PAGE_CIRCLE, page).await?;
        }
        let is_switched = written.has_changed("published");
        let is_moved = written.has_changed("url_rewrite") || written.has_changed("language_short");
        if !is_switched && !is_moved {
            return Ok(());
        }
        let parsed = |json: &str| serde_json::from_str::<Json>(json).map_err(Error::internal);
        let record = parsed(written.record.json())?;
        let is_published = record["published"] == true;
        if let (true, Some(page)) =
            (is_switched && (is_published || !written.is_new()), record["id"].as_i64())
        {
            self.after_published(change, page, is_published).await?;
        }
        let before = written.before.as_ref().map(|before| parsed(before.json())).transpose()?;
        match before.filter(|before| before["published"] == true) {
            Some(before) if !is_published => self.gone_from(change, place(&before)).await,
            Some(before) if is_moved => self.moved(change, &before, &record).await,
            _ => Ok(()),
        }
    }
}
