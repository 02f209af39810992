//! Publishes drafts, takes pages off, and returns drafts to earlier states.

use std::collections::BTreeSet;

use serde_json::{Map, Value as Json};

use super::{
    hold::{no_page, note},
    schedule::keep,
    sql::{self, HeldPage},
    tree::{NodeKind, Tree},
    types::{LeftOut, Published, Replaced},
};
use crate::{
    Change, Code, Error, Result,
    crypto::sha256_hex,
    db::args,
    events::{PAGE_DRAFT_DISCARDED, PAGE_PUBLISHED, PAGE_TAKEN_OFF, Page, PageData, PageTakenOff},
    items::{At, IfMatch, NewPlaced, add_rows},
    pages::{Pages, redirects::place},
};

impl Pages {
    /// Freezes the draft of a page as a revision and shows it to visitors, with the event
    /// `page.published`. A draft that equals the newest revision gets no new one. When visitors
    /// already see that revision, no event is raised, and only a planned time that is over is
    /// written. A planned publication stays if the page is to be taken off before it.
    ///
    /// # Errors
    /// `not_found`; `stale`. As every write.
    pub async fn publish(
        &self,
        change: &mut Change,
        page: i64,
        if_match: &IfMatch,
    ) -> Result<Published> {
        let held = self.hold(change, None, page, if_match).await?;
        self.publish_held(change, &held).await
    }

    pub(super) async fn publish_held(
        &self,
        change: &mut Change,
        held: &HeldPage,
    ) -> Result<Published> {
        if !held.published {
            self.switch(change, held.id, true).await?;
        }
        self.freeze(change, held, held.published).await
    }

    /// Makes a revision of the draft and shows it. `was_seen`: whether visitors saw the
    /// page before.
    pub(super) async fn freeze(
        &self,
        change: &mut Change,
        held: &HeldPage,
        was_seen: bool,
    ) -> Result<Published> {
        let frozen = self.tree_in(change, held.id).await?.text()?;
        let checksum = sha256_hex(frozen.as_bytes());
        let newest: Option<(i64, String)> = change.optional(sql::NEWEST, args![held.id]).await?;
        let (number, is_new) = match newest {
            Some((number, same)) if same == checksum => (number, false),
            newest => (newest.map_or(1, |(number, _)| number + 1), true),
        };
        let changed = !was_seen || held.revision != Some(number);
        let mut made =
            Published { page_id: held.id, revision: number, checksum, changed, rev: held.rev };
        let over = keep(change, held, true).await?;
        if !changed && over.is_empty() {
            // The draft has not changed, so the entity tags that others hold stay valid.
            sql::release(change, held.id).await?;
            made.rev -= 1;
            return Ok(made);
        }
        if !changed {
            note(change, held, "scheduled", None, &over, Vec::new()).await?;
            return Ok(made);
        }
        let mut steps = Vec::new();
        if is_new {
            steps.push(sql::freeze(change, held.id, number, frozen, &made.checksum));
            // Visitors see the newest revision, so that one is kept.
            let kept = self.base().settings().retention.page_revisions;
            steps.push(sql::cut(held.id, number.saturating_sub_unsigned(kept)));
        }
        if held.revision != Some(number) {
            change.run_one(sql::SHOW, args![held.id, number]).await?;
        }
        note(change, held, "published", None, &["published"], steps).await?;
        change.raise_own(PAGE_PUBLISHED, &page_data(held, number)).await?;
        if !was_seen {
            self.published_at(change, (&held.url, &held.language)).await?;
        }
        change.touch("pages");
        Ok(made)
    }

    /// Hides a page from visitors, with the event `page.taken_off`. Its revisions stay. A planned
    /// take-off is cancelled, unless the page is to be published before it.
    ///
    /// # Errors
    /// `not_found`; `stale`; `conflict` for a page that is not published. As every write.
    pub async fn take_off(
        &self,
        change: &mut Change,
        page: i64,
        if_match: &IfMatch,
    ) -> Result<(i64, i64)> {
        let held = self.hold(change, None, page, if_match).await?;
        if !held.published {
            return Err(Error::new(Code::Conflict, "The page is not published."));
        }
        self.take_off_held(change, &held).await?;
        Ok((held.id, held.rev))
    }

    pub(super) async fn take_off_held(&self, change: &mut Change, held: &HeldPage) -> Result<()> {
        self.switch(change, held.id, false).await?;
        taken_off(change, held).await?;
        self.gone_from(change, (&held.url, &held.language)).await
    }

