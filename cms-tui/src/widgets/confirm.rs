//! A question before something that cannot be taken back.

use crossterm::event::KeyCode;

use super::input::Input;
use crate::keys::Key;

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
