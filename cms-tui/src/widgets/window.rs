//! A list as a window over keyset pages: at most three are held.

use std::collections::VecDeque;

use serde_json::Value as Json;

/// Rows of a page.
pub(crate) const PAGE: u32 = 200;
/// Pages held.
const HELD: usize = 3;
/// Rows from the edge at which the next page is asked for.
const NEAR: usize = 50;

/// A row: its id and what is known of it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    pub(crate) id: String,
    pub(crate) json: Json,
}

/// Rows that are held, and where they lie in the whole list.
#[derive(Clone, Debug, Default)]
pub(crate) struct Window {
    pages: VecDeque<Vec<Row>>,
    /// Number of the first page held.
    first: usize,
    /// Cursor of each page so far; that of the first is None.
    cursors: Vec<Option<String>>,
    pub(crate) total: Option<i64>,
    pub(crate) loaded: bool,
}

impl Window {
    pub(crate) fn len(&self) -> usize {
        self.pages.iter().map(Vec::len).sum()
    }

    pub(crate) fn get(&self, mut at: usize) -> Option<&Row> {
        for page in &self.pages {
            match page.get(at) {
                Some(row) => return Some(row),
                None => at -= page.len(),
            }
        }
        None
    }

    pub(crate) fn rows(&self) -> impl Iterator<Item = &Row> {
        self.pages.iter().flatten()
    }

    pub(crate) fn position(&self, id: &str) -> Option<usize> {
        self.rows().position(|row| row.id == id)
    }

    /// Rows before the first one held, when that is known.
    pub(crate) fn before(&self) -> usize {
        self.first * PAGE as usize
    }

    pub(crate) fn has_more(&self) -> bool {
        self.cursors.len() > self.first + self.pages.len()
    }

    /// The page to ask for when the user is at `at`.
    pub(crate) fn wanted(&self, at: usize) -> Option<usize> {
        if at + NEAR >= self.len() && self.has_more() {
            return Some(self.first + self.pages.len());
        }
        (at < NEAR && self.first > 0).then(|| self.first - 1)
    }

    /// The page that holds `at`.
    pub(crate) fn page_of(&self, mut at: usize) -> usize {
        for (index, page) in self.pages.iter().enumerate() {
            if at < page.len() {
                return self.first + index;
            }
            at -= page.len();
        }
        self.first
    }

    pub(crate) fn cursor(&self, page: usize) -> Option<String> {
        self.cursors.get(page).cloned().flatten()
    }

    /// Puts a page in its place. `alone`: it replaces all. Returns whether anything changed.
    pub(crate) fn put(
        &mut self,
        page: usize,
        rows: Vec<Row>,
        next: Option<String>,
        alone: bool,
    ) -> bool {
        let known = page.checked_sub(self.first).and_then(|index| self.pages.get(index));
        let same = self.loaded && known == Some(&rows);
        // Cursors behind the last page held are no longer true when that page is read again.
        if alone || page + 1 >= self.end() || self.cursors.len() <= page + 1 {
            self.cursors.resize(page + 1, None);
            self.cursors.extend(next.map(Some));
        }
        self.loaded = true;
        if alone && same && self.pages.len() == 1 {
            return false;
        }
        if alone || self.pages.is_empty() || page + 1 < self.first || page > self.end() {
            self.pages = VecDeque::from([rows]);
            self.first = page;
        } else if page + 1 == self.first {
            self.pages.push_front(rows);
            self.first = page;
            if self.pages.len() > HELD {
                self.pages.pop_back();
            }
        } else if page == self.end() {
            self.pages.push_back(rows);
            if self.pages.len() > HELD {
                self.pages.pop_front();
                self.first += 1;
            }
        } else if let Some(held) = self.pages.get_mut(page - self.first) {
            *held = rows;
        }
        true
    }

    fn end(&self) -> usize {
        self.first + self.pages.len()
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(number: usize) -> Vec<Row> {
        let of = number * 200..(number + 1) * 200;
        of.map(|id| Row { id: id.to_string(), json: Json::Null }).collect()
    }

    #[test]
    fn a_million_rows_are_walked_with_three_pages() {
        let (mut window, mut at) = (Window::default(), 0);
        window.put(0, page(0), Some("c1".into()), true);
        for _ in 0..5_000 {
            let id = window.get(at).map(|row| row.id.clone()).expect("a row");
            if let Some(wanted) = window.wanted(at) {
                window.put(wanted, page(wanted), Some(format!("c{}", wanted + 1)), false);
                at = window.position(&id).expect("still held");
            }
            assert!(window.len() <= 600);
            at += 1;
        }
        assert_eq!(window.get(at).map(|row| row.id.as_str()), Some("5000"));
        for _ in 0..5_000 {
            let id = window.get(at).map(|row| row.id.clone()).expect("a row");
            if let Some(wanted) = window.wanted(at) {
                assert_eq!(window.cursor(wanted), (wanted > 0).then(|| format!("c{wanted}")));
                window.put(wanted, page(wanted), Some(format!("c{}", wanted + 1)), false);
                at = window.position(&id).expect("still held");
            }
            at -= 1;
        }
        assert_eq!(window.get(at).map(|row| row.id.as_str()), Some("0"));
    }

    #[test]
    fn the_same_rows_again_change_nothing() {
        let mut window = Window::default();
        assert!(window.put(0, page(0), None, true));
        assert!(!window.put(0, page(0), None, true));
        assert!(!window.has_more());
    }
}
