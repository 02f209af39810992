//! What stands in a cell: text, and what it means.

use serde_json::Value as Json;

use crate::{moment, text, theme::Role};

pub(crate) type Cell = (String, Role);

/// Lines of text, and what each means.
pub(crate) type Lines = Vec<(Role, String)>;

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

/// The items of a list.
pub(crate) fn items(value: &Json) -> &[Json] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// The texts of a list.
pub(crate) fn texts(value: &Json) -> impl Iterator<Item = &str> {
    items(value).iter().filter_map(Json::as_str)
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

/// What stands for details that are not read yet.
pub(crate) fn loading() -> (Role, String) {
    (Role::Quiet, "Loading …".to_owned())
}

/// A text of several lines in so many cells, each line behind the indent.
pub(crate) fn paragraph(role: Role, indent: &str, text: &str, cells: usize) -> Lines {
    let lines = text::wrapped(text, cells).into_iter();
    lines.map(|line| (role, format!("{indent}{line}"))).collect()
}

/// Why something failed; nothing when it did not.
pub(crate) fn reason(why: &Json) -> Lines {
    paragraph(Role::Bad, "", why.as_str().unwrap_or_default(), 76)
}

/// Members, a line each.
pub(crate) fn members(value: &Json, names: &[(&str, &str)], now: i64) -> Lines {
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

/// The plain members of a row besides `named` and `known`, a line each. So a member that the
/// service adds is seen at once. The title of a preview has the id.
pub(crate) fn others(row: &Json, named: &[(&str, &str)], known: &[&str], now: i64) -> Lines {
    let is_other = |(name, value): &(&String, &Json)| {
        let name = name.as_str();
        let is_plain = value.is_string() || value.is_number() || value.is_boolean();
        let is_known = known.contains(&name) || named.iter().any(|(_, one)| *one == name);
        is_plain && name != "id" && !is_known
    };
    let line = |(name, _): (&String, &Json)| members(row, &[(&*label(name), &**name)], now);
    row.as_object().into_iter().flatten().filter(is_other).flat_map(line).collect()
}

/// The name of a member as a label: `max_retries` is "Max retries", `expires_on` "Expires".
pub(crate) fn label(name: &str) -> String {
    let short = name.strip_suffix("_at").or_else(|| name.strip_suffix("_on"));
    let words = text::safe(short.unwrap_or(name)).replace('_', " ");
    let mut letters = words.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn members_that_nobody_names_are_shown_too() {
        let row = json!({
            "id": 7, "name": "shop", "prefix": "cms_k1", "note": "of the till",
            "last_seen_at": "2026-11-21T09:30:00Z", "rights": [], "expires_on": null,
            "\u{9b}2J": 1,
        });
        let lines = others(&row, &[("Prefix", "prefix")], &["name"], 0);
        let mut texts: Vec<_> = lines.iter().map(|(_, text)| text.as_str()).collect();
        texts.sort_unstable();
        assert_eq!(texts.len(), 3, "{texts:?}");
        assert!(texts.contains(&"Note         of the till"), "{texts:?}");
        assert!(texts.iter().any(|text| text.starts_with("Last seen    ")), "{texts:?}");
        assert!(!texts.concat().contains('\u{9b}'), "{texts:?}");
    }
}
