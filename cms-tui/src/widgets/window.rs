//! A list as a window over keyset pages: holds at most three of them.

use std::collections::{BTreeSet, VecDeque};

use serde_json::Value as Json;

/// Rows of a page.
pub(crate) const PAGE: u32 = 200;
/// Pages held.
const HELD: usize = 3;
/// How close to the edge the cursor must be, in rows, before the next page is read.
const NEAR: usize = 120;

/// A row: its id and what is known of it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    pub(crate) id: String,
    pub(crate) json: Json,
}

/// A page as it was read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Page {
    pub(crate) number: usize,
    pub(crate) rows: Vec<Row>,
    /// The cursor of the page after it.
    pub(crate) next: Option<String>,
}

/// What new pages changed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct PageChanges {
    pub(crate) changed: bool,
    /// Ids of rows that are no longer there.
    pub(crate) gone: Vec<String>,
}

/// A page that is held.
#[derive(Clone, Debug, Default)]
struct HeldPage {
    rows: Vec<Row>,
    /// Whether it may have changed since it was read.
    is_old: bool,
}

/// Rows that are held, and where they lie in the whole list.
#[derive(Clone, Debug, Default)]
pub(crate) struct Window {
    pages: VecDeque<HeldPage>,
    /// Number of the first page held.
    first: usize,
    /// Cursor of each page so far; that of the first is None.
    cursors: Vec<Option<String>>,
    /// Id of the last row of each page so far.
    lasts: Vec<Option<String>>,
    pub(crate) total: Option<i64>,
    pub(crate) loaded: bool,
}

impl Window {
    pub(crate) fn len(&self) -> usize {
        self.pages.iter().map(|page| page.rows.len()).sum()
    }

    pub(crate) fn get(&self, mut at: usize) -> Option<&Row> {
        for page in &self.pages {
            match page.rows.get(at) {
                Some(row) => return Some(row),
                None => at -= page.rows.len(),
            }
        }
        None
    }

    pub(crate) fn rows(&self) -> impl Iterator<Item = &Row> {
        self.pages.iter().flat_map(|page| &page.rows)
    }

    pub(crate) fn position(&self, id: &str) -> Option<usize> {
        self.rows().position(|row| row.id == id)
    }

    /// Rows before the first one held, when that is known.
    pub(crate) fn before(&self) -> usize {
        self.first * PAGE as usize
    }

    pub(crate) fn has_more(&self) -> bool {
        self.cursors.len() > self.end()
    }

    /// The page to ask for when the user is at `at`.
    pub(crate) fn wanted(&self, at: usize) -> Option<usize> {
        if at + NEAR >= self.len() && self.has_more() {
            return Some(self.end());
        }
        (at < NEAR && self.first > 0).then(|| self.first - 1)
    }

    /// The number of the page that holds `at`; the last one for anything behind it.
    pub(crate) fn page_of(&self, mut at: usize) -> usize {
        for (index, page) in self.pages.iter().enumerate() {
            if at < page.rows.len() {
                return self.first + index;
            }
            at -= page.rows.len();
        }
        self.end().saturating_sub(1).max(self.first)
    }

    pub(crate) fn cursor(&self, page: usize) -> Option<String> {
        self.cursors.get(page).cloned().flatten()
    }

    pub(crate) fn holds(&self, page: usize) -> bool {
        (self.first..self.end()).contains(&page)
    }

    /// All pages are old until they are read again.
    pub(crate) fn outdate(&mut self) {
        self.pages.iter_mut().for_each(|page| page.is_old = true);
    }

    /// Whether a page that is held is old, and can be read again.
    pub(crate) fn is_old(&self, page: usize) -> bool {
        let held = page.checked_sub(self.first).and_then(|at| self.pages.get(at));
        held.is_some_and(|held| held.is_old) && (page == 0 || self.cursor(page).is_some())
    }

    /// Whether the page now ends elsewhere than before; then the next one begins elsewhere.
    pub(crate) fn has_moved(&self, page: &Page) -> bool {
        let last = page.rows.last().map(|row| &row.id);
        self.lasts.get(page.number).is_some_and(|known| known.as_ref() != last)
    }

    /// Puts pages in their places, in order; keeps the others.
    pub(crate) fn put(&mut self, pages: Vec<Page>) -> PageChanges {
        let known = pages.iter().filter_map(|page| page.number.checked_sub(self.first));
        let known = known.filter_map(|index| self.pages.get(index)).flat_map(|page| &page.rows);
        let known: Vec<String> = known.map(|row| row.id.clone()).collect();
        let is_end = pages.last().is_some_and(|page| page.next.is_none());
        let mut changed = !std::mem::replace(&mut self.loaded, true);
        for page in pages {
            changed |= self.place(page);
        }
        let held: BTreeSet<&str> = self.rows().map(|row| row.id.as_str()).collect();
        // Rows behind the last row that is still there may have moved to a page that is not held.
        let kept = known.iter().rposition(|id| held.contains(id.as_str()));
        let sure = if is_end { known.len() } else { kept.unwrap_or(0) };
        let gone = known[..sure].iter().filter(|id| !held.contains(id.as_str()));
        let gone = gone.cloned().collect();
        PageChanges { changed, gone }
    }

