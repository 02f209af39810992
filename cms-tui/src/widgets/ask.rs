//! A short list to choose from, and a question before something that cannot be taken back.

use crossterm::event::KeyCode;

use super::input::Input;
use crate::{keys::Key, text::safe};

/// What an entry leads to.
pub(crate) type Choose<S> = Box<dyn FnOnce(usize) -> S + Send>;

/// Entries, one of which is chosen.
pub(crate) struct Menu<S> {
    pub(crate) title: String,
    pub(crate) entries: Vec<String>,
    pub(crate) at: usize,
    pub(crate) choose: Choose<S>,
}

impl<S> Menu<S> {
    pub(crate) fn new(
        title: impl Into<String>,
        entries: Vec<String>,
        choose: impl FnOnce(usize) -> S + Send + 'static,
    ) -> Self {
        Self { title: title.into(), entries, at: 0, choose: Box::new(choose) }
    }

    /// Some: the menu is done. It holds the chosen entry, or None if the menu was closed.
    pub(crate) fn key(&mut self, key: Key) -> Option<Option<usize>> {
        match (key.typed(), key.code) {
            (Some('j'), _) | (_, KeyCode::Down) => {
                self.at = (self.at + 1).min(self.entries.len().saturating_sub(1));
            }
            (Some('k'), _) | (_, KeyCode::Up) => self.at = self.at.saturating_sub(1),
            (_, KeyCode::Enter) if self.entries.is_empty() => return Some(None),
            (_, KeyCode::Enter) => return Some(Some(self.at)),
            (Some(c), _) if c.is_ascii_digit() => {
                let number = (c as usize).checked_sub('1' as usize);
                return number.filter(|number| *number < self.entries.len()).map(Some);
            }
            (Some('q'), _) | (_, KeyCode::Esc) => return Some(None),
            _ => {}
        }
        None
    }
}

/// A question. It is answered with `y`, or by typing a name when much is at stake.
pub(crate) struct Confirm<S> {
    pub(crate) text: String,
    /// What to type; None: `y`.
    pub(crate) name: Option<String>,
    pub(crate) typed: Input,
    /// It asks whether to quit: Ctrl-c says yes.
    pub(crate) is_to_quit: bool,
    pub(crate) yes: Box<dyn FnOnce() -> S + Send>,
}

/// What a key did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Yes,
    No,
    /// What was typed is not the name.
    Wrong,
    Open,
}

impl<S> Confirm<S> {
    pub(crate) fn new(text: impl Into<String>, yes: impl FnOnce() -> S + Send + 'static) -> Self {
        Self {
            text: text.into(),
            name: None,
            typed: Input::default(),
            is_to_quit: false,
            yes: Box::new(yes),
        }
    }

    /// Asks to type this name.
    pub(crate) fn typing(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// What is to be typed.
    pub(crate) fn wanted(&self) -> &'static str {
        let is_count = |name: &String| name.bytes().all(|byte| byte.is_ascii_digit());
        if self.name.as_ref().is_some_and(is_count) { "number" } else { "name" }
    }

    pub(crate) fn key(&mut self, key: Key) -> Answer {
        match (&self.name, key.code) {
            (_, KeyCode::Esc) => Answer::No,
            (None, _) if matches!(key.typed(), Some('y' | 'Y')) => Answer::Yes,
            (None, _) => Answer::No,
            (Some(name), KeyCode::Enter) if is_name(self.typed.text(), name) => Answer::Yes,
            (Some(_), KeyCode::Enter) => Answer::Wrong,
            (Some(_), _) => {
                self.typed.key(key);
                Answer::Open
            }
        }
    }
}

/// Whether the name was typed as the screen shows it: nobody can type characters that are left
/// out. If the screen shows nothing of a name, it must be typed whole: Enter alone is no answer.
fn is_name(typed: &str, name: &str) -> bool {
    let shown = safe(name);
    if shown.is_empty() { typed == name } else { safe(typed) == shown }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_choose_what_is_there() {
        let mut menu = Menu::new("", vec!["a".to_owned(), "b".to_owned()], |n| n);
        for (key, chosen) in [
            ("0", None),
            ("1", Some(Some(0))),
            ("2", Some(Some(1))),
            ("3", None),
            ("Alt-1", None),
            ("Ctrl-1", None),
        ] {
            assert_eq!(menu.key(key.parse().expect("a key")), chosen, "{key}");
        }
    }

    #[test]
    fn a_question_is_answered_by_y_alone() {
        let mut ask = Confirm::new("", || ());
        for (key, answer) in [
            ("y", Answer::Yes),
            ("Y", Answer::Yes),
            ("Ctrl-y", Answer::No),
            ("Alt-y", Answer::No),
            ("Esc", Answer::No),
            ("Enter", Answer::No),
            ("x", Answer::No),
        ] {
            assert_eq!(ask.key(key.parse().expect("a key")), answer, "{key}");
        }
    }

    #[test]
    fn a_name_is_typed_as_it_is_shown() {
        let family = "fam \u{1f469}\u{200d}\u{1f467}";
        for (name, typed, answer) in [
            (family, "fam \u{1f469}\u{1f467}", Answer::Yes),
            (family, family, Answer::Yes),
            (family, "fam", Answer::Wrong),
            (family, "", Answer::Wrong),
            ("\u{200d}", "", Answer::Wrong),
            ("\u{200d}", "\u{200d}", Answer::Yes),
        ] {
            let mut ask = Confirm::new("", || ()).typing(name);
            ask.typed.insert(typed);
            assert_eq!(ask.key("Enter".parse().expect("a key")), answer, "{typed:?}");
        }
    }
}
