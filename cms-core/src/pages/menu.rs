//! Menus as trees.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::{Pages, TREE, refuse_circle, sql};
use crate::{Change, Code, Error, Result, base::Base, db::args, items::Written};

/// An item of a menu.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct MenuItem {
    /// Its id.
    pub id: i64,
    /// Text to show.
    pub title: String,
    /// Address that the item leads to.
    pub url: String,
    /// `_self` or `_blank`.
    pub target: String,
    /// Items below it.
    pub children: Vec<MenuItem>,
}

type Row = (i64, Option<i64>, String, String, String);

impl Pages {
    /// The menu of this name; empty for an unknown name. At most 1,000 items.
    pub async fn menu(&self, name: &str, language: Option<&str>) -> Result<Vec<MenuItem>> {
        let language = language
            .or_else(|| self.0.base.settings().languages.first().map(String::as_str))
            .unwrap_or("en");
        read(&self.0.base, name, language).await
    }
}

/// A menu as a tree.
pub(super) async fn read(base: &Base, name: &str, language: &str) -> Result<Vec<MenuItem>> {
    Ok(tree(base.db().all(sql::MENU, args![name, language]).await?))
}

/// Builds the tree. Leaves out items whose parent is missing or below the item itself.
fn tree(rows: Vec<Row>) -> Vec<MenuItem> {
    let mut children: HashMap<Option<i64>, Vec<Row>> = HashMap::new();
    for row in rows {
        children.entry(row.1).or_default().push(row);
    }
    below(None, &mut children)
}

fn below(parent: Option<i64>, children: &mut HashMap<Option<i64>, Vec<Row>>) -> Vec<MenuItem> {
    // Each list is removed when used, so a circle ends.
    let rows = children.remove(&parent).unwrap_or_default();
    rows.into_iter()
        .map(|(id, _, title, url, target)| MenuItem {
            id,
            title,
            url,
            target,
            children: below(Some(id), children),
        })
        .collect()
}

/// Whether a write of such columns may move an item away from its parent or its children. A new
/// item has no children.
pub(super) fn is_moved(has: impl Fn(&str) -> bool, is_new: bool) -> bool {
    has("parent_id") || (!is_new && (has("menu") || has("language_short")))
}

/// Refuses an item written below itself, or in a menu or language other than its parent's.
pub(super) async fn item_written(change: &mut Change, written: &Written) -> Result<()> {
    let has = |column: &str| written.has_changed(column);
    let (true, Some(id)) = (is_moved(has, written.is_new()), written.key.as_i64()) else {
        return Ok(());
    };
    if has("parent_id") {
        refuse_circle(change, sql::MENU_CIRCLE, id).await?;
    }
    let (above, below): (i64, i64) = change.one(sql::MENU_MISFITS, args![id]).await?;
    if above > 0 {
        let message = "it names an item of another menu or language: name one of the same, or \
                       write null";
        return Err(Error::invalid_field("parent_id", "unknown", message));
    }
    if below > 0 {
        let column = if has("menu") { "menu" } else { "language_short" };
        let message = format!(
            "{} in the former menu and language: write null into the parent_id of {} first",
            stand_below(below),
            them(below)
        );
        return Err(Error::invalid_field(column, "refused", message));
    }
    Ok(())
}

/// Refuses to remove an item that has children: the table would remove these too, without an
/// event, an audit row or a permission check.
pub(super) async fn removing_item(change: &mut Change, record: &Json) -> Result<()> {
    let Some(id) = record["id"].as_i64() else { return Ok(()) };
    change.lock(TREE).await?;
    let (below,): (i64,) = change.one(sql::MENU_BELOW, args![id]).await?;
    if below == 0 {
        return Ok(());
    }
    let detail =
        format!("{} (parent_id {id}): delete or move {} first.", stand_below(below), them(below));
    Err(Error::new(Code::Conflict, detail))
}

fn stand_below(items: i64) -> String {
    match items {
        1 => "1 item stands below this one".to_owned(),
        many => format!("{many} items stand below this one"),
    }
}

fn them(items: i64) -> &'static str {
    if items == 1 { "it" } else { "them" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_stand_below_their_parents_and_circles_end() {
        let row = |id, parent| (id, parent, format!("t{id}"), format!("/{id}"), "_self".to_owned());
        let tree = tree(vec![
            row(1, None),
            row(2, Some(1)),
            row(3, None),
            row(4, Some(2)),
            row(5, Some(6)),
            row(6, Some(5)),
            row(7, Some(99)),
        ]);
        let ids: Vec<_> = tree.iter().map(|item| item.id).collect();
        assert_eq!(ids, [1, 3]);
        assert_eq!(tree[0].children[0].children[0].id, 4);
    }
}
