//! A page as a tree of rows, columns, widgets and items. Pure.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use crate::{Code, Error, Result};

/// Maximum number of rows of a page.
const MOST_ROWS: usize = 100;
/// Maximum number of columns of a row.
const MOST_COLS: usize = 12;
/// Maximum number of widgets of a page.
const MOST_WIDGETS: usize = 200;
/// Maximum number of items of a page.
const MOST_ITEMS: usize = 1000;
/// Maximum size of a page as JSON, in bytes.
pub const MOST_BYTES: usize = 1 << 20;

/// What a page is made of.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PageTree")]
#[non_exhaustive]
pub struct Tree {
    /// From top to bottom.
    pub rows: Vec<PageRow>,
}

/// A row of a page.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct PageRow {
    /// Its id.
    pub id: i64,
    /// From left to right.
    pub cols: Vec<PageCol>,
}

/// A column of a row.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct PageCol {
    /// Its id.
    pub id: i64,
    /// From top to bottom.
    pub widgets: Vec<PlacedWidget>,
}

/// A widget on a page.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct PlacedWidget {
    /// Its id.
    pub id: i64,
    /// Name of the widget in the registry.
    pub widget: String,
    /// Values of its menu, as far as they are set.
    pub data: Map<String, Json>,
    /// Of a repeater, in order.
    pub items: Vec<PageItem>,
}

/// An item of a repeater.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct PageItem {
    /// Its id.
    pub id: i64,
    /// The item that it was copied from into another language; else itself.
    pub base_id: i64,
    /// Language of its page.
    pub language_short: String,
    /// Values of the item's menu, as far as they are set.
    pub data: Map<String, Json>,
}

/// What stands in a page.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum NodeKind {
    /// A row of a page.
    Row,
    /// A column of a row.
    Col,
    /// A widget in a column.
    Widget,
    /// An item of a widget.
    Item,
}

impl NodeKind {
    /// All kinds, from the outermost.
    pub const ALL: [Self; 4] = [Self::Row, Self::Col, Self::Widget, Self::Item];

    /// Its name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Row => "row",
            Self::Col => "col",
            Self::Widget => "widget",
            Self::Item => "item",
        }
    }

    /// The member of `Parent` that names the parent of such a node.
    pub(super) const fn parent(self) -> &'static str {
        match self {
            Self::Row => "page_id",
            Self::Col => "row_id",
            Self::Widget => "col_id",
            Self::Item => "widget_id",
        }
    }
}

/// Where a node stands: its parent, and its place there, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spot {
    pub(super) parent: i64,
    pub(super) at: usize,
}

/// One node without its children.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node<'t> {
    pub(super) kind: NodeKind,
    pub(super) id: i64,
    pub(super) spot: Spot,
    /// The name of a widget.
    pub(super) widget: Option<&'t str>,
    /// The values of a widget or an item.
    pub(super) data: Option<&'t Map<String, Json>>,
}

