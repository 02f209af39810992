//! Keys as text, and the keys that a user has changed.

use std::{collections::BTreeMap, fmt, str::FromStr};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use serde::Deserialize;

/// A key with its modifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd)]
pub(crate) struct Key {
    pub(crate) code: KeyCode,
    pub(crate) ctrl: bool,
    pub(crate) alt: bool,
}

const NAMED: [(&str, KeyCode); 15] = [
    ("Enter", KeyCode::Enter),
    ("Esc", KeyCode::Esc),
    ("Tab", KeyCode::Tab),
    ("Shift-Tab", KeyCode::BackTab),
    ("Space", KeyCode::Char(' ')),
    ("Up", KeyCode::Up),
    ("Down", KeyCode::Down),
    ("Left", KeyCode::Left),
    ("Right", KeyCode::Right),
    ("PageUp", KeyCode::PageUp),
    ("PageDown", KeyCode::PageDown),
    ("Home", KeyCode::Home),
    ("End", KeyCode::End),
    ("Backspace", KeyCode::Backspace),
    ("Delete", KeyCode::Delete),
];

impl Key {
    /// The character that the key types.
    pub(crate) fn typed(self) -> Option<char> {
        match self.code {
            KeyCode::Char(c) if !self.ctrl && !self.alt => Some(c),
            _ => None,
        }
    }
}

impl From<KeyEvent> for Key {
    fn from(event: KeyEvent) -> Self {
        let ctrl = event.modifiers.contains(KeyModifiers::CONTROL);
        let code = match event.code {
            KeyCode::Char(c) if ctrl => KeyCode::Char(c.to_ascii_lowercase()),
            KeyCode::Tab if event.modifiers.contains(KeyModifiers::SHIFT) => KeyCode::BackTab,
            code => code,
        };
        Self { code, ctrl, alt: event.modifiers.contains(KeyModifiers::ALT) }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.ctrl {
            f.write_str("Ctrl-")?;
        }
        if self.alt {
            f.write_str("Alt-")?;
        }
        if let Some((name, _)) = NAMED.iter().find(|(_, code)| *code == self.code) {
            return f.write_str(name);
        }
        match self.code {
            KeyCode::Char(c) => write!(f, "{c}"),
            KeyCode::F(n) => write!(f, "F{n}"),
            other => write!(f, "{other:?}"),
        }
    }
}

impl FromStr for Key {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let unknown = || format!("{text:?} is no key: write j, G, Ctrl-p, Alt-x, Enter or F5");
        let (mut rest, mut ctrl, mut alt) = (text, false, false);
        loop {
            if let Some(after) = rest.strip_prefix("Ctrl-") {
                (rest, ctrl) = (after, true);
            } else if let Some(after) = rest.strip_prefix("Alt-") {
                (rest, alt) = (after, true);
            } else {
                break;
            }
        }
        let named = NAMED.iter().find(|(name, _)| name.eq_ignore_ascii_case(rest));
        let mut chars = rest.chars();
        let code = match (named, chars.next(), chars.next()) {
            (Some((_, code)), ..) => *code,
            (None, Some(c), None) => KeyCode::Char(c),
            (None, Some('F'), Some(_)) => {
                let n = rest[1..].parse().ok().filter(|n| (1..=12).contains(n));
                KeyCode::F(n.ok_or_else(unknown)?)
            }
            _ => return Err(unknown()),
        };
        Ok(Self { code, ctrl, alt })
    }
}

/// What `keys.toml` holds.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct KeysFile {
    /// `mono` for no colours.
    pub(crate) theme: Option<String>,
    /// Action → its keys, in place of the usual ones.
    pub(crate) keys: BTreeMap<String, Vec<String>>,
    /// Name → a command of the user's own.
    pub(crate) commands: BTreeMap<String, OwnCommand>,
}

/// A command line run with the thing under the cursor.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OwnCommand {
    pub(crate) key: String,
    /// A line of `cms`, with `{id}`, `{name}`, `{table}`.
    pub(crate) run: String,
    /// The noun of the screen; everywhere without it.
    pub(crate) on: Option<String>,
}

impl KeysFile {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        toml::from_str(text).map_err(|e| format!("keys.toml: {}", e.message()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_written_as_they_are_read() {
        for text in ["j", "G", "?", "Ctrl-p", "Alt-x", "Enter", "Shift-Tab", "F5", "Space", "-"] {
            assert_eq!(text.parse::<Key>().expect(text).to_string(), text);
        }
        for text in ["", "jj", "F13", "Ctrl-", "Hyper-x"] {
            assert!(text.parse::<Key>().is_err(), "{text}");
        }
    }
}
