//! Runs an action, by key, palette or command.

use super::{Effect, Model, Origin, Over, Palette, places};
use crate::{
    actions::{Action, READONLY, find},
    step::{Confirm, Menu, Place, Step},
    text,
    theme::Role,
};

/// The actions that each hint of the tour asks for. The next hint comes once one of them was done.
const HINTED: [&[&str]; 5] =
    [&["app.help"], &["app.back"], &["list.filter", "list.mark"], &["app.undo"], &["app.copy"]];

/// The action that ends the session of the interface.
pub(super) const LEAVE: &str = "app.quit";
/// The question before something is lost.
const NOT_SAVED: &str = "Leave? What is not saved is lost.";
/// The question before something is broken off.
const NOT_DONE: &str = "Leave? Something is under way: what is not sent yet stays undone.";

/// Whether an action leads to another screen or ends the session.
fn leaves(action: &Action) -> bool {
    matches!(
        action.name,
        LEAVE | "app.previous" | "app.next" | "app.last" | "app.logout" | "app.context"
    ) || action.noun() == "go"
}
/// Minimum time between two checks of a missing right.
const WHO_MS: i64 = 3_000;
/// The most bytes that terminals accept for their clipboard: 74,994 in base64.
const MOST_COPIED: usize = 56_244;

impl Model {
    pub(super) fn run(&mut self, action: &'static Action) -> Vec<Effect> {
        let scene = self.scene();
        if let Some(why) = action.disabled(&scene) {
            let why = format!("{}: {why}", action.label().trim_end_matches('…'));
            let lacks_right = action.lacks_right(&scene);
            return self.refuse(why, lacks_right);
        }
        let line = action.command_line(&scene);
        let why = match action.name {
            _ if leaves(action) && self.is_unsaved() => NOT_SAVED,
            LEAVE | "app.logout" if self.is_busy() => NOT_DONE,
            _ => "",
        };
        if !why.is_empty() {
            let name = action.name;
            let mut ask = Confirm::new(why, move || Step::Leave(name));
            ask.is_to_quit = name == LEAVE;
            return self.step(Step::Confirm(ask));
        }
        if HINTED.get(self.remembered.hints).is_some_and(|hinted| hinted.contains(&action.name)) {
            self.remembered.hints += 1;
        }
        // The line of the last action does not describe what was undone.
        if line.is_some() || matches!(action.name, "app.undo" | "app.redo") {
            self.line = line;
        }
        self.act_now(action)
    }

    /// Says why an action is refused. The right may have been granted meanwhile, so the rights
    /// are read again, but not for each key.
    fn refuse(&mut self, why: String, lacks_right: bool) -> Vec<Effect> {
        if !lacks_right {
            return self.only_tell(Role::Warn, why);
        }
        self.tell(Role::Warn, format!("{why}; Ctrl-r asks again"));
        if self.now - self.asked_who_at < WHO_MS { Vec::new() } else { self.ask_who() }
    }

    /// By its name.
    pub(super) fn go(&mut self, name: &str) -> Vec<Effect> {
        find(name).map(|action| self.run(action)).unwrap_or_default()
    }

    /// Leaves, although something is not saved.
    pub(super) fn leave(&mut self, name: &str) -> Vec<Effect> {
        self.over.clear();
        find(name).map(|action| self.act_now(action)).unwrap_or_default()
    }

    /// Whether leaving would lose something that the user wrote or has not stored yet.
    fn is_unsaved(&self) -> bool {
        let is_over = |over: &Over| match over {
            Over::Form(form) => form.is_changed(),
            Over::View(viewer) => viewer.until.is_some(),
            _ => false,
        };
        self.over.iter().chain(&self.kept).any(is_over)
            || self.stack.iter().any(|shown| shown.screen.is_unsaved())
    }

    fn act_now(&mut self, action: &'static Action) -> Vec<Effect> {
        match action.noun() {
            "app" => self.act_app(action.verb()),
            "go" => self.go_to(action.verb()),
            "list" if action.verb() == "open" && self.may_only_look() => {
                let noun = self.screen().map_or("", |screen| screen.noun());
                match find(&format!("{noun}.show")) {
                    Some(show) => self.run(show),
                    None => self.only_tell(Role::Warn, format!("Edit: {READONLY}")),
                }
            }
            "list" => {
                let step = self.top().map(|shown| shown.screen.move_list(action.verb()));
                self.step(step.unwrap_or_default())
            }
            _ => {
                let sight = self.sight();
                let scene = sight.scene();
                let step = self.top().map(|shown| shown.screen.act(action.verb(), &scene));
                self.step(step.unwrap_or_default())
            }
        }
    }

    /// Whether Enter would open a form that the user may not send.
    fn may_only_look(&self) -> bool {
        let scene = self.scene();
        match scene.noun {
            "records" | "groups" => self.readonly,
            "page" => {
                let kind = scene.row.and_then(|node| node["kind"].as_str());
                let edit = find("page.edit").filter(|_| matches!(kind, Some("widget" | "item")));
                edit.is_some_and(|edit| edit.disabled(&scene).is_some())
            }
            _ => false,
        }
    }

