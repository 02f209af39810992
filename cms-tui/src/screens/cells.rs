//! What stands in a cell: text, and what it means.

use serde_json::Value as Json;

use crate::{moment, text, theme::Role};

pub(crate) type Cell = (String, Role);

/// Makes a cell of a row's member.
pub(crate) type Show = fn(&Json, &str, i64) -> Cell;

/// A column of a list.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub(crate) title: String,
    pub(crate) name: String,
    /// Its width; 0: it shares what is left.
    pub(crate) cells: usize,
    /// Lists narrower than this leave it out.
    pub(crate) from: usize,
    pub(crate) show: Show,
}

pub(crate) fn column(title: &str, name: &str, cells: usize, show: Show) -> Column {
    Column { title: title.to_owned(), name: name.to_owned(), cells, from: 0, show }
}

impl Column {
    /// Only in lists of so many cells.
    pub(crate) fn from(self, from: usize) -> Self {
        Self { from, ..self }
    }
}

/// A value as one line.
pub(crate) fn plain_text(value: &Json) -> String {
    match value {
        Json::Null => String::new(),
        Json::String(text) => text::safe(text).into_owned(),
        Json::Array(items) if items.iter().all(Json::is_string) => {
            let items: Vec<_> = items.iter().filter_map(Json::as_str).map(text::safe).collect();
            items.join(", ")
        }
        other => text::safe(&other.to_string()).into_owned(),
    }
}

pub(crate) fn plain(row: &Json, name: &str, _: i64) -> Cell {
    (plain_text(&row[name]), Role::Plain)
}

pub(crate) fn number(row: &Json, name: &str, _: i64) -> Cell {
    let text = row[name].as_i64().map_or_else(|| plain_text(&row[name]), text::number);
    (format!("{text:>8}"), Role::Plain)
}

pub(crate) fn age(row: &Json, name: &str, now: i64) -> Cell {
    let text = row[name].as_str().map(|at| moment::age(at, now));
    (text.unwrap_or_else(|| "—".to_owned()), Role::Plain)
}

pub(crate) fn clock(row: &Json, name: &str, now: i64) -> Cell {
    (row[name].as_str().map(|at| moment::clock(at, now)).unwrap_or_default(), Role::Plain)
}

/// A switch: a sign beside the colour.
pub(crate) fn active(row: &Json, name: &str, _: i64) -> Cell {
    match row[name].as_bool() {
        Some(true) => ("● on".to_owned(), Role::Good),
        _ => ("○ off".to_owned(), Role::Quiet),
    }
}

pub(crate) fn yes(row: &Json, name: &str, _: i64) -> Cell {
    (if row[name] == true { "yes" } else { "—" }.to_owned(), Role::Plain)
}

/// The state of a job or an attempt.
pub(crate) fn status(row: &Json, name: &str, _: i64) -> Cell {
    let status = row[name].as_str().unwrap_or_default();
    let (sign, role) = match status {
        "delivered" => ("✓", Role::Good),
        "pending" | "sending" => ("●", Role::Plain),
        "retry" => ("◐", Role::Warn),
        "held" => ("‖", Role::Warn),
        "cancelled" => ("⊘", Role::Quiet),
        _ => ("✗", Role::Bad),
    };
    (format!("{sign} {}", text::safe(status)), role)
}

/// Members, a line each.
pub(crate) fn members(value: &Json, names: &[(&str, &str)], now: i64) -> Vec<(Role, String)> {
    let line = |(label, name): &(&str, &str)| {
        let member = &value[*name];
        let mut text = plain_text(member);
        if name.ends_with("_at")
            && let Some(at) = member.as_str()
        {
            text = format!("{}  ({})", moment::clock(at, now), moment::age(at, now));
        }
        (Role::Plain, format!("{label:<12} {}", if text.is_empty() { "—" } else { &text }))
    };
    names.iter().map(line).collect()
}
