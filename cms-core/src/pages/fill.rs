//! Builds a page as visitors read it: adds templates and content, and puts the published rows
//! of other pages into `pagebuilder_element`. All content of a page, inner pages included, is
//! made together.

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

/// Builds rows from a tree.
struct Filler<'p> {
    widgets: &'p Widgets,
    parts: &'p Parts,
    /// Bytes that further inner pages may take.
    room: usize,
    /// Whether an inner page had no room.
    short: bool,
}

impl Pages {
    /// The rows of a page with templates and content, and the tables that the content was read
    /// from. `None`: the rows must not be cached. A draft is filled as for visitors too, because
    /// anyone with a link can read it.
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
        // Content that failed temporarily must not be cached. The table of plugins is included
        // because templates and content come from plugins.
        let reads = reads.filter(|_| whole && !parts.lack);
        let with_plugins =
            |tables: BTreeSet<String>| tables.into_iter().chain([installed::TABLE.to_owned()]);
        (rows, reads.map(|tables| with_plugins(tables).collect()))
    }
}

impl Filler<'_> {
    /// `chain`: the pages around the tree from the outermost on, ending with the tree's own page.
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

    /// The rows of the page that a widget names; null when the widget shows none.
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

/// The values of a widget, with its items among them. The component gets only these.
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
