//! A draft that a change holds. Checks `If-Match` and reads the whole tree.

use serde_json::{Map, Value as Json};

use super::{
    sql::{self, HeldPage},
    tree::{NodeKind, PageCol, PageItem, PageRow, PlacedWidget, Tree, not_found},
    types::Edit,
};
use crate::{
    AuditEntry, Change, Code, Error, FieldError, Result,
    db::{Snapshot, Step, args},
    items::{IfMatch, PlacedRow, rows_of_page, rows_of_page_in},
    pages::{Pages, widgets::values},
};

/// The entity tag of a draft: it changes with every edit.
#[must_use]
pub fn draft_tag(page: i64, rev: i64) -> String {
    format!("\"{page}-{rev}\"")
}

impl Pages {
    /// Holds the page of a node; without a kind, `id` is the page itself.
    pub(super) async fn hold(
        &self,
        change: &mut Change,
        kind: Option<NodeKind>,
        id: i64,
        if_match: &IfMatch,
    ) -> Result<HeldPage> {
        let held = sql::hold(change, kind, id).await?;
        let held = held.ok_or_else(|| kind.map_or_else(|| no_page(id), |k| not_found(k, id)))?;
        let IfMatch::Tags(tags) = if_match else { return Ok(held) };
        if tags.contains(&draft_tag(held.id, held.rev - 1)) {
            return Ok(held);
        }
        let seen = tags.iter().filter_map(|tag| rev_of(tag, held.id)).max().ok_or_else(|| {
            if_match.stale("If-Match is no tag of this page's draft: read that draft first.")
        })?;
        let edits: Vec<Edit> = change.all(sql::EDITS, args![held.id, seen]).await?;
        Err(stale(&edits))
    }

    /// The tree of a draft.
    pub(super) async fn tree_of(&self, snapshot: &mut Snapshot, page: i64) -> Result<Tree> {
        let (columns, dialect) = (self.widgets().columns(), self.base().db().dialect());
        let rows = rows_of_page(dialect, snapshot, &sql::TABLES, &columns, page).await?;
        self.tree(rows)
    }

    /// As [`Pages::tree_of`], as this change sees the draft.
    pub(super) async fn tree_in(&self, change: &mut Change, page: i64) -> Result<Tree> {
        let columns = self.widgets().columns();
        let rows = rows_of_page_in(change, &sql::TABLES, &columns, page).await?;
        self.tree(rows)
    }

    /// Builds the tree from rows. The rows of a table come together, and those of a parent
    /// in order.
    fn tree(&self, rows: Vec<PlacedRow>) -> Result<Tree> {
        let [mut tops, mut cols, mut widgets, mut items]: [Vec<PlacedRow>; 4] = Default::default();
        for row in rows {
            match row.floor {
                0 => tops.push(row),
                1 => cols.push(row),
                2 => widgets.push(row),
                _ => items.push(row),
            }
        }
        let mut tree = Tree::default();
        for top in tops {
            let mut row = PageRow { id: top.id, cols: Vec::new() };
            for col in take_children(&mut cols, top.id) {
                let mut one = PageCol { id: col.id, widgets: Vec::new() };
                for placed in take_children(&mut widgets, col.id) {
                    one.widgets.push(self.widget(placed, &mut items)?);
                }
                row.cols.push(one);
            }
            tree.rows.push(row);
        }
        Ok(tree)
    }

    fn widget(&self, placed: PlacedRow, items: &mut Vec<PlacedRow>) -> Result<PlacedWidget> {
        let name = placed.name.unwrap_or_default();
        // Placed widgets keep the types of their values while their plugin is out of service.
        let found = self.widgets().registered(&name);
        let menu = found.as_ref().map(|widget| &widget.menu);
        let item_menu = found.as_ref().map(|widget| &widget.item_menu);
        let shown = |data: Option<String>, menu| -> Result<Map<String, Json>> {
            let texts: Map<String, Json> =
                serde_json::from_str(data.as_deref().unwrap_or("{}")).map_err(Error::internal)?;
            let value = |(column, text): (String, Json)| {
                let value = values::shown(menu, &column, text.as_str()?);
                (!value.is_null()).then_some((column, value))
            };
            Ok(texts.into_iter().filter_map(value).collect())
        };
        let item = |item: PlacedRow| -> Result<PageItem> {
            Ok(PageItem {
                id: item.id,
                base_id: item.base.unwrap_or(item.id),
                language_short: item.name.unwrap_or_default(),
                data: shown(item.data, item_menu)?,
            })
        };
        Ok(PlacedWidget {
            id: placed.id,
            data: shown(placed.data, menu)?,
            items: take_children(items, placed.id).into_iter().map(item).collect::<Result<_>>()?,
            widget: name,
        })
    }
}

/// Removes the rows of a parent from a list and returns them.
fn take_children(rows: &mut Vec<PlacedRow>, parent: i64) -> Vec<PlacedRow> {
    rows.extract_if(.., |row| row.parent == parent).collect()
}

/// The rev in an entity tag of this page's draft.
fn rev_of(tag: &str, page: i64) -> Option<i64> {
    let (of, rev) = tag.trim_matches('"').split_once('-')?;
    (of.parse() == Ok(page)).then(|| rev.parse().ok())?
}

pub(super) fn no_page(id: i64) -> Error {
    Error::new(Code::NotFound, format!("There is no page with id {id}."))
}

/// The error `stale`. Its fields list the edits of others, newest first.
fn stale(missed: &[Edit]) -> Error {
    let detail = "The draft has changed since you read it: read it again, then repeat the edit.";
    let told = |edit: &Edit| {
        let what = match edit.columns.as_slice() {
            [] => String::new(),
            columns => format!(" ({})", columns.join(", ")),
        };
        let who = edit.actor.name.as_deref().unwrap_or(&edit.actor.kind);
        FieldError {
            field: format!("{} {}", edit.kind, edit.node_id),
            code: "changed",
            message: format!("{}{what} by {who} at {}", edit.action, edit.created_at),
        }
    };
    Error::new(Code::Stale, detail).with_fields(missed.iter().map(told).collect())
}

/// Records an edit for `stale` answers and in the audit log.
pub(super) async fn note(
    change: &mut Change,
    held: &HeldPage,
    action: &'static str,
    node: Option<(NodeKind, i64)>,
    columns: &[&str],
    mut steps: Vec<Step>,
) -> Result<()> {
    let (kind, id) = node.map_or(("page", held.id), |(kind, id)| (kind.as_str(), id));
    steps.extend(sql::edited(change, held, action, (kind, id), columns));
    let table =
        node.map_or("pages", |(kind, _)| sql::table(kind).source.trim_start_matches("cms_"));
    let row = id.to_string();
    change.steps_audited(steps, AuditEntry { action, table, id: &row, columns }).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_name_page_and_edit() {
        assert_eq!(draft_tag(7, 3), "\"7-3\"");
        assert_eq!(rev_of("\"7-3\"", 7), Some(3));
        for other in ["\"8-3\"", "\"7-x\"", "\"abc\"", "W/\"7-3\""] {
            assert_eq!(rev_of(other, 7), None, "{other}");
        }
    }
}
