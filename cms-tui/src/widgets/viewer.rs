//! Text to look at: only its visible lines are drawn.

use crossterm::event::KeyCode;
use serde_json::Value as Json;

use super::pager::Pager;
use crate::{keys::Key, text, theme::Role};

/// Lines held; the rest of a longer text is told, not shown.
const MOST: usize = 20_000;

/// A text in a window of its own.
#[derive(Clone, Debug, Default)]
pub(crate) struct Viewer {
    pub(crate) title: String,
    pub(crate) lines: Vec<(Role, String)>,
    pub(crate) pager: Pager,
    /// A word that the user must type before the window closes, because its text is
    /// shown only once.
    pub(crate) until: Option<&'static str>,
    pub(crate) typed: String,
    /// Whether Esc was pressed once over a text that is shown only once.
    pub(crate) is_leaving: bool,
    /// What Ctrl-y copies.
    pub(crate) copy: Option<String>,
}

/// What a key did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ViewerOutcome {
    Open,
    Closed,
    Copy(String),
}

impl Viewer {
    pub(crate) fn new(title: impl Into<String>, lines: Vec<(Role, String)>) -> Self {
        let mut lines = lines;
        let whole = lines.len();
        if whole > MOST {
            lines.truncate(MOST);
            lines.push((Role::Warn, format!("… {} more lines", whole - MOST)));
        }
        Self { title: title.into(), lines, ..Self::default() }
    }

    pub(crate) fn text(title: impl Into<String>, text: &str) -> Self {
        Self::new(title, plain(text))
    }

    pub(crate) fn json(title: impl Into<String>, value: &Json) -> Self {
        Self::new(title, json_lines(value))
    }

    /// A text that is shown only once: its window closes when the user has typed SAVED.
    pub(crate) fn once(title: impl Into<String>, about: &str, secret: String) -> Self {
        let mut lines = plain(about);
        lines.push((Role::Plain, String::new()));
        lines.extend(secret.lines().map(|line| (Role::Title, format!("  {line}"))));
        lines.push((Role::Plain, String::new()));
        let mut viewer = Self::new(title, lines);
        (viewer.until, viewer.copy) = (Some("SAVED"), Some(secret));
        viewer
    }

    pub(crate) fn key(&mut self, key: Key) -> ViewerOutcome {
        if let (true, KeyCode::Char('y'), Some(copy)) = (key.ctrl, key.code, &self.copy) {
            return ViewerOutcome::Copy(copy.clone());
        }
        if let Some(word) = self.until {
            let leaving = std::mem::take(&mut self.is_leaving);
            if leaving && key.code == KeyCode::Esc {
                return ViewerOutcome::Closed;
            }
            match (key.typed(), key.code) {
                (Some(c), _) => self.typed.push(c.to_ascii_uppercase()),
                (_, KeyCode::Backspace) => drop(self.typed.pop()),
                (_, KeyCode::Down) => self.pager.walk("down"),
                (_, KeyCode::Up) => self.pager.walk("up"),
                (_, KeyCode::Esc) => {
                    self.is_leaving = true;
                    return ViewerOutcome::Open;
                }
                _ => {}
            }
            if !word.starts_with(&self.typed) {
                self.typed.clear();
            }
            return if self.typed == word { ViewerOutcome::Closed } else { ViewerOutcome::Open };
        }
        if self.pager.key(key, &self.lines) {
            return ViewerOutcome::Open;
        }
        let verb = match key.code {
            KeyCode::Char('j') | KeyCode::Down => "down",
            KeyCode::Char('k') | KeyCode::Up => "up",
            KeyCode::Char('d') | KeyCode::PageDown => "half_down",
            KeyCode::Char('u') | KeyCode::PageUp => "half_up",
            KeyCode::Char('g') | KeyCode::Home => "first",
            KeyCode::Char('G') | KeyCode::End => "last",
            KeyCode::Char('/') => "search",
            KeyCode::Char('n') => "search_next",
            KeyCode::Char('N') => "search_before",
            KeyCode::Char('w') => "wrap",
            KeyCode::Char('y') => {
                let text = self.lines.iter().map(|(_, line)| line.as_str()).collect::<Vec<_>>();
                return ViewerOutcome::Copy(text.join("\n"));
            }
            KeyCode::Esc if self.pager.back() => return ViewerOutcome::Open,
            KeyCode::Esc | KeyCode::Enter | KeyCode::Char('q') => return ViewerOutcome::Closed,
            _ => return ViewerOutcome::Open,
        };
        self.pager.act(verb, &self.lines);
        ViewerOutcome::Open
    }

    /// Whether it fits.
    pub(crate) fn paste(&mut self, text: &str) -> bool {
        self.pager.paste(text, &self.lines)
    }
}

fn plain(text: &str) -> Vec<(Role, String)> {
    text.lines().map(|line| (Role::Plain, text::safe(line).into_owned())).collect()
}

/// JSON laid out, a member a line.
pub(crate) fn json_lines(value: &Json) -> Vec<(Role, String)> {
    plain(&serde_json::to_string_pretty(value).unwrap_or_default())
}

/// A text; laid out, where it is JSON.
pub(crate) fn laid_out(text: &str) -> Vec<(Role, String)> {
    serde_json::from_str::<Json>(text).map_or_else(|_| plain(text), |json| json_lines(&json))
}

/// The differences between two JSON values, one line for each path.
pub(crate) fn differences(old: &Json, new: &Json) -> Vec<(Role, String)> {
    let (old, new) = (flat(old), flat(new));
    let mut lines = Vec::new();
    let paths: std::collections::BTreeSet<_> = old.keys().chain(new.keys()).collect();
    for path in paths {
        match (old.get(path), new.get(path)) {
            (Some(a), Some(b)) if a == b => {}
            (a, b) => {
                let said = |sign, value: &Option<&String>| {
                    value.map(|value| format!("{sign} {path}: {value}"))
                };
                lines.extend(said('-', &a).map(|text| (Role::Bad, text)));
                lines.extend(said('+', &b).map(|text| (Role::Good, text)));
            }
        }
    }
    if lines.is_empty() {
        lines.push((Role::Quiet, "They are the same.".to_owned()));
    }
    lines
}

fn flat(value: &Json) -> std::collections::BTreeMap<String, String> {
    fn walk(at: &str, value: &Json, into: &mut std::collections::BTreeMap<String, String>) {
        let below =
            |name: &str| if at.is_empty() { name.to_owned() } else { format!("{at}.{name}") };
        match value {
            Json::Object(members) if !members.is_empty() => {
                members.iter().for_each(|(name, value)| walk(&below(name), value, into));
            }
            Json::Array(items) if !items.is_empty() => {
                let items = items.iter().enumerate();
                items.for_each(|(n, value)| walk(&below(&n.to_string()), value, into));
            }
            leaf => drop(into.insert(at.to_owned(), text::safe(&leaf.to_string()).into_owned())),
        }
    }
    let mut into = std::collections::BTreeMap::new();
    walk("", value, &mut into);
    into
}
