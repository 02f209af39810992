//! Menus as trees.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Pages, sql};
use crate::{Result, base::Base, db::args};

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
