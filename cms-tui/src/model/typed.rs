//! Keys. Windows over the screen take them first, then text that is being typed on the screen,
//! then actions. Everything that the mouse does, a key does too.

use crossterm::event::KeyCode;
use ratatui::layout::Position;

use super::{Effect, Model, Msg, Origin, Over, acts::LEAVE};
use crate::{
    keys::Key,
    screens::Clicked,
    text::safe,
    theme::Role,
    widgets::{ask::Answer, form::Typed, input::TOO_LONG, viewer::ViewerOutcome},
};

const ESC: Key = Key { code: KeyCode::Esc, ctrl: false, alt: false };

impl Model {
    pub(super) fn key(&mut self, key: Key) -> Vec<Effect> {
        if self.is_two(key) {
            let mut effects = self.key(ESC);
            effects.extend(self.key(Key { alt: false, ..key }));
            return effects;
        }
        if key.ctrl && key.code == KeyCode::Char('c') {
            // Ctrl-c pressed twice leaves. Any other question it answers with no.
            return match self.over.last() {
                Some(Over::Confirm(confirm, _)) if confirm.is_to_quit => vec![Effect::Quit],
                Some(Over::Confirm(..)) => {
                    self.tell(Role::Plain, "Nothing was done.");
                    self.close()
                }
                _ => match self.end_line(true) {
                    Some(effects) => effects,
                    None => self.go(LEAVE),
                },
            };
        }
        if !self.over.is_empty() {
            return self.key_over(key);
        }
        if self.buffer_key(&Msg::Key(key)) {
            return Vec::new();
        }
        self.told = None;
        let typed = self.top().and_then(|shown| shown.screen.key(key));
        if let Some(step) = typed {
            return self.step(step);
        }
        let scene = self.scene();
        if let Some(line) = self.map.own(key, &scene) {
            let words = scene.own_words(line);
            return self.run_own(words);
        }
        match self.map.action(key, &scene) {
            Some(action) => self.run(action),
            None => {
                if self.map.filters(key) {
                    self.tell(Role::Plain, "There is nothing to filter or search here.");
                }
                Vec::new()
            }
        }
    }

    /// Whether this is Esc and another key: tmux and slow lines deliver both at once, as a key
    /// with Alt. A key with Alt that the user has bound is only that key.
    fn is_two(&self, key: Key) -> bool {
        let can_be = matches!(key.code, KeyCode::Char(_) | KeyCode::Enter | KeyCode::Tab);
        if !key.alt || !can_be {
            return false;
        }
        let scene = self.scene();
        self.map.action(key, &scene).is_none() && self.map.own(key, &scene).is_none()
    }

    /// A key while the terminal is too small to show anything: it can only leave.
    pub(super) fn key_unseen(&mut self, key: Key) -> Vec<Effect> {
        if key.ctrl && key.code == KeyCode::Char('c') {
            return self.key(Key { alt: false, ..key });
        }
        if key.typed() == Some('q') && self.leaving().is_none() {
            return self.go(LEAVE);
        }
        Vec::new()
    }

    /// The question before the user leaves, if any.
    pub(crate) fn leaving(&self) -> Option<&str> {
        match self.over.last() {
            Some(Over::Confirm(confirm, _)) if confirm.is_to_quit => Some(&confirm.text),
            _ => None,
        }
    }

    pub(super) fn paste(&mut self, text: &str) -> Vec<Effect> {
        if self.is_guarded() {
            return self.guard();
        }
        if self.buffer_key(&Msg::Paste(text.to_owned())) {
            return Vec::new();
        }
        let fits = match self.over.last_mut() {
            // The field shows that the text does not fit.
            Some(Over::Form(form)) => {
                let at = form.at;
                if let Some(field) = form.fields.get_mut(at) {
                    field.paste(text);
                }
                true
            }
            Some(Over::Palette(palette)) => palette.input.insert(text),
            Some(Over::Confirm(confirm, _)) => confirm.typed.insert(text),
            Some(Over::View(viewer)) => viewer.paste(text),
            Some(Over::Menu(..)) => true,
            None => {
                let step = self.top().map(|shown| shown.screen.paste(text));
                return step.map(|step| self.step(step)).unwrap_or_default();
            }
        };
        if !fits {
            self.tell(Role::Warn, TOO_LONG);
        }
        Vec::new()
    }