    /// Removes links that have expired, and the revisions beyond the number in `retention` that
    /// publications have not removed. Returns the number of rows.
    pub(crate) async fn expire(&self) -> Result<u64> {
        let kept = self.base().settings().retention.page_revisions;
        let revisions = sql::expire(self.base(), kept).await?;
        Ok(revisions + self.expire_links().await?)
    }

    /// Returns the draft to the revision that was published last, with the
    /// event `page.draft_discarded`.
    ///
    /// # Errors
    /// `not_found`; `stale`; `conflict` for a page that was never published. As every write.
    pub async fn discard(
        &self,
        change: &mut Change,
        page: i64,
        if_match: &IfMatch,
    ) -> Result<Replaced> {
        let held = self.hold(change, None, page, if_match).await?;
        let number = held.revision.ok_or_else(|| {
            let detail = "The page was never published, so there is nothing to return to: \
                          remove its rows instead.";
            Error::new(Code::Conflict, detail)
        })?;
        let left_out = self.put_back(change, &held, number, "discarded").await?;
        change.raise_own(PAGE_DRAFT_DISCARDED, &page_data(&held, number)).await?;
        Ok(Replaced { page_id: held.id, revision: Some(number), left_out, rev: held.rev })
    }

    /// Replaces the draft with a revision. Visitors see no difference until the draft
    /// is published.
    ///
    /// # Errors
    /// `not_found`; `stale`. As every write.
    pub async fn restore(
        &self,
        change: &mut Change,
        page: i64,
        number: i64,
        if_match: &IfMatch,
    ) -> Result<Replaced> {
        let held = self.hold(change, None, page, if_match).await?;
        let left_out = self.put_back(change, &held, number, "restored").await?;
        Ok(Replaced { page_id: held.id, revision: Some(number), left_out, rev: held.rev })
    }

    /// Replaces the draft of a page with a copy of another page's draft, to begin a translation.
    /// Items remember the item that they are a version of. A draft that is not empty is replaced
    /// only with `replaces`.
    ///
    /// # Errors
    /// `not_found`; `stale`; `conflict` for a draft that is not empty; `validation_failed` for a
    /// copy onto itself. As every write.
    pub async fn copy(
        &self,
        change: &mut Change,
        (from, to): (i64, i64),
        if_match: &IfMatch,
        replaces: bool,
    ) -> Result<Replaced> {
        if from == to {
            let message = "another page is expected";
            return Err(Error::invalid_field("from_page_id", "range", message));
        }
        let held = self.hold(change, None, to, if_match).await?;
        if !replaces && !self.tree_in(change, to).await?.rows.is_empty() {
            let detail = "The draft is not empty: send replace to overwrite it.";
            return Err(Error::new(Code::Conflict, detail));
        }
        sql::exists(&mut *change, from).await?.then_some(()).ok_or_else(|| no_page(from))?;
        let tree = self.tree_in(change, from).await?;
        sql::empty(change, to).await?;
        self.write(change, &held, &tree, false).await?;
        note(change, &held, "copied", None, &[], Vec::new()).await?;
        Ok(Replaced { page_id: held.id, revision: None, left_out: Vec::new(), rev: held.rev })
    }

    /// Does the same as `publish` and `take_off` after a caller has written `published` as
    /// an item.
    pub(super) async fn after_published(
        &self,
        change: &mut Change,
        page: i64,
        published: bool,
    ) -> Result<()> {
        let held = self.hold(change, None, page, &IfMatch::Nothing).await?;
        match published {
            true => self.freeze(change, &held, false).await.map(drop),
            false => taken_off(change, &held).await,
        }
    }

    /// Writes `published` as an item.
    async fn switch(&self, change: &mut Change, page: i64, published: bool) -> Result<()> {
        let body: Map<_, _> = [("published".to_owned(), published.into())].into_iter().collect();
        let id = page.to_string();
        self.items().set(change, "pages", &id, None, &IfMatch::Nothing, &body).await.map(drop)
    }

    /// Replaces the draft with a revision. Returns the values that the draft did not get.
    async fn put_back(
        &self,
        change: &mut Change,
        held: &HeldPage,
        number: i64,
        action: &'static str,
    ) -> Result<Vec<LeftOut>> {
        let frozen = change.optional(sql::TREE, args![held.id, number]).await?;
        let (frozen,): (String,) = frozen.ok_or_else(|| no_revision(held.id, number))?;
        let mut tree: Tree = serde_json::from_str(&frozen).map_err(Error::internal)?;
        let left_out = self.leave_out(&mut tree);
        sql::empty(change, held.id).await?;
        self.write(change, held, &tree, true).await?;
        note(change, held, action, None, &[], Vec::new()).await?;
        Ok(left_out)
    }

