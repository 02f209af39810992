//! Lines in a window: scrolls, wraps or cuts them, and searches in them.

use std::{
    cell::{Cell, RefCell},
    iter,
    ops::Range,
};

use crossterm::event::KeyCode;
use ratatui::{
    style::Modifier,
    text::{Line, Span},
};

use super::input::Input;
use crate::{
    keys::Key,
    text::{cut, folded, hang, safe},
    theme::{Role, Theme},
};

/// Lines are wrapped as if a window had at least so many cells.
const NARROWEST: usize = 8;

/// Which lines of a text are seen.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pager {
    /// The first visible row, and how many are visible. Only drawing knows how many there are.
    top: Cell<usize>,
    height: Cell<usize>,
    /// A line and a position in it that the next drawing makes visible.
    goal: Cell<Option<(usize, usize)>>,
    rows: RefCell<Rows>,
    /// Whether long lines are cut at the edge; otherwise they continue in the next row.
    cuts: bool,
    sought: Input,
    is_typing: bool,
    /// The line where the search began.
    from: usize,
    /// The lines that hold it, and which of them is shown.
    found: Vec<usize>,
    at: usize,
}

/// The lines as rows of a window.
#[derive(Clone, Debug, Default)]
struct Rows {
    /// Of which width, whether cut, and of how many lines and bytes.
    of: (usize, bool, usize, usize),
    all: Vec<Row>,
}

/// A part of a line.
#[derive(Clone, Debug)]
struct Row {
    line: usize,
    part: Range<usize>,
}

impl Pager {
    /// Shows another text from its top.
    pub(crate) fn reset(&mut self) {
        self.back();
        self.top.set(0);
        self.goal.set(None);
        self.rows.take();
    }

    /// What is being typed to seek it.
    pub(crate) fn typing(&self) -> Option<&Input> {
        self.is_typing.then_some(&self.sought)
    }

    pub(crate) fn cuts(&self) -> bool {
        self.cuts
    }

    /// What the search has found, in words.
    pub(crate) fn search_status(&self) -> Option<String> {
        let (text, all) = (safe(self.sought.text()), self.found.len());
        match (text.is_empty(), all) {
            (true, _) => None,
            (_, 0) => Some(format!("No line holds {text}.")),
            _ => {
                let at = self.at + 1;
                Some(format!("{text}: line {at} of {all} · n next · N before · Esc ends it"))
            }
        }
    }

    /// Rows below those that are seen.
    pub(crate) fn below(&self) -> usize {
        self.rows.borrow().all.len().saturating_sub(self.top.get() + self.height.get())
    }

    /// Moves.
    pub(crate) fn walk(&self, verb: &str) {
        let (top, half) = (self.top.get(), (self.height.get() / 2).max(1));
        self.top.set(match verb {
            "down" => top + 1,
            "up" => top.saturating_sub(1),
            "half_down" => top + half,
            "half_up" => top.saturating_sub(half),
            "first" => 0,
            "last" => usize::MAX / 2,
            _ => top,
        });
    }

    /// Seeks, goes on to what was found, wraps or cuts.
    pub(crate) fn act(&mut self, verb: &str, lines: &[(Role, String)]) {
        let first = self.rows.borrow().all.get(self.top.get()).map(|row| row.line);
        match verb {
            "search" => {
                self.back();
                (self.is_typing, self.from) = (true, first.unwrap_or_default());
            }
            "search_next" | "search_before" => {
                self.search(lines);
                let all = self.found.len().max(1);
                let by = if verb == "search_next" { 1 } else { all - 1 };
                self.show(lines, (self.at + by) % all);
            }
            "wrap" => {
                self.cuts = !self.cuts;
                self.goal.set(first.map(|line| (line, 0)));
            }
            _ => self.walk(verb),
        }
    }

    /// Whether the key was for the search.
    pub(crate) fn key(&mut self, key: Key, lines: &[(Role, String)]) -> bool {
        if !self.is_typing {
            return false;
        }
        match key.code {
            KeyCode::Esc => {
                self.back();
            }
            KeyCode::Enter => self.is_typing = false,
            _ => {
                self.sought.key(key);
                self.seek(lines);
            }
        }
        true
    }

