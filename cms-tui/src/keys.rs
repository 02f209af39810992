//! What each key does, and the help about it

use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use crate::model::Msg;

/// The lines of the help: keys, and what they do.
pub(crate) const HELP: [(&str, &str); 9] = [
    ("j k ↓ ↑", "one down, one up"),
    ("g G", "first, last"),
    ("Tab", "to the other pane"),
    ("Enter", "to the other pane"),
    ("n p", "next page, previous page"),
    ("r", "reload"),
    ("?", "this help"),
    ("Esc", "one step back"),
    ("q Ctrl-C", "quit"),
];

/// The message that an event of the terminal stands for, if any.
pub(crate) fn message(event: &Event) -> Option<Msg> {
    match event {
        Event::Resize(..) => Some(Msg::Redraw),
        Event::Key(key) if key.kind != KeyEventKind::Release => key_message(*key),
        _ => None,
    }
}

fn key_message(key: KeyEvent) -> Option<Msg> {
    if key.modifiers.contains(KeyModifiers::CONTROL) {
        return (key.code == KeyCode::Char('c')).then_some(Msg::Quit);
    }
    Some(match key.code {
        KeyCode::Char('j') | KeyCode::Down => Msg::Down,
        KeyCode::Char('k') | KeyCode::Up => Msg::Up,
        KeyCode::Char('g') | KeyCode::Home => Msg::First,
        KeyCode::Char('G') | KeyCode::End => Msg::Last,
        KeyCode::Tab | KeyCode::BackTab | KeyCode::Enter => Msg::Switch,
        KeyCode::Char('n') | KeyCode::PageDown => Msg::NextPage,
        KeyCode::Char('p') | KeyCode::PageUp => Msg::PreviousPage,
        KeyCode::Char('r') => Msg::Reload,
        KeyCode::Char('?') => Msg::Help,
        KeyCode::Char('q') => Msg::Quit,
        KeyCode::Esc => Msg::Back,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_of_the_help_does_something() {
        for (keys, _) in HELP {
            for key in keys.split(' ') {
                let (code, modifiers) = match key {
                    "↓" => (KeyCode::Down, KeyModifiers::NONE),
                    "↑" => (KeyCode::Up, KeyModifiers::NONE),
                    "Tab" => (KeyCode::Tab, KeyModifiers::NONE),
                    "Enter" => (KeyCode::Enter, KeyModifiers::NONE),
                    "Esc" => (KeyCode::Esc, KeyModifiers::NONE),
                    "Ctrl-C" => (KeyCode::Char('c'), KeyModifiers::CONTROL),
                    other => {
                        (KeyCode::Char(other.chars().next().expect("a key")), KeyModifiers::NONE)
                    }
                };
                assert!(message(&Event::Key(KeyEvent::new(code, modifiers))).is_some(), "{key}");
            }
        }
    }
}
