//! The mouse: whatever it does, a key does too.

use ratatui::layout::Position;

use super::{Effect, Model};
use crate::screens::Clicked;

/// What the mouse did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mouse {
    /// The left button, at a cell.
    Click(Position),
    WheelDown,
    WheelUp,
}

impl Model {
    pub(super) fn mouse(&mut self, mouse: Mouse) -> Vec<Effect> {
        let wheel = match mouse {
            Mouse::WheelDown => "Down",
            Mouse::WheelUp => "Up",
            // A click beside a form must not lose it.
            Mouse::Click(_) if !self.over.is_empty() => return Vec::new(),
            Mouse::Click(at) => return self.click(at),
        };
        wheel.parse().map(|key| self.key(key)).unwrap_or_default()
    }

    fn click(&mut self, at: Position) -> Vec<Effect> {
        self.told = None;
        let tabs = self.tabs_at.borrow();
        let tab = tabs.iter().find(|(area, _)| area.contains(at)).map(|(_, verb)| *verb);
        drop(tabs);
        if let Some(verb) = tab {
            return self.go(&format!("go.{verb}"));
        }
        let Some(shown) = self.top() else { return Vec::new() };
        match shown.screen.click(at) {
            Clicked::Nothing => Vec::new(),
            Clicked::Moved(step) => self.step(*step),
            Clicked::Again => self.go("list.open"),
        }
    }
}
