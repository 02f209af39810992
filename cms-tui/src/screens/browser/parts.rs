//! The parts of a list and its columns. The service counts the parts, such as the states of an
//! inbox; the user sees one or all of them, chosen by a word of the filter. The columns stand in
//! the user's order. Some are filled by another call, and shown only if its reply has values.

use ratatui::{
    layout::Rect,
    text::{Line, Span},
};
use serde_json::Value as Json;

use super::Browser;
use crate::{
    calls::{Fault, Reply},
    screens::{
        cells::Column,
        filter_words::{Piece, Word, pieces},
    },
    step::{Calling, Form, IntoStep, Step},
    text::{number, width},
    theme::{Role, Theme},
    widgets::{field::Field, shape::Shape, window::Row},
};

/// How a list falls into parts.
pub(crate) struct Parts {
    /// The token of the filter; its value is the name of a part.
    pub(crate) token: &'static str,
    pub(crate) names: &'static [&'static str],
}

/// Where names were drawn, and what a click on them means.
type Clicks = Vec<(Rect, String)>;

impl Parts {
    /// What a word says about the parts: the value, and whether all other parts are meant.
    fn part_of<'a>(&self, piece: &'a Piece<'_>) -> Option<(bool, &'a str)> {
        let Word::Token(name, value) = piece.word() else { return None };
        let (not, name) = name.strip_prefix('!').map_or((false, name), |name| (true, name));
        (name == self.token).then_some((not, value))
    }

    /// The part that a filter selects; None: several or all.
    fn selected(&self, filter: &str) -> Option<&'static str> {
        let name = |piece: &Piece<'_>| match self.part_of(piece)? {
            (false, value) => self.names.iter().find(|name| **name == value).copied(),
            (true, _) => None,
        };
        pieces(filter).iter().find_map(name)
    }

    /// The parts that a filter asks for; all of them when it names none.
    fn included(&self, filter: &str) -> Vec<&'static str> {
        let mut asked = self.names.to_vec();
        for (not, value) in pieces(filter).iter().filter_map(|piece| self.part_of(piece)) {
            asked.retain(|name| value.split(',').any(|one| one == *name) != not);
        }
        asked
    }

    /// The same filter for another part; without a name, for all parts.
    pub(crate) fn filter(&self, filter: &str, name: &str) -> String {
        let part = (!name.is_empty()).then(|| Word::Token(self.token, name).typed());
        let pieces = pieces(filter);
        let others = pieces.iter().filter(|piece| self.part_of(piece).is_none());
        let words = part.as_deref().into_iter().chain(others.map(|piece| piece.raw));
        words.collect::<Vec<_>>().join(" ")
    }

    /// The part after the present one, or before it. "All" comes first.
    fn neighbour(&self, filter: &str, by: isize) -> &'static str {
        let at =
            self.selected(filter).and_then(|name| self.names.iter().position(|one| *one == name));
        let at = at.map_or(0, |at| at + 1).checked_add_signed(by);
        let count = self.names.len() + 1;
        match at.unwrap_or(count - 1) % count {
            0 => "",
            at => self.names[at - 1],
        }
    }
}

/// The first part to show, so that the present one fits.
fn first_shown(widths: &[usize], seen: usize, room: usize) -> usize {
    (0..seen).find(|from| widths[*from..=seen].iter().sum::<usize>() <= room).unwrap_or(seen)
}

/// A count as the service gives it: a number, or `10k+`.
fn said(count: &Json) -> String {
    match count {
        Json::String(text) => text.clone(),
        count => count.as_i64().map(number).unwrap_or_default(),
    }
}

impl Browser {
    /// How many rows the filter shows, where that is known exactly.
    pub(super) fn total_of(&self, counts: &Json) -> Option<i64> {
        let parts = self.spec.parts?;
        parts.included(&self.applied).into_iter().map(|name| counts[name].as_i64()).sum()
    }

    pub(super) fn see_part(&mut self, name: &str) -> Step {
        let Some(parts) = self.spec.parts else { return Step::None };
        let filter = parts.filter(self.list.filter.text(), name);
        self.choose("filter", &filter)
    }

    pub(super) fn see_neighbour_part(&mut self, by: isize) -> Step {
        let Some(parts) = self.spec.parts else { return Step::None };
        self.see_part(parts.neighbour(self.list.filter.text(), by))
    }

    /// The parts with their counts, as one line, and where they are.
    pub(super) fn parts_line(&self, area: Rect, theme: Theme) -> Option<(Line<'static>, Clicks)> {
        let parts = self.spec.parts?;
        let asked = parts.included(&self.applied);
        let is_all = asked.len() == parts.names.len();
        let all: Option<i64> = parts.names.iter().map(|name| self.counts[*name].as_i64()).sum();
        let all = ("", is_all, all.map(number).unwrap_or_default());
        let named = parts.names.iter().map(|name| {
            let is_seen = !is_all && asked.iter().any(|one| one == name);
            (*name, is_seen, said(&self.counts[*name]))
        });
        let text = |(name, is_seen, count): (&'static str, bool, String)| {
            let title = if name.is_empty() { "all" } else { name };
            let count = if count.is_empty() { count } else { format!(" {count}") };
            (name, is_seen, format!(" {title}{count} "))
        };
        let texts: Vec<_> = std::iter::once(all).chain(named).map(text).collect();
        let widths: Vec<usize> = texts.iter().map(|(_, _, text)| width(text)).collect();
        let seen = texts.iter().position(|(_, is_seen, _)| *is_seen).unwrap_or(0);
        let from = first_shown(&widths, seen, usize::from(area.width).saturating_sub(1));
        let sign = if from > 0 { "‹" } else { " " };
        let (mut spans, mut clicks, mut x) = (vec![Span::raw(sign)], Vec::new(), area.x + 1);
        for (name, is_seen, text) in texts.into_iter().skip(from) {
            let wide = width(&text) as u16;
            if x + wide > area.right() {
                break;
            }
            let role = if is_seen { Role::Cursor } else { Role::Quiet };
            spans.push(Span::styled(text, theme.style(role)));
            clicks.push((Rect::new(x, area.y, wide, 1), format!("{}:{name}", parts.token)));
            x += wide;
        }
        Some((Line::from(spans), clicks))
    }
}

