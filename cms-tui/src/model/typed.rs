//! Keys: what lies over the screen has them first, then what is typed on it, then actions.

use crossterm::event::KeyCode;

use super::{Effect, Model, over::Over};
use crate::{
    keys::Key,
    theme::Role,
    widgets::{confirm::Answer, form::Typed, viewer::Looked},
};

impl Model {
    pub(super) fn key(&mut self, key: Key) -> Vec<Effect> {
        if key.ctrl && key.code == KeyCode::Char('c') {
            return vec![Effect::Quit];
        }
        if !self.over.is_empty() {
            return self.key_over(key);
        }
        self.told = None;
        let typed = self.top().and_then(|shown| shown.screen.key(key));
        if let Some(step) = typed {
            return self.step(step);
        }
        let sight = self.sight();
        let scene = sight.scene();
        if let Some(line) = self.map.own(key, &scene) {
            let words = scene.own_words(line);
            return self.run_own(words);
        }
        match self.map.action(key, &scene) {
            Some(action) => self.run(action, &sight),
            None => Vec::new(),
        }
    }

    pub(super) fn paste(&mut self, text: &str) -> Vec<Effect> {
        match self.over.last_mut() {
            Some(Over::Form(form)) => {
                let at = form.at;
                if let Some(field) = form.fields.get_mut(at) {
                    field.paste(text);
                }
            }
            Some(Over::Palette(palette)) => palette.input.insert(text),
            Some(Over::Confirm(confirm)) => confirm.typed.insert(text),
            Some(_) => {}
            None => {
                if let Some(shown) = self.top() {
                    shown.screen.paste(text);
                }
            }
        }
        Vec::new()
    }

    fn key_over(&mut self, key: Key) -> Vec<Effect> {
        match self.over.last_mut() {
            Some(Over::Palette(_)) => self.key_palette(key),
            Some(Over::Form(form)) => match form.key(key) {
                Typed::Open => Vec::new(),
                Typed::Closed => self.close(),
                Typed::Submit => self.submit(),
            },
            Some(Over::Confirm(confirm)) => match confirm.key(key) {
                Answer::Open => Vec::new(),
                Answer::No => {
                    self.tell(Role::Plain, "Nothing was done.");
                    self.close();
                    self.open_sent_form()
                }
                Answer::Yes => match self.over.pop() {
                    Some(Over::Confirm(confirm)) => {
                        let step = (confirm.yes)();
                        self.step(step)
                    }
                    _ => Vec::new(),
                },
            },
            Some(Over::Menu(menu)) => match menu.key(key) {
                None => Vec::new(),
                Some(None) => {
                    self.close();
                    self.open_sent_form()
                }
                Some(Some(n)) => match self.over.pop() {
                    Some(Over::Menu(menu)) => {
                        let step = (menu.choose)(n);
                        self.step(step)
                    }
                    _ => Vec::new(),
                },
            },
            Some(Over::View(viewer)) => match viewer.key(key) {
                Looked::Open => Vec::new(),
                Looked::Closed => self.close(),
                Looked::Copy(text) => {
                    self.tell(Role::Good, "✓ copied");
                    vec![Effect::Copy(text)]
                }
            },
            None => Vec::new(),
        }
    }

    fn close(&mut self) -> Vec<Effect> {
        self.over.pop();
        Vec::new()
    }

    /// A question about what was sent was not answered: the form can be edited again.
    pub(super) fn open_sent_form(&mut self) -> Vec<Effect> {
        for over in &mut self.over {
            if let Over::Form(form) = over {
                form.is_sent = false;
            }
        }
        Vec::new()
    }

    fn submit(&mut self) -> Vec<Effect> {
        let Some(Over::Form(form)) = self.over.last_mut() else { return Vec::new() };
        if form.is_sent {
            return Vec::new();
        }
        let Some(values) = form.values() else { return Vec::new() };
        form.is_sent = true;
        let step = (form.submit.clone())(&values);
        self.step(step)
    }

    fn key_palette(&mut self, key: Key) -> Vec<Effect> {
        let sight = self.sight();
        let Some(Over::Palette(palette)) = self.over.last_mut() else { return Vec::new() };
        let fitting = palette.fitting(&sight);
        let chosen = fitting.get(palette.at).copied();
        let line = palette.is_command.then(|| palette.input.text().trim().to_owned());
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
                    Some(action) => self.run(action, &sight),
                    None => Vec::new(),
                };
            }
            KeyCode::Char('y') if key.ctrl => {
                let line = chosen.and_then(|action| action.command_line(&sight.scene()));
                return line.map(|line| vec![self.copy(line)]).unwrap_or_default();
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
