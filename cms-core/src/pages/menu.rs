//! Menus as trees.

use std::collections::HashMap;

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::{Pages, TREE, refuse_circle, sql};
use crate::{
    Change, Code, Error, Result,
    base::Base,
    db::args,
    items::{AfterWrite, Written},
};

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
    ///
    /// # Errors
    /// `unavailable` when the database cannot be reached.
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

/// Leaves out items whose parent is missing or lies below themselves.
fn tree(rows: Vec<Row>) -> Vec<MenuItem> {
    let mut children: HashMap<Option<i64>, Vec<Row>> = HashMap::new();
    for row in rows {
        children.entry(row.1).or_default().push(row);
    }
    below(None, &mut children)
}

fn below(parent: Option<i64>, children: &mut HashMap<Option<i64>, Vec<Row>>) -> Vec<MenuItem> {
    // Each list is taken once, so a circle ends.
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

/// Checks items that callers write: an item stands in the menu and language of its parent.
pub(super) struct CheckedItems;

impl AfterWrite for CheckedItems {
    fn written<'c>(
        &'c self,
        change: &'c mut Change,
        written: &'c Written,
        is_new: bool,
    ) -> BoxFuture<'c, Result<()>> {
        Box::pin(async move {
            let changed = |column: &str| written.changed.iter().any(|name| name == column);
            let is_moved = ["parent_id", "menu", "language_short"].into_iter().any(changed);
            let (true, Some(id)) = (is_moved, written.key.as_i64()) else { return Ok(()) };
            let record: Json = serde_json::from_str(&written.json).map_err(Error::internal)?;
            if is_new && record["parent_id"].is_null() {
                return Ok(());
            }
            change.lock(TREE).await?;
            if changed("parent_id") {
                refuse_circle(change, sql::MENU_CIRCLE, id).await?;
            }
            let (above, below): (i64, i64) = change.one(sql::MENU_MISFITS, args![id]).await?;
            if above > 0 {
                let message = "it names an item of another menu or language: name one of the same, \
                               or write null";
                return Err(Error::invalid_field("parent_id", "unknown", message));
            }
            if below > 0 {
                let column = if changed("menu") { "menu" } else { "language_short" };
                let message = format!(
                    "{} in the former menu and language: write null into the parent_id of {} first",
                    stand_below(below),
                    them(below)
                );
                return Err(Error::invalid_field(column, "refused", message));
            }
            Ok(())
        })
    }

    /// The table takes items below away with their parent, without event, audit row or right.
    fn removing<'c>(
        &'c self,
        change: &'c mut Change,
        record: &'c Json,
    ) -> BoxFuture<'c, Result<()>> {
        Box::pin(async move {
            let Some(id) = record["id"].as_i64() else { return Ok(()) };
            // First: who holds the turn must not wait for a row.
            let parent = change.dialect().of(&sql::MENU_PARENT);
            change.all::<(i64,)>(parent, args![id]).await?;
            change.lock(TREE).await?;
            let (below,): (i64,) = change.one(sql::MENU_BELOW, args![id]).await?;
            if below == 0 {
                return Ok(());
            }
            let detail = format!(
                "{} (parent_id {id}): delete or move {} first.",
                stand_below(below),
                them(below)
            );
            Err(Error::new(Code::Conflict, detail))
        })
    }

    fn removed<'c>(&'c self, _: &'c mut Change, _: &'c Json) -> BoxFuture<'c, Result<()>> {
        Box::pin(async { Ok(()) })
    }
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
