//! A short list to choose from, and a question before something that cannot be taken back.

use crossterm::event::KeyCode;

use super::input::Input;
use crate::keys::Key;

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

    /// Some: chosen, or closed with None.
    pub(crate) fn key(&mut self, key: Key) -> Option<Option<usize>> {
        match key.code {
            KeyCode::Char('j') | KeyCode::Down => {
                self.at = (self.at + 1).min(self.entries.len().saturating_sub(1));
            }
            KeyCode::Char('k') | KeyCode::Up => self.at = self.at.saturating_sub(1),
            KeyCode::Enter if self.entries.is_empty() => return Some(None),
            KeyCode::Enter => return Some(Some(self.at)),
            KeyCode::Char(c) if c.is_ascii_digit() => {
                let number = (c as usize).checked_sub('1' as usize);
                return number.filter(|number| *number < self.entries.len()).map(Some);
            }
            KeyCode::Esc | KeyCode::Char('q') => return Some(None),
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
pub(crate) enum Answer {
    Yes,
    No,
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

    pub(crate) fn key(&mut self, key: Key) -> Answer {
        match (&self.name, key.code) {
            (_, KeyCode::Esc) => Answer::No,
            (None, KeyCode::Char('y' | 'Y')) => Answer::Yes,
            (None, _) => Answer::No,
            (Some(name), KeyCode::Enter) if self.typed.text() == name => Answer::Yes,
            (Some(_), _) => {
                self.typed.key(key);
                Answer::Open
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_choose_what_is_there() {
        let mut menu = Menu::new("", vec!["a".to_owned(), "b".to_owned()], |n| n);
        for (key, chosen) in [("0", None), ("1", Some(Some(0))), ("2", Some(Some(1))), ("3", None)]
        {
            assert_eq!(menu.key(key.parse().expect("a key")), chosen, "{key}");
        }
    }
}
