//! A tree as visitors read it: templates, content, and in `pagebuilder_element` the rows of other
//! pages as they are published. All content of a page is made together, that of inner pages too.

use std::collections::BTreeSet;

use serde_json::{Map, Value as Json, json};
use tokio::time::Instant;

use super::{
    Pages,
    builder::{PlacedWidget, Tree},
    parts::Parts,
    published::{ShownCol, ShownRow, ShownWidget},
    widgets::{DEADLINE, ELEMENT, MOST_CONTENT, Widgets, size},
};
use crate::plugins::installed;

/// Puts rows together.
struct Filler<'p> {
    widgets: &'p Widgets,
    parts: &'p Parts,
    /// Bytes that parts may still take.
    room: usize,
    /// Whether there was no room for one.
    short: bool,
}

impl Pages {
    /// The rows of a page with templates and content, and the tables that the content was read
    /// from; None: they must not be kept. Also a draft is filled as for visitors: whoever has a
    /// link to it reads it.
    pub(super) async fn filled(
        &self,
        tree: &Tree,
        (page, language): (i64, &str),
    ) -> (Vec<ShownRow>, Option<Vec<String>>) {
        let (widgets, deadline) = (self.widgets(), Instant::now() + DEADLINE);
        let mut parts = match widgets.provider(ELEMENT) {
            None => self.parts(tree, (page, language), deadline).await,
            Some(_) => Parts::default(),
        };
        parts.keep_shown(tree, page);
        let inner = parts.all.iter().flat_map(|part| part.tree.widgets());
        let placed = tree.widgets().chain(inner).map(|one| {
            let items = one.items.iter().map(|item| item.data.clone()).collect();
            widgets.placed(one.id, &one.widget, language, one.data.clone(), items)
        });
        let placed: Vec<_> = placed.collect();
        let own = tree.widgets().count();
        let reads = widgets.tables(placed.iter().map(|one| one.widget.as_str()));
        let (mut contents, whole) = widgets.contents_of(&placed, false, deadline).await;
        let mut rest = contents.split_off(own).into_iter();
        for part in &mut parts.all {
            part.contents = rest.by_ref().take(part.tree.widgets().count()).collect();
            part.bytes += part.contents.iter().map(size).sum::<usize>();
        }
        let room = MOST_CONTENT.saturating_sub(contents.iter().map(size).sum());
        let mut filler = Filler { widgets, parts: &parts, room, short: parts.short };
        let rows = filler.rows(tree, contents, &[page]);
        if filler.short {
            tracing::warn!(page, "pages that it names are left out: too many, or too large ones");
        }
        // What failed for a moment must not be kept. Templates and content come from plugins.
        let reads = reads.filter(|_| whole && !parts.lack);
        let with_plugins =
            |tables: BTreeSet<String>| tables.into_iter().chain([installed::TABLE.to_owned()]);
        (rows, reads.map(|tables| with_plugins(tables).collect()))
    }
}

impl Filler<'_> {
    /// `chain`: the page that the tree is of, after those that it stands in.
    fn rows(&mut self, tree: &Tree, contents: Vec<Json>, chain: &[i64]) -> Vec<ShownRow> {
        let mut contents = contents.into_iter();
        let mut widget = |placed: &PlacedWidget| {
            let made = contents.next().unwrap_or_default();
            let content = if placed.widget == ELEMENT && made.is_null() {
                self.element(placed, chain)
            } else {
                made
            };
            ShownWidget {
                id: placed.id,
                template: self.widgets.find(&placed.widget).map(|found| found.template.clone()),
                data: with_items(placed),
                widget: placed.widget.clone(),
                content,
            }
        };
        let mut rows = Vec::with_capacity(tree.rows.len());
        for row in &tree.rows {
            let mut cols = Vec::with_capacity(row.cols.len());
            for col in &row.cols {
                let widgets = col.widgets.iter().map(&mut widget).collect();
                cols.push(ShownCol { id: col.id, widgets });
            }
            rows.push(ShownRow { id: row.id, cols });
        }
        rows
    }

    /// The rows of the page that a widget names; null when it shows none.
    fn element(&mut self, placed: &PlacedWidget, chain: &[i64]) -> Json {
        let parts = self.parts;
        let Some(part) = parts.of(placed, chain) else { return Json::Null };
        let Some(rest) = self.room.checked_sub(part.bytes) else {
            self.short = true;
            return Json::Null;
        };
        self.room = rest;
        let rows = self.rows(&part.tree, part.contents.clone(), &[chain, &[part.id]].concat());
        json!({"page_id": part.id, "rows": rows})
    }
}

/// The values of a widget, with its items among them: its component gets nothing else.
fn with_items(placed: &PlacedWidget) -> Map<String, Json> {
    let mut data = placed.data.clone();
    if placed.items.is_empty() {
        return data;
    }
    let items = placed.items.iter().map(|item| {
        let mut values = item.data.clone();
        values.insert("id".to_owned(), item.id.into());
        Json::Object(values)
    });
    data.insert("items".to_owned(), items.collect());
    data
}