    fn key_over(&mut self, key: Key) -> Vec<Effect> {
        if self.is_guarded() {
            return self.guard();
        }
        let sent = match self.over.last() {
            Some(Over::Form(form)) if form.is_sent && key.code == KeyCode::Esc => Some(form.sent),
            _ => None,
        };
        if sent.is_some() && self.stop(sent) {
            return Vec::new();
        }
        match self.over.last_mut() {
            Some(Over::Palette(_)) => self.key_palette(key),
            Some(Over::Form(form)) => match form.key(key) {
                Typed::Open => Vec::new(),
                Typed::Closed => self.close(),
                Typed::Submit => self.submit(),
            },
            Some(Over::Confirm(confirm, _)) => match confirm.key(key) {
                Answer::Open => Vec::new(),
                Answer::Wrong => {
                    let what = confirm.wanted();
                    let say = format!("This is not the {what}: type it as shown, or press Esc.");
                    self.only_tell(Role::Warn, say)
                }
                Answer::No => {
                    self.tell(Role::Plain, "Nothing was done.");
                    self.close()
                }
                Answer::Yes => match self.over.pop() {
                    Some(Over::Confirm(confirm, from)) => {
                        let step = (confirm.yes)();
                        self.step_of(Origin { is_late: false, ..from }, step)
                    }
                    _ => Vec::new(),
                },
            },
            Some(Over::Menu(menu, _)) => match menu.key(key) {
                None => Vec::new(),
                Some(None) => self.close(),
                Some(Some(n)) => match self.over.pop() {
                    Some(Over::Menu(menu, from)) => {
                        let step = (menu.choose)(n);
                        self.step_of(Origin { is_late: false, ..from }, step)
                    }
                    _ => Vec::new(),
                },
            },
            Some(Over::View(viewer)) => match viewer.key(key) {
                ViewerOutcome::Open => Vec::new(),
                ViewerOutcome::Closed => self.close(),
                ViewerOutcome::Copy(text) => self.copy(text),
            },
            None => Vec::new(),
        }
    }

    /// Closes the window on top. If that is a question about a sent form, the form can
    /// be edited again.
    fn close(&mut self) -> Vec<Effect> {
        if let Some(Over::Confirm(_, from) | Over::Menu(_, from)) = self.over.pop() {
            self.guard = None;
            self.reopen_form(from);
        }
        Vec::new()
    }

    fn submit(&mut self) -> Vec<Effect> {
        let Some(Over::Form(form)) = self.over.last_mut() else { return Vec::new() };
        if form.is_sent {
            return Vec::new();
        }
        let Some(values) = form.values() else { return Vec::new() };
        self.tickets += 1;
        (form.is_sent, form.sent) = (true, self.tickets);
        let step = (form.submit.clone())(&values);
        let screen = self.stack.last().map_or(0, |shown| shown.id);
        self.step_of(Origin { screen, act: self.tickets, ..Origin::default() }, step)
    }

    fn key_palette(&mut self, key: Key) -> Vec<Effect> {
        let sight = self.sight();
        let Some(Over::Palette(palette)) = self.over.last_mut() else { return Vec::new() };
        let fitting = palette.fitting(&sight.scene());
        let chosen = fitting.get(palette.at).copied();
        let typed = palette.input.text().trim().to_owned();
        let line = palette.is_command.then(|| typed.clone());
        match key.code {
            KeyCode::Esc => drop(self.over.pop()),
            KeyCode::Down => palette.at = (palette.at + 1).min(fitting.len().saturating_sub(1)),
            KeyCode::Up => palette.at = palette.at.saturating_sub(1),
            KeyCode::Enter => {
                self.over.pop();
                if let Some(effects) = line.and_then(|line| self.command(&line)) {
                    return effects;
                }
                return match chosen {
                    Some(action) => self.run(action),
                    None => {
                        let say = format!("There is no command {}: ? lists all.", safe(&typed));
                        self.only_tell(Role::Warn, say)
                    }
                };
            }
            KeyCode::Char('y') if key.ctrl => {
                let line = chosen.and_then(|action| action.command_line(&sight.scene()));
                return line.map(|line| self.copy(line)).unwrap_or_default();
            }
            KeyCode::Char('n') if key.ctrl => palette.at += 1,
            KeyCode::Char('p') if key.ctrl => palette.at = palette.at.saturating_sub(1),
            _ => {
                palette.input.key(key);
                palette.at = 0;
            }
        }
        Vec::new()
    }
}

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
            // A click beside a form must not close it.
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