    /// Removes values of columns that no widget uses any longer, and of columns that have become
    /// passwords: a revision holds them unsealed, and frozen text is no secret.
    fn leave_out(&self, tree: &mut Tree) -> Vec<LeftOut> {
        let mut left_out = Vec::new();
        let columns = self.widgets().columns();
        let mut clean = |kind, id, data: &mut Map<String, Json>, secret: &BTreeSet<String>| {
            data.retain(|column, _| {
                let stays = columns.contains(column) && !secret.contains(column);
                if !stays {
                    left_out.push(LeftOut { kind, id, column: column.clone() });
                }
                stays
            });
        };
        for widget in tree.widgets_mut() {
            let [own, of_items] = self.widgets().passwords(&widget.widget);
            clean(NodeKind::Widget, widget.id, &mut widget.data, &own);
            for item in &mut widget.items {
                clean(NodeKind::Item, item.id, &mut item.data, &of_items);
            }
        }
        left_out
    }

    /// Writes a tree into an empty draft: one statement for each kind of node.
    async fn write(
        &self,
        change: &mut Change,
        held: &HeldPage,
        tree: &Tree,
        keeps_ids: bool,
    ) -> Result<()> {
        let columns = self.widgets().columns();
        // The parents of the next kind: old id and new id.
        let mut above = vec![(held.id, held.id)];
        for kind in NodeKind::ALL {
            let nodes: Vec<_> =
                tree.nodes(held.id).into_iter().filter(|node| node.kind == kind).collect();
            let row = |node: &super::tree::Node<'_>| {
                let old = node.spot.parent;
                let parent = above.iter().find(|(was, _)| *was == old).map(|(_, is)| *is);
                let item = tree.item(node.id).filter(|_| kind == NodeKind::Item);
                NewPlaced {
                    id: keeps_ids.then_some(node.id),
                    parent: parent.unwrap_or(old),
                    position: node.spot.at as i64,
                    name: match item {
                        Some((_, item)) if keeps_ids => Some(item.language_short.clone()),
                        Some(_) => Some(held.language.clone()),
                        None => node.widget.map(str::to_owned),
                    },
                    base: item.map(|(_, item)| item.base_id),
                    data: node.data.map(super::edit::stored).unwrap_or_default(),
                }
            };
            let rows: Vec<_> = nodes.iter().map(row).collect();
            let table = sql::table(kind);
            let written = add_rows(change, table, &columns, held.id, &rows).await?;
            let new = |(node, row): (&super::tree::Node<'_>, &NewPlaced)| {
                let stands = |at: &&At| (at.parent, at.position) == (row.parent, row.position);
                Some((node.id, written.iter().find(stands)?.id))
            };
            above = nodes.iter().zip(&rows).filter_map(new).collect();
        }
        Ok(())
    }
}

/// Records that a page was taken off, and updates its planned times.
async fn taken_off(change: &mut Change, held: &HeldPage) -> Result<()> {
    keep(change, held, false).await?;
    note(change, held, "taken off", None, &["published"], Vec::new()).await?;
    let data = PageTakenOff { page: page(held), revision: held.revision };
    change.raise_own(PAGE_TAKEN_OFF, &data).await.map(drop)
}

impl Pages {
    /// Handles the deletion of a page that visitors saw. `record`: the page as an item.
    pub(in crate::pages) async fn deleted(&self, change: &mut Change, record: &Json) -> Result<()> {
        let text = |name: &str| record[name].as_str().map(str::to_owned);
        let page = Page {
            id: record["id"].as_i64().unwrap_or_default(),
            base_id: record["base_id"].as_i64(),
            language_short: text("language_short").unwrap_or_default(),
            url_rewrite: text("url_rewrite").unwrap_or_default(),
            title: text("title").unwrap_or_default(),
            view: text("view"),
        };
        change.raise_own(PAGE_TAKEN_OFF, &PageTakenOff { page, revision: None }).await?;
        self.gone_from(change, place(record)).await
    }
}

/// The event data of a page and its revision.
fn page_data(held: &HeldPage, revision: i64) -> PageData {
    PageData { page: page(held), revision }
}

fn page(held: &HeldPage) -> Page {
    Page {
        id: held.id,
        base_id: held.base,
        language_short: held.language.clone(),
        url_rewrite: held.url.clone(),
        title: held.title.clone(),
        view: held.view.clone(),
    }
}

pub(super) fn no_revision(page: i64, number: i64) -> Error {
    Error::new(Code::NotFound, format!("The page {page} has no revision {number}."))
}
