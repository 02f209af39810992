//! Parts of a list, such as the states of an inbox: the service counts them, the user sees one of
//! them or all. Which one is a word of the filter.

use ratatui::{
    layout::Rect,
    text::{Line, Span},
};
use serde_json::Value as Json;

use super::Browser;
use crate::{
    step::Step,
    text::{number, width},
    theme::{Role, Theme},
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
    /// The part that a filter shows; None: all, or several.
    pub(crate) fn seen(&self, filter: &str) -> Option<&'static str> {
        let token = |word: &str| {
            let value = word.strip_prefix(self.token)?.strip_prefix(':')?;
            self.names.iter().find(|name| **name == value).copied()
        };
        filter.split_whitespace().find_map(token)
    }

    /// The same filter for another part; all without a name.
    pub(crate) fn filter(&self, filter: &str, name: &str) -> String {
        let is_token = |word: &str| {
            word.trim_start_matches('!')
                .strip_prefix(self.token)
                .is_some_and(|rest| rest.starts_with(':'))
        };
        let mut words: Vec<String> =
            filter.split_whitespace().filter(|word| !is_token(word)).map(str::to_owned).collect();
        if !name.is_empty() {
            words.insert(0, format!("{}:{name}", self.token));
        }
        words.join(" ")
    }

    /// The part after the one that is seen, or before it; all comes first.
    fn beside(&self, filter: &str, by: isize) -> &'static str {
        let at = self.seen(filter).and_then(|name| self.names.iter().position(|one| *one == name));
        let at = at.map_or(0, |at| at + 1).checked_add_signed(by);
        let count = self.names.len() + 1;
        match at.unwrap_or(count - 1) % count {
            0 => "",
            at => self.names[at - 1],
        }
    }
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
        match parts.seen(&self.applied) {
            Some(name) => counts[name].as_i64(),
            None => parts.names.iter().map(|name| counts[*name].as_i64()).sum(),
        }
    }

    pub(super) fn see_part(&mut self, name: &str) -> Step {
        let Some(parts) = self.spec.parts else { return Step::None };
        let filter = parts.filter(self.list.filter.text(), name);
        self.choose("filter", &filter)
    }

    pub(super) fn see_part_beside(&mut self, by: isize) -> Step {
        let Some(parts) = self.spec.parts else { return Step::None };
        self.see_part(parts.beside(self.list.filter.text(), by))
    }

    /// The parts with their counts, as one line, and where they are.
    pub(super) fn parts_line(&self, area: Rect, theme: Theme) -> Option<(Line<'static>, Clicks)> {
        let parts = self.spec.parts?;
        let seen = parts.seen(&self.applied).unwrap_or_default();
        let all: Option<i64> = parts.names.iter().map(|name| self.counts[*name].as_i64()).sum();
        let all = (String::new(), all.map(number).unwrap_or_default());
        let named = parts.names.iter().map(|name| ((*name).to_owned(), said(&self.counts[*name])));
        let (mut spans, mut clicks, mut x) = (vec![Span::raw(" ")], Vec::new(), area.x + 1);
        for (name, count) in std::iter::once(all).chain(named) {
            let title = if name.is_empty() { "all" } else { &name };
            let text = match count.is_empty() {
                true => format!(" {title} "),
                false => format!(" {title} {count} "),
            };
            let wide = width(&text) as u16;
            if x + wide > area.right() {
                break;
            }
            let role = if name == seen { Role::Cursor } else { Role::Quiet };
            spans.push(Span::styled(text, theme.style(role)));
            clicks.push((Rect::new(x, area.y, wide, 1), format!("{}:{name}", parts.token)));
            x += wide;
        }
        Some((Line::from(spans), clicks))
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
        ] {
            assert_eq!(parts.seen(filter), seen, "{filter}");
            assert_eq!(parts.beside(filter, 1), after, "{filter}");
            assert_eq!(parts.beside(filter, -1), before, "{filter}");
        }
        assert_eq!(parts.filter("ada state:done", "new"), "state:new ada");
        assert_eq!(parts.filter("!state:new ada", ""), "ada");
    }
}
