//! Runs an action, by key, palette or command.

use super::{
    Effect, Model, Sight,
    over::{Over, Palette},
    places,
};
use crate::{
    actions::{Action, READONLY, find},
    step::{Place, Step},
    text,
    theme::Role,
};

/// What each hint of the tour asks for; the next one comes when it was done.
const HINTED: [&[&str]; 5] =
    [&["app.help"], &["app.back"], &["list.filter", "list.mark"], &["app.undo"], &["app.copy"]];

impl Model {
    pub(super) fn run(&mut self, action: &'static Action, sight: &Sight) -> Vec<Effect> {
        let scene = sight.scene();
        if let Some(why) = action.disabled(&scene) {
            self.tell(Role::Warn, format!("{}: {why}", action.help.trim_end_matches('…')));
            return Vec::new();
        }
        if HINTED.get(self.remembered.hints).is_some_and(|hinted| hinted.contains(&action.name)) {
            self.remembered.hints += 1;
        }
        if let Some(line) = action.command_line(&scene) {
            self.line = Some(line);
        }
        match action.noun() {
            "app" => self.act_app(action.verb(), sight),
            "go" => self.go_to(action.verb()),
            "list" if action.verb() == "open" && self.readonly && self.opens_a_form() => {
                match find(&format!("{}.show", sight.noun)) {
                    Some(show) => self.run(show, sight),
                    None => {
                        self.tell(Role::Warn, format!("Edit: {READONLY}"));
                        Vec::new()
                    }
                }
            }
            "list" => {
                let step = self.top().map(|shown| shown.screen.move_list(action.verb()));
                self.step(step.unwrap_or_default())
            }
            _ => {
                let step = self.top().map(|shown| shown.screen.act(action.verb(), &scene));
                self.step(step.unwrap_or_default())
            }
        }
    }

    /// Whether Enter opens a form here.
    fn opens_a_form(&self) -> bool {
        self.screen().is_some_and(|screen| matches!(screen.noun(), "records" | "groups"))
    }

    fn act_app(&mut self, verb: &str, sight: &Sight) -> Vec<Effect> {
        match verb {
            "help" | "palette" => self.over.push(Over::Palette(Palette::default())),
            "command" => {
                let palette = Palette { is_command: true, ..Palette::default() };
                self.over.push(Over::Palette(palette));
            }
            "back" => return self.back(),
            "undo" => return self.take_back(),
            "copy" => {
                let of_screen =
                    || find(&format!("go.{}", sight.noun))?.command_line(&sight.scene());
                match self.line.clone().or_else(of_screen) {
                    Some(line) => return vec![self.copy(line)],
                    None => self.tell(Role::Plain, "No command line does the same."),
                }
            }
            "copy_id" => {
                let scene = sight.scene();
                let id = scene.row.map(|row| &row["id"]).filter(|id| !id.is_null());
                let id = id.map(|id| id.as_str().map_or_else(|| id.to_string(), str::to_owned));
                match id {
                    Some(id) if id.contains(char::is_control) => {
                        self.tell(Role::Warn, "This id holds what a terminal would obey.");
                    }
                    Some(id) => return vec![self.copy(id)],
                    None => self.tell(Role::Plain, "This row has no id."),
                }
            }
            "reload" => return self.reload(),
            "previous" => return self.walk(-1),
            "next" => return self.walk(1),
            "last" => return self.swap(),
            "login" => return self.ask_login(),
            "logout" => return self.log_out(),
            "quit" => return vec![Effect::Quit],
            _ => {}
        }
        Vec::new()
    }

    pub(super) fn copy(&mut self, line: String) -> Effect {
        self.tell(Role::Good, format!("✓ copied: {}", text::safe(&line)));
        Effect::Copy(line)
    }

    /// A command of the user's own.
    pub(super) fn run_own(&mut self, words: Result<Vec<String>, String>) -> Vec<Effect> {
        match words {
            Ok(words) if self.readonly => {
                let line = text::safe(&words.join(" ")).into_owned();
                self.tell(Role::Warn, format!("{line}: {READONLY}"));
                Vec::new()
            }
            Ok(words) => {
                let words = words.into_iter().skip_while(|word| word == "cms").collect();
                self.step(Step::Run(words))
            }
            Err(why) => {
                self.tell(Role::Bad, format!("✗ {why}"));
                Vec::new()
            }
        }
    }

    /// A typed command: a screen with a filter, or an action's full name. None: neither.
    pub(super) fn command(&mut self, line: &str) -> Option<Vec<Effect>> {
        let (first, rest) = line.split_once(' ').unwrap_or((line, ""));
        if matches!(first, "q" | "quit") {
            return Some(vec![Effect::Quit]);
        }
        if let Some(noun) = places::noun(first) {
            if let Some(why) = find(&format!("go.{noun}"))?.disabled(&self.sight().scene()) {
                self.tell(Role::Warn, why);
                return Some(Vec::new());
            }
            self.stack.truncate(1);
            if noun == "home" {
                return Some(self.reload());
            }
            return Some(self.open(Place::of(noun).filtered(rest)));
        }
        let sight = self.sight();
        let here = format!("{}.{first}", sight.noun);
        let action = find(first).or_else(|| find(&here))?;
        Some(self.run(action, &sight))
    }
}
