//! A list with a filter line and an order. Cursor and marks belong to ids, not to lines.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
};

use ratatui::layout::{Position, Rect};
use serde_json::Value as Json;

use super::{
    input::Input,
    window::{Page, PageChanges, Row, Window},
};
use crate::keys::Key;

/// What a key did to a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Moved {
    /// Nothing that needs a request.
    Here,
    /// Perhaps nearer to an edge.
    Along,
    /// The filter's text was changed.
    Filtered,
    /// Not for the list.
    No,
}

/// A list's state.
#[derive(Clone, Debug, Default)]
pub(crate) struct List {
    pub(crate) window: Window,
    at: usize,
    id: Option<String>,
    /// The row under the cursor is gone: no row is selected until a key is pressed.
    is_lost: bool,
    /// The cursor waits for a row with a given id.
    is_sought: bool,
    /// First visible row. Drawing keeps it near the cursor, because only drawing knows the height.
    pub(crate) top: Cell<usize>,
    /// Visible rows, as last drawn.
    pub(crate) height: Cell<usize>,
    pub(crate) marks: BTreeMap<String, Json>,
    /// Whether all rows that match the filter are marked, loaded or not.
    pub(crate) is_all: bool,
    /// The user did something to the row under the cursor: if it disappears, the next row is meant.
    pub(crate) goes_on: bool,
    range_from: Option<String>,
    pub(crate) filter: Input,
    pub(crate) is_filtering: bool,
    /// Why the filter cannot be read.
    pub(crate) filter_fault: Option<String>,
    /// Column and whether downwards.
    pub(crate) sort: Option<(String, bool)>,
    /// Where its rows were drawn.
    pub(crate) rows_at: Cell<Rect>,
    /// Where the heads of its columns were drawn, and the columns.
    pub(crate) heads_at: RefCell<Vec<(Rect, String)>>,
}

/// What lies under the mouse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Hit {
    /// A row, by its place among those that are held.
    Row(usize),
    /// The head of a column.
    Head(String),
    Nothing,
}

impl List {
    pub(crate) fn filtered(filter: &str) -> Self {
        Self { filter: Input::of(filter), ..Self::default() }
    }

    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// The line of the row under the cursor, among those held.
    pub(crate) fn here(&self) -> Option<usize> {
        (!self.is_lost && self.window.len() > 0).then_some(self.at)
    }

    pub(crate) fn row(&self) -> Option<&Row> {
        self.window.get(self.here()?)
    }

    pub(crate) fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// The id that the cursor holds on to.
    pub(crate) fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// The column that it is sorted by, and whether downwards.
    pub(crate) fn order(&self) -> Option<(&str, bool)> {
        self.sort.as_ref().map(|(column, down)| (column.as_str(), *down))
    }

    pub(crate) fn is_marked(&self, id: &str) -> bool {
        self.is_all || self.marks.contains_key(id)
    }

    pub(crate) fn marked(&self) -> Vec<&Json> {
        self.marks.values().collect()
    }

    /// Takes pages, in order. Returns whether anything changed.
    pub(crate) fn put(&mut self, pages: Vec<Page>) -> bool {
        let was_loaded = self.window.loaded;
        let put = self.window.put(pages);
        self.follow(put, was_loaded)
    }

    /// Takes all rows of a list that is held whole. Returns whether anything changed.
    pub(crate) fn replace(&mut self, rows: Vec<Row>) -> bool {
        let was_loaded = self.window.loaded;
        let put = self.window.replace(rows);
        self.follow(put, was_loaded)
    }

    /// Keeps cursor and marks on their rows.
    fn follow(&mut self, put: PageChanges, was_loaded: bool) -> bool {
        let goes_on = std::mem::take(&mut self.goes_on);
        if !put.changed {
            return false;
        }
        put.gone.iter().for_each(|id| drop(self.marks.remove(id)));
        for row in self.window.rows() {
            if let Some(mark) = self.marks.get_mut(&row.id) {
                mark.clone_from(&row.json);
            }
        }
        let before = self.at;
        match self.id.as_deref().and_then(|id| self.window.position(id)) {
            Some(at) => (self.at, self.is_lost, self.is_sought) = (at, false, false),
            None => {
                self.at = before.min(self.window.len().saturating_sub(1));
                self.is_lost = self.id.is_some() && (was_loaded || self.is_sought) && !goes_on;
            }
        }
        // The row under the cursor stays on its line.
        let top = (self.top.get() + self.at).saturating_sub(before);
        self.top.set(top.min(self.at));
        if !self.is_lost {
            self.id = self.row().map(|row| row.id.clone());
        }
        true
    }

    pub(crate) fn go(&mut self, to: usize) {
        (self.is_lost, self.is_sought) = (false, false);
        self.at = to.min(self.window.len().saturating_sub(1));
        self.id = self.row().map(|row| row.id.clone());
    }