    /// Puts all rows of a list that is held whole.
    pub(crate) fn replace(&mut self, rows: Vec<Row>) -> PageChanges {
        let was_loaded = self.loaded;
        if was_loaded && self.first == 0 && self.pages.len() == 1 && self.pages[0].rows == rows {
            return PageChanges::default();
        }
        let now: BTreeSet<&str> = rows.iter().map(|row| row.id.as_str()).collect();
        let gone = self.rows().filter(|row| !now.contains(row.id.as_str()));
        let gone = gone.map(|row| row.id.clone()).collect();
        *self = Self { total: self.total, loaded: true, ..Self::default() };
        self.place(Page { rows, ..Page::default() });
        PageChanges { changed: true, gone }
    }

    /// Returns whether rows are different now.
    fn place(&mut self, Page { number, rows, next }: Page) -> bool {
        let is_last = next.is_none();
        self.lasts.resize(self.lasts.len().max(number + 1), None);
        let last = rows.last().map(|row| row.id.clone());
        let moved = std::mem::replace(&mut self.lasts[number], last.clone()) != last;
        // If this page ends elsewhere now, the known beginnings of later pages are wrong.
        if moved || is_last || number + 1 >= self.end() || self.cursors.len() <= number + 1 {
            self.cursors.resize(number + 1, None);
            self.lasts.truncate(number + 1);
            self.cursors.extend(next.map(Some));
        }
        let (mut changed, page) = (true, HeldPage { rows, is_old: false });
        if self.pages.is_empty() || number + 1 < self.first || number > self.end() {
            self.pages = VecDeque::from([page]);
            self.first = number;
        } else if number + 1 == self.first {
            self.pages.push_front(page);
            self.first = number;
            self.pages.truncate(HELD);
        } else if number == self.end() {
            self.pages.push_back(page);
            if self.pages.len() > HELD {
                self.pages.pop_front();
                self.first += 1;
            }
        } else if let Some(held) = self.pages.get_mut(number - self.first) {
            changed = held.rows != page.rows;
            *held = page;
        }
        let kept = number + 1 - self.first;
        if is_last && self.pages.len() > kept {
            self.pages.truncate(kept);
            changed = true;
        }
        changed
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

    fn rows(of: impl IntoIterator<Item = usize>) -> Vec<Row> {
        of.into_iter().map(|id| Row { id: id.to_string(), json: Json::Null }).collect()
    }

    fn page(number: usize) -> Page {
        let next = Some(format!("c{}", number + 1));
        Page { number, rows: rows(number * 200..(number + 1) * 200), next }
    }

    fn ids(window: &Window) -> Vec<usize> {
        window.rows().filter_map(|row| row.id.parse().ok()).collect()
    }

    #[test]
    fn a_million_rows_are_walked_with_three_pages() {
        let (mut window, mut at) = (Window::default(), 0);
        window.put(vec![page(0)]);
        for _ in 0..5_000 {
            let id = window.get(at).map(|row| row.id.clone()).expect("a row");
            if let Some(wanted) = window.wanted(at) {
                window.put(vec![page(wanted)]);
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
                window.put(vec![page(wanted)]);
                at = window.position(&id).expect("still held");
            }
            at -= 1;
        }
        assert_eq!(window.get(at).map(|row| row.id.as_str()), Some("0"));
    }

    #[test]
    fn the_same_rows_again_change_nothing() {
        let mut window = Window::default();
        assert!(window.replace(rows(0..3)).changed);
        assert!(!window.replace(rows(0..3)).changed);
        assert!(!window.has_more());
        let mut window = Window::default();
        assert!(window.put(vec![page(0)]).changed);
        assert!(!window.put(vec![page(0)]).changed);
        assert!(window.has_more());
    }

    #[test]
    fn a_page_is_read_again_in_its_place() {
        let mut window = Window::default();
        window.put(vec![page(0)]);
        window.put(vec![page(1)]);
        let put = window.put(vec![page(1)]);
        assert_eq!((put.changed, window.len()), (false, 400), "its neighbours stay");
        // Two new rows push two others over the end of the page.
        let pushed = Page { rows: rows((900..902).chain(0..198)), ..page(0) };
        assert!(window.has_moved(&pushed));
        let next = Page { rows: rows(198..398), ..page(1) };
        assert_eq!(window.put(vec![pushed, next]).gone, Vec::<String>::new());
        let expected: Vec<usize> = (900..902).chain(0..398).collect();
        assert_eq!(ids(&window), expected);
        assert!(window.has_more());
    }

    #[test]
    fn rows_that_are_gone_are_told_and_those_pushed_out_are_not() {
        let mut window = Window::default();
        window.put(vec![page(0)]);
        let fewer = Page { rows: rows((0..200).filter(|id| *id != 7)), next: None, number: 0 };
        assert_eq!(window.put(vec![fewer]).gone, ["7"]);
        assert!(!window.has_more());
        let mut window = Window::default();
        window.put(vec![page(0)]);
        let pushed = Page { rows: rows((900..902).chain(0..198)), ..page(0) };
        assert_eq!(window.put(vec![pushed]).gone, Vec::<String>::new());
    }

    #[test]
    fn a_list_that_ends_earlier_holds_no_pages_behind_its_end() {
        let mut window = Window::default();
        (0..3).for_each(|number| drop(window.put(vec![page(number)])));
        window.put(vec![Page { next: None, ..page(0) }]);
        assert_eq!((window.len(), window.has_more(), window.wanted(199)), (200, false, None));
    }
}