impl Tree {
    /// All nodes of the page, each after its parent.
    pub(super) fn nodes(&self, page: i64) -> Vec<Node<'_>> {
        let mut nodes = Vec::new();
        let mut note = |kind, id, parent, at, widget, data| {
            nodes.push(Node { kind, id, spot: Spot { parent, at }, widget, data });
        };
        for (at, row) in self.rows.iter().enumerate() {
            note(NodeKind::Row, row.id, page, at, None, None);
            for (at, col) in row.cols.iter().enumerate() {
                note(NodeKind::Col, col.id, row.id, at, None, None);
                for (at, one) in col.widgets.iter().enumerate() {
                    let name = Some(one.widget.as_str());
                    note(NodeKind::Widget, one.id, col.id, at, name, Some(&one.data));
                    for (at, item) in one.items.iter().enumerate() {
                        note(NodeKind::Item, item.id, one.id, at, None, Some(&item.data));
                    }
                }
            }
        }
        nodes
    }

    /// All widgets, in the order of the page.
    pub(crate) fn widgets(&self) -> impl Iterator<Item = &PlacedWidget> {
        self.rows.iter().flat_map(|row| &row.cols).flat_map(|col| &col.widgets)
    }

    pub(super) fn widgets_mut(&mut self) -> impl Iterator<Item = &mut PlacedWidget> {
        self.rows.iter_mut().flat_map(|row| &mut row.cols).flat_map(|col| &mut col.widgets)
    }

    /// A widget by its id.
    pub(crate) fn widget(&self, id: i64) -> Option<&PlacedWidget> {
        self.widgets().find(|widget| widget.id == id)
    }

    /// An item by its id, with its widget.
    pub(super) fn item(&self, id: i64) -> Option<(&PlacedWidget, &PageItem)> {
        self.widgets()
            .flat_map(|widget| widget.items.iter().map(move |item| (widget, item)))
            .find(|(_, item)| item.id == id)
    }

    /// Whether a node stands in the page.
    #[must_use]
    pub fn holds(&self, kind: NodeKind, id: i64) -> bool {
        self.spot(kind, id).is_some()
    }

    /// Where a node stands.
    pub(super) fn spot(&self, kind: NodeKind, id: i64) -> Option<Spot> {
        let nodes = self.nodes(0);
        let found = nodes.iter().find(|node| node.kind == kind && node.id == id)?;
        Some(found.spot)
    }

    /// The number of nodes of a kind in a parent. For rows, `parent` is ignored.
    pub(super) fn siblings(&self, kind: NodeKind, parent: i64) -> usize {
        match kind {
            NodeKind::Row => self.rows.len(),
            _ => {
                let nodes = self.nodes(0);
                nodes.iter().filter(|n| n.kind == kind && n.spot.parent == parent).count()
            }
        }
    }

    /// How many nodes of a kind the page has.
    pub(super) fn count(&self, kind: NodeKind) -> usize {
        self.nodes(0).iter().filter(|node| node.kind == kind).count()
    }

    /// The tree as text, as it is frozen. Equal trees have equal texts.
    pub(super) fn text(&self) -> Result<String> {
        serde_json::to_string(self).map_err(Error::internal)
    }

    /// Checks that the page may have one more node of a kind, and `more` bytes.
    pub(super) fn admit(&self, kind: Option<NodeKind>, parent: i64, more: usize) -> Result<()> {
        let too_many = |most: usize, what: &str| {
            let message = format!("at most {most} {what} are allowed");
            Err(Error::invalid_field("kind", "range", message))
        };
        match kind {
            Some(kind @ NodeKind::Row) if self.count(kind) >= MOST_ROWS => {
                return too_many(MOST_ROWS, "rows of a page");
            }
            Some(kind @ NodeKind::Col) if self.siblings(kind, parent) >= MOST_COLS => {
                return too_many(MOST_COLS, "columns of a row");
            }
            Some(kind @ NodeKind::Widget) if self.count(kind) >= MOST_WIDGETS => {
                return too_many(MOST_WIDGETS, "widgets of a page");
            }
            Some(kind @ NodeKind::Item) if self.count(kind) >= MOST_ITEMS => {
                return too_many(MOST_ITEMS, "items of a page");
            }
            _ => {}
        }
        if self.text()?.len() + more > MOST_BYTES {
            let message = format!("a page holds at most {MOST_BYTES} bytes");
            return Err(Error::invalid_field("data", "range", message));
        }
        Ok(())
    }
}

/// The index of a node among `siblings` others.
pub(super) fn index(asked: Option<i64>, siblings: usize) -> Result<usize> {
    let Some(asked) = asked else { return Ok(siblings) };
    usize::try_from(asked).ok().filter(|at| *at <= siblings).ok_or_else(|| {
        let message = format!("0 to {siblings} is expected: places are counted from 0");
        Error::invalid_field("position", "range", message)
    })
}

pub(super) fn not_found(kind: NodeKind, id: i64) -> Error {
    let kind = kind.as_str();
    Error::new(Code::NotFound, format!("There is no {kind} with id {id} in a draft."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree() -> Tree {
        let item = |id| PageItem { id, base_id: id, ..PageItem::default() };
        let widget = PlacedWidget {
            id: 3,
            widget: "title".to_owned(),
            items: vec![item(4), item(5)],
            ..PlacedWidget::default()
        };
        let col = PageCol { id: 2, widgets: vec![widget] };
        Tree { rows: vec![PageRow { id: 9, cols: Vec::new() }, PageRow { id: 1, cols: vec![col] }] }
    }

    #[test]
    fn nodes_know_where_they_stand() {
        let tree = tree();
        let at = |kind, id| tree.spot(kind, id).map(|spot| (spot.parent, spot.at));
        assert_eq!(at(NodeKind::Row, 1), Some((0, 1)));
        assert_eq!(at(NodeKind::Item, 5), Some((3, 1)));
        assert_eq!(at(NodeKind::Col, 5), None, "an id counts in its kind");
        assert!(tree.holds(NodeKind::Item, 5) && !tree.holds(NodeKind::Col, 5));
        assert_eq!(tree.siblings(NodeKind::Item, 3), 2);
        assert_eq!(tree.count(NodeKind::Row), 2);
        assert_eq!(tree.item(4).map(|(widget, _)| widget.id), Some(3));
    }

    #[test]
    fn places_and_sizes_have_bounds() {
        assert_eq!(index(None, 2).expect("the end"), 2);
        assert_eq!(index(Some(0), 2).expect("the start"), 0);
        assert!(index(Some(3), 2).is_err() && index(Some(-1), 2).is_err());
        let mut tree = tree();
        assert!(tree.admit(Some(NodeKind::Col), 1, 0).is_ok());
        assert!(tree.admit(None, 0, MOST_BYTES).is_err());
        tree.rows[1].cols.resize(MOST_COLS, PageCol::default());
        assert!(tree.admit(Some(NodeKind::Col), 1, 0).is_err());
        assert!(tree.admit(Some(NodeKind::Col), 9, 0).is_ok(), "each row has its own");
    }
}
