//! Reads drafts and revisions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    diff::{Difference, between},
    hold::no_page,
    publish::no_revision,
    sql,
    tree::Tree,
    types::{Draft, Revision},
};
use crate::{
    Code, Error, Page, Paging, Result,
    crypto::sha256_hex,
    db::{Snapshot, args},
    ground::ListName,
    items::pages_holding,
    pages::Pages,
};

/// A revision with its tree.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PageRevisionTree")]
#[non_exhaustive]
pub struct RevisionTree {
    /// What is known of it.
    #[serde(flatten)]
    pub revision: Revision,
    /// What was frozen.
    #[serde(flatten)]
    pub tree: Tree,
}

/// A state of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageState {
    /// As it is edited now.
    Draft,
    /// As it was published under this number.
    Revision(i64),
}

impl PageState {
    /// `draft`, or the number of a revision.
    pub fn parse(text: &str) -> Result<Self> {
        match (text, text.parse::<i64>()) {
            ("draft", _) => Ok(Self::Draft),
            (_, Ok(number)) => Ok(Self::Revision(number)),
            _ => Err(Error::new(
                Code::BadQuery,
                format!("{text:?} is no state of a page: write draft or the number of a revision."),
            )),
        }
    }
}

impl Pages {
    /// The draft of a page.
    pub async fn draft(&self, page: i64) -> Result<Draft> {
        let mut snapshot = self.base().db().snapshot().await?;
        let state = sql::state(&mut snapshot, page).await?.ok_or_else(|| no_page(page))?;
        let tree = self.tree_of(&mut snapshot, page).await?;
        snapshot.end().await?;
        let checksum = sha256_hex(tree.text()?.as_bytes());
        Ok(Draft {
            page_id: page,
            rev: state.rev,
            published: state.published,
            revision: state.revision,
            changed: state.checksum.as_ref() != Some(&checksum),
            publish_at: state.publish_at,
            take_off_at: state.take_off_at,
            tree,
        })
    }

    /// The pages whose draft contains a text, and those that show the text to visitors; `most`
    /// of each. The text is a path of the service, so no character in it needs escaping for
    /// the search.
    pub(crate) async fn holding(&self, text: &str, most: usize) -> Result<(Vec<i64>, Vec<i64>)> {
        let (db, columns) = (self.base().db(), self.widgets().columns());
        let drafts = pages_holding(db, &sql::TABLES, &columns, text, most).await?;
        let args = args![format!("%{text}%"), most as i64];
        let showing: Vec<(i64,)> = db.all(sql::SHOWING, args).await?;
        Ok((drafts, showing.into_iter().map(|(id,)| id).collect()))
    }

    /// The revisions of a page, newest first.
    ///
    /// # Errors
    /// `not_found`.
    pub async fn revisions(&self, page: i64, paging: &Paging) -> Result<Page<Revision>> {
        let base = self.base();
        sql::exists(base.db(), page).await?.then_some(()).ok_or_else(|| no_page(page))?;
        let list = base.list(ListName::Revisions).of(page);
        let selected = |before: i64, limit: i64| args![page, before, limit];
        let read =
            async |before, limit| base.db().all(sql::REVISIONS, selected(before, limit)).await;
        let found = Page::newest_first(list, paging, read, |one: &Revision| one.number).await?;
        let all = selected(i64::MAX, i64::MAX);
        found.counted(paging, async || base.db().count_rows(sql::REVISIONS, all).await).await
    }

    /// A revision with its tree.
    pub async fn revision(&self, page: i64, number: i64) -> Result<RevisionTree> {
        let mut snapshot = self.base().db().snapshot().await?;
        let revision = snapshot.optional(sql::REVISION, args![page, number]).await?;
        let revision: Revision = revision.ok_or_else(|| no_revision(page, number))?;
        let tree = self.state_of(&mut snapshot, page, PageState::Revision(number)).await?;
        snapshot.end().await?;
        Ok(RevisionTree { revision, tree })
    }

    /// The differences between two states of a page. Without `from`, compares with the revision
    /// that was published last; a page without one counts as empty.
    pub async fn diff(
        &self,
        page: i64,
        from: Option<PageState>,
        to: PageState,
    ) -> Result<Vec<Difference>> {
        let mut snapshot = self.base().db().snapshot().await?;
        let state = sql::state(&mut snapshot, page).await?.ok_or_else(|| no_page(page))?;
        let from = match from.or(state.revision.map(PageState::Revision)) {
            Some(from) => self.state_of(&mut snapshot, page, from).await?,
            None => Tree::default(),
        };
        let to = self.state_of(&mut snapshot, page, to).await?;
        snapshot.end().await?;
        Ok(between(&from, &to))
    }

    async fn state_of(&self, snapshot: &mut Snapshot, page: i64, state: PageState) -> Result<Tree> {
        match state {
            PageState::Draft => self.tree_of(snapshot, page).await,
            PageState::Revision(number) => {
                let frozen = snapshot.optional(sql::TREE, args![page, number]).await?;
                let (frozen,): (String,) = frozen.ok_or_else(|| no_revision(page, number))?;
                serde_json::from_str(&frozen).map_err(Error::internal)
            }
        }
    }
}