    pub(crate) fn act(&mut self, verb: &str) -> Moved {
        let half = (self.height.get() / 2).max(1);
        match verb {
            // The row is gone: the key only selects a row again.
            "down" | "mark" | "range" if self.is_lost => self.go(self.at),
            "down" => self.go(self.at + 1),
            "up" => self.go(self.at.saturating_sub(1)),
            "half_down" => self.go(self.at + half),
            "half_up" => self.go(self.at.saturating_sub(half)),
            "first" => self.go(0),
            "last" => self.go(usize::MAX),
            "mark" => {
                self.mark();
                self.go(self.at + 1);
            }
            "range" => self.range(),
            "mark_all" => {
                let rows = self.window.rows().map(|row| (row.id.clone(), row.json.clone()));
                self.marks.extend(rows);
            }
            "filter" => self.is_filtering = true,
            _ => return Moved::No,
        }
        Moved::Along
    }

    fn mark(&mut self) {
        if std::mem::take(&mut self.is_all) {
            return;
        }
        let Some(Row { id, json }) = self.row().cloned() else { return };
        if self.marks.remove(&id).is_none() {
            self.marks.insert(id, json);
        }
    }

    /// The first call remembers a row; the second one marks all rows between.
    fn range(&mut self) {
        self.is_all = false;
        let from = self.range_from.take().and_then(|id| self.window.position(&id));
        let Some(from) = from else {
            self.range_from.clone_from(&self.id);
            return;
        };
        let (low, high) = (from.min(self.at), from.max(self.at));
        for at in low..=high {
            if let Some(Row { id, json }) = self.window.get(at).cloned() {
                self.marks.insert(id, json);
            }
        }
    }

    pub(crate) fn is_in_range(&self) -> bool {
        self.range_from.is_some()
    }

    /// A key while the filter line is open.
    pub(crate) fn filter_key(&mut self, key: Key) -> Moved {
        use crossterm::event::KeyCode;
        match key.code {
            KeyCode::Enter => self.is_filtering = false,
            KeyCode::Esc => {
                self.is_filtering = false;
                if !self.filter.text().is_empty() {
                    self.filter = Input::default();
                    return Moved::Filtered;
                }
            }
            KeyCode::Down => self.go(self.at + 1),
            KeyCode::Up => self.go(self.at.saturating_sub(1)),
            _ => {
                let before = self.filter.text().to_owned();
                let taken = self.filter.key(key);
                if self.filter.text() != before {
                    return Moved::Filtered;
                }
                return if taken { Moved::Here } else { Moved::No };
            }
        }
        Moved::Along
    }

    /// One step back: marks, then the filter. False when there is neither.
    pub(crate) fn back(&mut self) -> Option<Moved> {
        if self.range_from.take().is_some() {
            return Some(Moved::Here);
        }
        if self.is_all || !self.marks.is_empty() {
            self.unmark();
            return Some(Moved::Here);
        }
        if !self.filter.text().is_empty() {
            self.filter = Input::default();
            return Some(Moved::Filtered);
        }
        None
    }

    pub(crate) fn unmark(&mut self) {
        self.is_all = false;
        self.marks.clear();
    }

    /// Forgets the rows, because others match from now on. The cursor keeps its id.
    pub(crate) fn restart(&mut self) {
        self.is_all = false;
        self.window.clear();
        (self.at, self.is_lost, self.is_sought) = (0, false, false);
        self.top.set(0);
    }

    /// Forgets rows, cursor and marks, because their ids may belong to other records from now on.
    pub(crate) fn forget(&mut self) {
        self.restart();
        (self.id, self.range_from) = (None, None);
        self.unmark();
    }

    /// Puts the cursor on this row once it is there.
    pub(crate) fn look_for(&mut self, id: &str) {
        self.id = (!id.is_empty()).then(|| id.to_owned());
        self.is_sought = self.id.is_some();
    }

    /// What lies at a cell, as last drawn.
    pub(crate) fn hit(&self, at: Position) -> Hit {
        let rows = self.rows_at.get();
        if rows.contains(at) {
            let row = self.top.get() + usize::from(at.y - rows.y);
            return if row < self.window.len() { Hit::Row(row) } else { Hit::Nothing };
        }
        let heads = self.heads_at.borrow();
        let head = heads.iter().find(|(area, _)| area.contains(at));
        head.map_or(Hit::Nothing, |(_, column)| Hit::Head(column.clone()))
    }

    /// The rows that are visible at this height, and whether the cursor is on them.
    pub(crate) fn seen(&self, height: usize) -> impl Iterator<Item = (&Row, bool)> {
        let top = self.top_for(height);
        let row = move |at| Some((self.window.get(at)?, Some(at) == self.here()));
        (top..top + height).map_while(row)
    }