    fn act_app(&mut self, verb: &str) -> Vec<Effect> {
        match verb {
            "help" | "palette" => self.over.push(Over::Palette(Palette::default())),
            "command" => {
                let palette = Palette { is_command: true, ..Palette::default() };
                self.over.push(Over::Palette(palette));
            }
            "back" => return self.back(),
            "undo" => return self.take_back(),
            "redo" => return self.do_again(),
            "context" => return self.choose_context(),
            "copy" => {
                let scene = self.scene();
                let of_screen = || find(&format!("go.{}", scene.noun))?.command_line(&scene);
                match self.line.clone().or_else(of_screen) {
                    Some(line) => return self.copy(line),
                    None => self.tell(Role::Plain, "No command line does the same."),
                }
            }
            "copy_id" => {
                let scene = self.scene();
                let id = scene.row.map(|row| &row["id"]).filter(|id| !id.is_null());
                let id = id.map(|id| id.as_str().map_or_else(|| id.to_string(), str::to_owned));
                match id {
                    Some(id) if id.contains(char::is_control) => {
                        self.tell(Role::Warn, "This id holds what a terminal would obey.");
                    }
                    Some(id) => return self.copy(id),
                    None => self.tell(Role::Plain, "This row has no id."),
                }
            }
            // Rights may have been granted or revoked meanwhile.
            "reload" => {
                let mut effects = self.reload();
                effects.extend(self.ask_who());
                return effects;
            }
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

    /// Whether leaving would break off an act.
    fn is_busy(&self) -> bool {
        self.is_acting() || !self.lines.is_empty()
    }

    /// Leaves this site. Asks when something is still under way.
    pub(super) fn go_to_site(&mut self, from: Origin, name: String) -> Vec<Effect> {
        if !self.is_busy() {
            return vec![Effect::Context(name)];
        }
        let ask = Confirm::new(NOT_DONE, move || Step::LeaveFor(name));
        self.step_of(from, Step::Confirm(ask))
    }

    /// Another site, by the name of its context.
    fn choose_context(&mut self) -> Vec<Effect> {
        let names = self.contexts.clone();
        if names.is_empty() {
            return self.only_tell(
                Role::Plain,
                "There is no context: cms context add NAME --url URL makes one.",
            );
        }
        let menu = Menu::new("Go to another site", names.clone(), move |n| {
            names.into_iter().nth(n).map(Step::Context).unwrap_or_default()
        });
        self.step(Step::Menu(menu))
    }

    /// Copies a text to the clipboard. Terminals drop long texts silently, so these are not sent.
    pub(super) fn copy(&mut self, text: String) -> Vec<Effect> {
        if text.len() > MOST_COPIED {
            let size = text.len() / 1000;
            let say = format!("{size} KB are too long to copy; terminals take 56 KB.");
            return self.only_tell(Role::Warn, say);
        }
        // Do not show a secret once more.
        let is_line = self.over.is_empty() && !text.contains('\n');
        let shown = if is_line { format!(": {}", text::safe(&text)) } else { String::new() };
        self.tell(Role::Good, format!("✓ copied{shown}"));
        vec![Effect::Copy(text)]
    }

    /// A command of the user's own.
    pub(super) fn run_own(&mut self, words: Result<Vec<String>, String>) -> Vec<Effect> {
        match words {
            Ok(words) if self.readonly => {
                let line = text::safe(&words.join(" ")).into_owned();
                self.only_tell(Role::Warn, format!("{line}: {READONLY}"))
            }
            Ok(words) => {
                let words = words.into_iter().skip_while(|word| word == "cms").collect();
                self.step(Step::Run(words))
            }
            Err(why) => self.only_tell(Role::Bad, format!("✗ {why}")),
        }
    }

    /// Runs a typed command: a screen with a filter, or the full name of an action. None: neither.
    pub(super) fn command(&mut self, line: &str) -> Option<Vec<Effect>> {
        let (first, rest) = line.split_once(' ').unwrap_or((line, ""));
        if matches!(first, "q" | "quit") {
            return Some(self.go(LEAVE));
        }
        if let Some(noun) = places::noun(first) {
            let (go, scene) = (find(&format!("go.{noun}"))?, self.scene());
            if let Some(why) = go.disabled(&scene) {
                let lacks_right = go.lacks_right(&scene);
                return Some(self.refuse(why, lacks_right));
            }
            self.remember_filters();
            self.stack.truncate(1);
            if noun == "home" {
                self.visit(Place::of(noun));
                return Some(self.reload());
            }
            return Some(self.open(Place { filter: rest.to_owned(), ..Place::of(noun) }));
        }
        let here = format!("{}.{first}", self.scene().noun);
        let action = find(first).or_else(|| find(&here))?;
        Some(self.run(action))
    }
}