    /// Whether it fits.
    pub(crate) fn paste(&mut self, text: &str, lines: &[(Role, String)]) -> bool {
        if !self.is_typing {
            return true;
        }
        let fits = self.sought.insert(text);
        self.seek(lines);
        fits
    }

    /// Ends the search. False: there is none.
    pub(crate) fn back(&mut self) -> bool {
        let is_on = self.is_typing || !self.sought.text().is_empty();
        (self.sought, self.is_typing, self.at) = Default::default();
        self.found.clear();
        is_on
    }

    /// Searches from the line where the search began, then from the top.
    fn seek(&mut self, lines: &[(Role, String)]) {
        self.search(lines);
        let at = self.found.iter().position(|line| *line >= self.from);
        self.show(lines, at.unwrap_or_default());
    }

    fn search(&mut self, lines: &[(Role, String)]) {
        let sought = self.sought.text();
        let holds = |line: &str| hit(line, 0, sought).is_some();
        let found = lines.iter().enumerate().filter(|(_, (_, line))| holds(line));
        self.found = found.map(|(n, _)| n).collect();
    }

    fn show(&mut self, lines: &[(Role, String)], at: usize) {
        self.at = at;
        let found = self.found.get(at).and_then(|line| Some((*line, &lines.get(*line)?.1)));
        let place = found.and_then(|(n, line)| Some((n, hit(line, 0, self.sought.text())?.start)));
        self.goal.set(place);
    }

    /// How many rows the lines take in so many cells.
    pub(crate) fn lay(&self, lines: &[(Role, String)], cells: usize) -> usize {
        let bytes = lines.iter().map(|(_, line)| line.len()).sum::<usize>();
        let of = (cells, self.cuts, lines.len(), bytes);
        let mut rows = self.rows.borrow_mut();
        if rows.of != of {
            let cells = if self.cuts { usize::MAX } else { inside(cells) };
            let parts = |(line, (_, text)): (usize, &(Role, String))| {
                folded(text, cells).into_iter().map(move |part| Row { line, part })
            };
            *rows = Rows { of, all: lines.iter().enumerate().flat_map(parts).collect() };
        }
        rows.all.len()
    }

    /// The rows that are seen in a window of this width and height.
    pub(crate) fn draw(
        &self,
        lines: &[(Role, String)],
        (cells, height): (usize, usize),
        theme: Theme,
    ) -> Vec<Line<'static>> {
        let count = self.lay(lines, cells);
        let rows = self.rows.borrow();
        self.height.set(height);
        let mut top = self.top.get();
        if let Some((line, place)) = self.goal.take() {
            let at = rows.all.partition_point(|row| (row.line, row.part.end) <= (line, place));
            if at < top || at >= top + height {
                top = at.saturating_sub(height / 3);
            }
        }
        top = top.min(count.saturating_sub(height));
        self.top.set(top);
        let seen = rows.all.iter().skip(top).take(height);
        seen.filter_map(|row| Some(self.row(row, lines.get(row.line)?, cells, theme))).collect()
    }

    fn row(&self, row: &Row, of: &(Role, String), cells: usize, theme: Theme) -> Line<'static> {
        let (role, line) = of;
        let from = row.part.start;
        let part = line.get(row.part.clone()).unwrap_or_default();
        let text = if self.cuts { cut(part, inside(cells)) } else { part.into() };
        let indent = if from > 0 { hang(line, inside(cells)) } else { 0 };
        let mut spans = vec![Span::raw(" ".repeat(indent + 1))];
        let mut done = 0;
        for found in self.hits(row, line) {
            let found = found.start.max(from) - from..found.end.saturating_sub(from);
            let found = found.start..found.end.min(text.len());
            let (Some(before), Some(hit)) = (text.get(done..found.start), text.get(found.clone()))
            else {
                continue;
            };
            spans.push(Span::raw(before.to_owned()));
            spans.push(Span::from(hit.to_owned()).style(self.mark(row.line)));
            done = found.end;
        }
        spans.push(Span::raw(text.get(done..).unwrap_or_default().to_owned()));
        Line::from(spans).style(theme.style(*role))
    }

    /// How what is sought looks: the line that is shown stands out.
    fn mark(&self, line: usize) -> Modifier {
        match self.found.get(self.at) == Some(&line) {
            true => Modifier::REVERSED,
            false => Modifier::BOLD | Modifier::UNDERLINED,
        }
    }

    /// Where a row contains the searched text. Looks only at the line's text near the row.
    fn hits(&self, row: &Row, line: &str) -> Vec<Range<usize>> {
        let sought = self.sought.text();
        let near = 4 * sought.len();
        let mut at = line.floor_char_boundary(row.part.start.saturating_sub(near));
        let line = &line[..line.floor_char_boundary(row.part.end + near)];
        let next = || {
            let found = hit(line, at, sought).filter(|found| found.start < row.part.end)?;
            at = found.end;
            Some(found)
        };
        iter::from_fn(next).filter(|found| found.end > row.part.start).collect()
    }
}