/// The usual columns, put in order.
pub(super) fn arranged(usual: Vec<Column>, shape: &Shape) -> Vec<Column> {
    shape.arrange(usual, |column| &column.title, |column, width| column.cells = width)
}

impl Browser {
    pub(super) fn usual(&self) -> Vec<Column> {
        let mut columns = (self.spec.columns)(&self.subject);
        columns.extend(self.extra_columns());
        columns
    }

    pub(super) fn columns_form(&self) -> Step {
        let usual = self.usual();
        let names: Vec<_> = usual.iter().map(|column| column.title.as_str()).collect();
        let hint = "one a line, in their order; a number behind it is its width; - hides it";
        let field = Field::lines("columns", "Columns", &self.shape.text(&names)).hint(hint);
        let note = "Kept for this site, as the order of the rows.";
        let title = format!("Columns of {}", (self.spec.title)(&self.subject));
        Form::new(title, vec![field], |values| Step::Set("columns", values.text("columns")))
            .note(note)
            .step()
    }

    pub(super) fn set_columns(&mut self, text: &str) -> Step {
        let usual = self.usual();
        let names: Vec<_> = usual.iter().map(|column| column.title.as_str()).collect();
        if let Err(why) = self.shape.read(text, &names) {
            return Step::Fault(Fault::at("columns", why));
        }
        self.columns = arranged(usual, &self.shape);
        Step::None
    }
}

/// The place for the reply of that call.
pub(super) const EXTRA_SLOT: u8 = 7;

/// The other call, and how its reply fills columns.
pub(crate) struct ExtraColumns {
    pub(crate) ask: fn() -> Result<Calling, Fault>,
    /// The columns that show it.
    pub(crate) columns: fn(&Json) -> Vec<Column>,
    /// Puts it into a row.
    pub(crate) put: fn(&mut Json, &Json),
}

impl Browser {
    pub(super) fn ask_extra(&self) -> Step {
        let ask = self.spec.extra.map(|extra| (extra.ask)());
        ask.map(|call| call.slot(EXTRA_SLOT)).unwrap_or_default()
    }

    /// Takes the reply, and reads the rows again if it differs from the last one.
    pub(super) fn take_extra(&mut self, outcome: Result<Reply, Fault>) -> (Step, bool) {
        let told = match outcome {
            Ok(reply) => reply.data,
            Err(fault) if fault.is_forbidden() => Json::Null,
            Err(_) => return (Step::None, false),
        };
        let told = if told.as_array().is_some_and(Vec::is_empty) { Json::Null } else { told };
        if told == self.extra {
            return (Step::None, false);
        }
        self.extra = told;
        self.columns = arranged(self.usual(), &self.shape);
        self.version += 1;
        (self.read(), true)
    }

    pub(super) fn put_extra(&self, rows: &mut [Row]) {
        if let Some(extra) = self.spec.extra {
            rows.iter_mut().for_each(|row| (extra.put)(&mut row.json, &self.extra));
        }
    }

    /// The columns that show it now.
    fn extra_columns(&self) -> Vec<Column> {
        self.spec.extra.map(|extra| (extra.columns)(&self.extra)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_part_is_seen_or_all() {
        let parts = Parts { token: "state", names: &["new", "done"] };
        for (filter, seen, after, before) in [
            ("", None, "new", "done"),
            ("state:new ada", Some("new"), "done", ""),
            ("ada state:done", Some("done"), "", "new"),
            ("state:new,done", None, "new", "done"),
            ("estate:new", None, "new", "done"),
            ("\"a state:new\" state:\"done\"", Some("done"), "", "new"),
        ] {
            assert_eq!(parts.selected(filter), seen, "{filter}");
            assert_eq!(parts.neighbour(filter, 1), after, "{filter}");
            assert_eq!(parts.neighbour(filter, -1), before, "{filter}");
        }
        for (filter, asked) in [
            ("ada", &["new", "done"][..]),
            ("state:new", &["new"][..]),
            ("state:done,new", &["new", "done"][..]),
            ("!state:done ada", &["new"][..]),
            ("state:new,done !state:new", &["done"][..]),
        ] {
            assert_eq!(parts.included(filter), asked, "{filter}");
        }
        assert_eq!(parts.filter("ada state:done", "new"), "state:new ada");
        assert_eq!(parts.filter("!state:new ada", ""), "ada");
        let quoted = r#""state:new" to:"a  state:new""#;
        for text in [r#""state: a \" b  c""#, quoted, "\"open state:new"] {
            assert_eq!(parts.selected(text), None, "{text}");
            assert_eq!(parts.included(text), ["new", "done"], "{text}");
            let filter = parts.filter(text, "new");
            assert_eq!(filter, format!("state:new {text}"));
            assert_eq!(parts.filter(&filter, ""), text);
        }
    }

    #[test]
    fn the_part_that_is_seen_has_room() {
        for (seen, room, first) in [(0, 3, 0), (1, 9, 0), (2, 15, 0), (2, 14, 1), (2, 4, 2)] {
            assert_eq!(first_shown(&[4, 5, 6], seen, room), first, "{seen} in {room}");
        }
    }
}