    /// The first visible row for this height.
    fn top_for(&self, height: usize) -> usize {
        self.height.set(height);
        let lowest = (self.at + 1).saturating_sub(height);
        // No empty lines below while rows are hidden above.
        let highest = self.window.len().saturating_sub(height).min(self.at);
        let top = self.top.get().min(highest).max(lowest);
        self.top.set(top);
        top
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(ids: &[&str]) -> Vec<Row> {
        ids.iter().map(|id| Row { id: (*id).to_owned(), json: Json::from(*id) }).collect()
    }

    #[test]
    fn cursor_and_marks_stay_on_their_rows() {
        let mut list = List::default();
        list.replace(rows(&["a", "b", "c", "d"]));
        list.act("down");
        list.act("mark");
        assert_eq!((list.at(), list.marks.len()), (2, 1));
        list.top_for(2);
        let line = list.at() - list.top.get();
        list.replace(rows(&["new", "newer", "a", "b", "c", "d"]));
        assert_eq!(list.row().map(|row| row.id.as_str()), Some("c"));
        assert_eq!(list.at() - list.top_for(2), line, "it stays on its line");
        assert_eq!(list.top_for(10), 0, "what fits is shown whole");
        assert!(list.marks.contains_key("b"));
    }

    #[test]
    fn no_row_is_selected_when_the_one_under_the_cursor_is_gone() {
        let mut list = List::default();
        list.replace(rows(&["a", "b", "c"]));
        list.act("down");
        list.act("mark");
        list.act("up");
        list.replace(rows(&["a", "c"]));
        assert_eq!((list.row(), list.here(), list.marks.len()), (None, None, 0));
        list.replace(rows(&["a", "x", "c"]));
        assert_eq!(list.row(), None, "also after the next look");
        list.act("down");
        assert_eq!(list.row().map(|row| row.id.as_str()), Some("x"), "the key selects again");
        // A row that was asked for by its id, and is not there.
        let mut list = List::default();
        list.look_for("z");
        list.replace(rows(&["a"]));
        assert_eq!(list.row(), None);
    }

    #[test]
    fn all_rows_are_marked_beside_those_marked_before() {
        let mut list = List::default();
        list.marks.insert("far".to_owned(), Json::Null);
        list.replace(rows(&["a", "b"]));
        list.act("mark_all");
        assert_eq!(list.marks.keys().collect::<Vec<_>>(), ["a", "b", "far"]);
    }

    #[test]
    fn all_that_match_are_marked_until_others_match() {
        let mut list = List { is_all: true, ..List::default() };
        list.replace(rows(&["a", "b"]));
        assert!(list.is_marked("b") && list.is_marked("of another page"));
        assert_eq!(list.back(), Some(Moved::Here));
        assert!(!list.is_marked("b"));
        for verb in ["mark", "range"] {
            list.is_all = true;
            list.act(verb);
            assert_eq!((list.is_all, list.marks.len()), (false, 0), "{verb}");
        }
        list.is_all = true;
        list.restart();
        assert!(!list.is_all);
    }

    #[test]
    fn whoever_moved_a_row_away_goes_on_with_the_next() {
        let mut list = List::default();
        list.replace(rows(&["a", "b", "c"]));
        list.act("down");
        list.goes_on = true;
        list.replace(rows(&["a", "c"]));
        assert_eq!(list.row().map(|row| row.id.as_str()), Some("c"));
        list.replace(rows(&["a"]));
        assert_eq!(list.row(), None, "once only: what others take away is another thing");
    }

    #[test]
    fn cursor_and_marks_are_forgotten() {
        let mut list = List::default();
        list.replace(rows(&["a", "b"]));
        list.act("down");
        list.act("mark");
        list.forget();
        list.replace(rows(&["a", "b"]));
        assert_eq!((list.at(), list.marks.len()), (0, 0));
    }

    #[test]
    fn the_cursor_is_put_on_a_row_that_is_not_there_yet() {
        let mut list = List::default();
        list.look_for("b");
        list.replace(rows(&["a", "b"]));
        assert_eq!(list.row().map(|row| row.id.as_str()), Some("b"));
    }

    #[test]
    fn a_range_is_marked_and_esc_takes_one_step() {
        let mut list = List::default();
        list.replace(rows(&["a", "b", "c", "d"]));
        for verb in ["range", "down", "down", "range"] {
            list.act(verb);
        }
        assert_eq!(list.marks.keys().collect::<Vec<_>>(), ["a", "b", "c"]);
        list.filter = Input::of("x");
        assert_eq!(list.back(), Some(Moved::Here));
        assert_eq!(list.back(), Some(Moved::Filtered));
        assert_eq!(list.back(), None);
    }
}