/// Cells of a row beside the space at its beginning.
fn inside(cells: usize) -> usize {
    cells.saturating_sub(1).max(NARROWEST)
}

/// The next place that holds what is sought, in letters of either case.
fn hit(line: &str, from: usize, sought: &str) -> Option<Range<usize>> {
    if sought.is_empty() {
        return None;
    }
    let same = |a: char, b: char| {
        a.eq_ignore_ascii_case(&b) || (!a.is_ascii() && a.to_lowercase().eq(b.to_lowercase()))
    };
    let begins = |text: &str| {
        let (mut there, mut end) = (text.chars(), 0);
        for wanted in sought.chars() {
            let c = there.next().filter(|c| same(*c, wanted))?;
            end += c.len_utf8();
        }
        Some(end)
    };
    let rest = line.get(from..)?;
    let at = |(at, _): (usize, char)| {
        let start = from + at;
        begins(&line[start..]).map(|end| start..start + end)
    };
    rest.char_indices().find_map(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<(Role, String)> {
        text.lines().map(|line| (Role::Plain, line.to_owned())).collect()
    }

    fn drawn(pager: &Pager, lines: &[(Role, String)], size: (usize, usize)) -> Vec<String> {
        let rows = pager.draw(lines, size, Theme::Mono);
        rows.into_iter().map(|row| row.to_string().trim_end().to_owned()).collect()
    }

    fn types(pager: &mut Pager, lines: &[(Role, String)], keys: &str) {
        for key in keys.split(' ') {
            assert!(pager.key(key.parse().expect("a key"), lines), "{key}");
        }
    }

    #[test]
    fn long_lines_go_on_below_or_are_cut() {
        let lines = lines("short\n  \"text\": \"one two three four five\"");
        let mut pager = Pager::default();
        let wrapped = [" short", "   \"text\": \"one two", "     three four five\""];
        assert_eq!(drawn(&pager, &lines, (22, 9)), wrapped);
        pager.act("wrap", &lines);
        assert_eq!(drawn(&pager, &lines, (22, 9)), [" short", "   \"text\": \"one two t…"]);
    }

    #[test]
    fn what_is_sought_is_found_in_either_case_and_round_the_end() {
        let lines = lines("Räder\nb\nRÄDER, die laufen\nd\ne rä");
        let mut pager = Pager::default();
        drawn(&pager, &lines, (30, 2));
        pager.act("search", &lines);
        types(&mut pager, &lines, "r ä");
        assert_eq!(
            pager.search_status().as_deref(),
            Some("rä: line 1 of 3 · n next · N before · Esc ends it")
        );
        types(&mut pager, &lines, "d");
        assert_eq!(drawn(&pager, &lines, (30, 2)), [" Räder", " b"]);
        types(&mut pager, &lines, "Backspace Enter");
        for (verb, line) in [("search_next", 2), ("search_next", 3), ("search_next", 1)] {
            pager.act(verb, &lines);
            assert_eq!(pager.at + 1, line, "{verb}");
        }
        pager.act("search_before", &lines);
        assert_eq!(drawn(&pager, &lines, (30, 2)), [" d", " e rä"]);
        let row = &pager.draw(&lines, (30, 2), Theme::Mono)[1];
        let marked = row.spans.iter().find(|span| span.content == "rä").expect("the hit");
        assert_eq!(marked.style.add_modifier, Modifier::REVERSED);
        assert!(pager.back() && !pager.back(), "Esc ends the search once");
        pager.act("search", &lines);
        types(&mut pager, &lines, "z");
        assert_eq!(pager.search_status().as_deref(), Some("No line holds z."));
    }
}
