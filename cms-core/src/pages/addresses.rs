//! Finds values of placed widgets that are not addresses, although their field expects one.

use std::collections::BTreeSet;

use serde_json::{Map, Value as Json};

use super::{
    Pages,
    builder::{NODE_TABLES, Tree},
    sql,
    widgets::{Menu, values},
};
use crate::{
    Error, Result,
    db::args,
    items::{BrokenAddress, placed_after},
};

/// Rows read at once.
const BATCH: usize = 1000;
/// Pages whose trees are read at once.
const TREES: i64 = 20;
/// The widget of a placed row and of an item.
const WIDGET_OF: [&str; 2] =
    ["t.widget", "(select w.widget from cms_page_row_col_widget w where w.id = t.widget_id)"];

impl Pages {
    /// Values of drafts and published pages that should be addresses but are not, `most` at most.
    pub(crate) async fn broken_addresses(&self, most: usize) -> Result<Vec<BrokenAddress>> {
        let mut found = Vec::new();
        let all = self.widgets().all();
        let entries = all.iter().flat_map(|one| one.menu.iter().chain(one.item_menu.iter()));
        let links: BTreeSet<&str> = entries
            .filter(|entry| values::address(entry).is_some())
            .map(|entry| entry.row.as_str())
            .collect();
        let columns: Vec<&str> = links.into_iter().collect();
        let tables = NODE_TABLES.iter().filter(|table| table.has_data);
        for (floor, (table, widget)) in tables.zip(WIDGET_OF).enumerate() {
            let what = ["widget", "item"][floor];
            let mut after = i64::MIN;
            while found.len() < most {
                let db = self.base().db();
                let rows = placed_after(db, table, widget, &columns, after, BATCH).await?;
                let read = rows.len();
                for (id, page, widget, data) in rows {
                    after = id;
                    let data: Map<String, Json> =
                        serde_json::from_str(&data).map_err(Error::internal)?;
                    let named = widget.and_then(|name| self.widgets().find(&name));
                    let Some(widget) = named else { continue };
                    let menu = [&widget.menu, &widget.item_menu][floor];
                    broken(menu, &data, page, &format!("{what} {id}"), &mut found);
                }
                if read < BATCH {
                    break;
                }
            }
        }
        let mut after = i64::MIN;
        while found.len() < most {
            let args = args![after, TREES];
            let rows: Vec<(i64, String)> = self.base().db().all(sql::PUBLISHED_TREES, args).await?;
            let Some((last, _)) = rows.last() else { break };
            after = *last;
            for (page, tree) in &rows {
                let tree: Tree = serde_json::from_str(tree).map_err(Error::internal)?;
                for placed in tree.widgets() {
                    let Some(widget) = self.widgets().find(&placed.widget) else { continue };
                    let at = format!("published widget {}", placed.id);
                    broken(&widget.menu, &placed.data, *page, &at, &mut found);
                    for item in &placed.items {
                        let at = format!("published item {}", item.id);
                        broken(&widget.item_menu, &item.data, *page, &at, &mut found);
                    }
                }
            }
        }
        found.truncate(most);
        Ok(found)
    }
}

fn broken(
    menu: &Menu,
    data: &Map<String, Json>,
    page: i64,
    at: &str,
    found: &mut Vec<BrokenAddress>,
) {
    for entry in menu.iter() {
        let text = data.get(&entry.row).and_then(Json::as_str).filter(|text| !text.is_empty());
        let problem = values::address(entry).zip(text).and_then(|(kind, text)| kind.problem(text));
        found.extend(problem.map(|problem| BrokenAddress {
            table: "pages".to_owned(),
            id: page.to_string(),
            column: format!("{at}: {}", entry.row),
            problem,
        }));
    }
}
