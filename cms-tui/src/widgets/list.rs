//! A list: cursor and marks held by id, a filter line, an order.

use std::{cell::Cell, collections::BTreeMap};

use serde_json::Value as Json;

use super::{
    input::Input,
    window::{Row, Window},
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
    /// First visible row. Drawing keeps it near the cursor, because only drawing knows the height.
    pub(crate) top: Cell<usize>,
    /// Visible rows, as last drawn.
    pub(crate) height: Cell<usize>,
    pub(crate) marks: BTreeMap<String, Json>,
    range_from: Option<String>,
    pub(crate) filter: Input,
    pub(crate) is_filtering: bool,
    /// The filter that cannot be read, and why.
    pub(crate) filter_fault: Option<String>,
    /// Column and whether downwards.
    pub(crate) sort: Option<(String, bool)>,
}

impl List {
    pub(crate) fn filtered(filter: &str) -> Self {
        Self { filter: Input::of(filter), ..Self::default() }
    }

    pub(crate) fn at(&self) -> usize {
        self.at
    }

    pub(crate) fn row(&self) -> Option<&Row> {
        self.window.get(self.at)
    }

    pub(crate) fn marked(&self) -> Vec<&Json> {
        self.marks.values().collect()
    }

    /// Takes a page. Returns whether anything changed.
    pub(crate) fn put(
        &mut self,
        page: usize,
        rows: Vec<Row>,
        next: Option<String>,
        alone: bool,
    ) -> bool {
        let changed = self.window.put(page, rows, next, alone);
        if !changed {
            return false;
        }
        for row in self.window.rows() {
            if let Some(mark) = self.marks.get_mut(&row.id) {
                mark.clone_from(&row.json);
            }
        }
        let before = self.at;
        let found = self.id.as_deref().and_then(|id| self.window.position(id));
        self.at = found.unwrap_or(before).min(self.window.len().saturating_sub(1));
        // The row under the cursor stays on its line.
        let top = (self.top.get() + self.at).saturating_sub(before);
        self.top.set(top.min(self.at));
        self.id = self.row().map(|row| row.id.clone());
        true
    }

    pub(crate) fn go(&mut self, to: usize) {
        self.at = to.min(self.window.len().saturating_sub(1));
        self.id = self.row().map(|row| row.id.clone());
    }

    pub(crate) fn act(&mut self, verb: &str) -> Moved {
        let half = (self.height.get() / 2).max(1);
        match verb {
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
                self.marks = rows.collect();
            }
            "filter" => self.is_filtering = true,
            _ => return Moved::No,
        }
        Moved::Along
    }

    fn mark(&mut self) {
        let Some(Row { id, json }) = self.row().cloned() else { return };
        if self.marks.remove(&id).is_none() {
            self.marks.insert(id, json);
        }
    }

    /// The first call remembers a row, the second marks all between.
    fn range(&mut self) {
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
        if !self.marks.is_empty() {
            self.marks.clear();
            return Some(Moved::Here);
        }
        if !self.filter.text().is_empty() {
            self.filter = Input::default();
            return Some(Moved::Filtered);
        }
        None
    }

    /// Forgets the rows; the cursor keeps its id.
    pub(crate) fn restart(&mut self) {
        self.window.clear();
        self.at = 0;
        self.top.set(0);
    }

    /// Other records may have these ids from now on: cursor and marks are gone too.
    pub(crate) fn forget(&mut self) {
        self.restart();
        (self.id, self.range_from) = (None, None);
        self.marks.clear();
    }

    /// Puts the cursor on this row once it is there.
    pub(crate) fn look_for(&mut self, id: &str) {
        self.id = (!id.is_empty()).then(|| id.to_owned());
    }

    /// The first visible row for this height.
    pub(crate) fn top_for(&self, height: usize) -> usize {
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
        list.put(0, rows(&["a", "b", "c", "d"]), None, true);
        list.act("down");
        list.act("mark");
        assert_eq!((list.at(), list.marks.len()), (2, 1));
        list.top_for(2);
        let line = list.at() - list.top.get();
        list.put(0, rows(&["new", "newer", "a", "b", "c", "d"]), None, true);
        assert_eq!(list.row().map(|row| row.id.as_str()), Some("c"));
        assert_eq!(list.at() - list.top_for(2), line, "it stays on its line");
        assert_eq!(list.top_for(10), 0, "what fits is shown whole");
        assert!(list.marks.contains_key("b"));
        list.put(0, rows(&["a"]), None, true);
        assert_eq!(list.row().map(|row| row.id.as_str()), Some("a"));
    }

    #[test]
    fn cursor_and_marks_are_forgotten() {
        let mut list = List::default();
        list.put(0, rows(&["a", "b"]), None, true);
        list.act("down");
        list.act("mark");
        list.forget();
        list.put(0, rows(&["a", "b"]), None, true);
        assert_eq!((list.at(), list.marks.len()), (0, 0));
    }

    #[test]
    fn the_cursor_is_put_on_a_row_that_is_not_there_yet() {
        let mut list = List::default();
        list.look_for("b");
        list.put(0, rows(&["a", "b"]), None, true);
        assert_eq!(list.row().map(|row| row.id.as_str()), Some("b"));
    }

    #[test]
    fn a_range_is_marked_and_esc_takes_one_step() {
        let mut list = List::default();
        list.put(0, rows(&["a", "b", "c", "d"]), None, true);
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
