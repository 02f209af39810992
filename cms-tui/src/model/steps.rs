//! Takes the steps that screens return.

use super::{Effect, Model, over::Over};
use crate::{
    calls::Fault,
    step::{Did, Step},
    text,
    theme::Role,
};

/// Acts that can be taken back.
const UNDOES: usize = 50;
/// How long a pause is before something is asked for.
const PAUSE_MS: u64 = 120;

impl Model {
    /// A step of the screen on top.
    pub(super) fn step(&mut self, step: Step) -> Vec<Effect> {
        let id = self.stack.last().map_or(0, |shown| shown.id);
        self.step_of(id, step)
    }

    /// A step of this screen.
    pub(super) fn step_of(&mut self, id: u64, step: Step) -> Vec<Effect> {
        match step {
            Step::None => {}
            Step::Call(calling) => return self.call(id, calling),
            Step::Several(steps) => {
                return steps.into_iter().flat_map(|step| self.step_of(id, step)).collect();
            }
            Step::Bulk(bulk) => return self.begin(bulk),
            Step::Did(did) => return self.did(did),
            Step::Tell(text) => {
                self.close_sent_form();
                self.tell(Role::Plain, text);
            }
            Step::Fault(fault) => self.fail(&fault),
            Step::Form(form) => self.over.push(Over::Form(form)),
            Step::Confirm(confirm) => self.over.push(Over::Confirm(confirm)),
            Step::Menu(menu) => self.over.push(Over::Menu(menu)),
            Step::View(viewer) => {
                self.close_sent_form();
                self.over.push(Over::View(viewer));
            }
            Step::Open(place) => return self.open(place),
            Step::Set(what, value) => {
                self.close_sent_form();
                let Some(shown) = self.stack.iter_mut().find(|shown| shown.id == id) else {
                    return Vec::new();
                };
                let step = shown.screen.set(what, &value);
                return self.step_of(id, step);
            }
            Step::Run(line) => {
                self.tell(Role::Quiet, format!("cms {} …", line.join(" ")));
                return vec![Effect::Run(line)];
            }
            Step::LoggedIn { token, user, expires_at } => {
                self.close_sent_form();
                return self.logged_in(token, user, expires_at);
            }
            Step::LoggedOut => return self.logged_out(),
            Step::Pause => {
                self.pause += 1;
                return vec![Effect::Wake { token: self.pause, after_ms: PAUSE_MS }];
            }
        }
        Vec::new()
    }

    fn did(&mut self, did: Did) -> Vec<Effect> {
        self.close_sent_form();
        if !did.say.is_empty() {
            let back = if did.undo.is_some() { " (u takes it back)" } else { "" };
            let say = text::safe(&did.say).into_owned();
            self.tell(Role::Good, format!("✓ {say}{back}"));
        }
        self.undo.extend(did.undo);
        if self.undo.len() > UNDOES {
            self.undo.remove(0);
        }
        self.reload()
    }

    /// In the form that sent it, else below.
    pub(super) fn fail(&mut self, fault: &Fault) {
        let form = self.over.iter_mut().rev().find_map(|over| match over {
            Over::Form(form) if form.is_sent => Some(form),
            _ => None,
        });
        match form {
            Some(form) => form.fail(fault),
            None => {
                let mut say = fault.detail.clone();
                for problem in &fault.errors {
                    say.push_str(&format!(" · {}: {}", problem.field, problem.message));
                }
                self.tell(Role::Bad, format!("✗ {}", text::safe(&say)));
            }
        }
    }

    /// A form whose values were taken is done.
    fn close_sent_form(&mut self) {
        self.over.retain(|over| !matches!(over, Over::Form(form) if form.is_sent));
    }

    /// Reads the screen on top again.
    pub(super) fn reload(&mut self) -> Vec<Effect> {
        if let Some(shown) = self.top() {
            shown.screen.outdate();
        }
        self.look_again()
    }

    /// As [`Self::reload`], without the details of a row that looks as before.
    fn look_again(&mut self) -> Vec<Effect> {
        let now = self.now;
        let Some(shown) = self.top() else { return Vec::new() };
        shown.asked_at = now;
        let (id, step) = (shown.id, shown.screen.load());
        self.wants_reload = false;
        self.step_of(id, step)
    }

    /// Takes the last act back.
    pub(super) fn take_back(&mut self) -> Vec<Effect> {
        if self.running.is_some() {
            self.tell(Role::Warn, "Another act is still under way.");
            return Vec::new();
        }
        let Some(undo) = self.undo.pop() else {
            self.tell(Role::Plain, "There is nothing to take back.");
            return Vec::new();
        };
        let calls = undo.calls.into_iter().map(|call| crate::step::BulkCall {
            name: undo.say.clone(),
            call,
            undo: None,
        });
        let bulk = crate::step::Bulk {
            done: "taken back".to_owned(),
            what: "change",
            calls: calls.collect(),
        };
        self.begin(bulk)
    }

    pub(super) fn tick(&mut self, now: i64) -> Vec<Effect> {
        let was = self.freshness();
        self.now = now;
        self.is_dirty |= self.freshness() != was;
        let waiting = self.is_waiting();
        let due =
            self.stack.last().map_or(i64::MAX, |shown| shown.asked_at + self.poll_s(shown) * 1000);
        let wants = self.wants_reload;
        let Some(shown) = self.top() else { return Vec::new() };
        shown.screen.tick(now);
        if !waiting && (now >= due || wants) { self.look_again() } else { Vec::new() }
    }

    /// An event of the site: read again when the screen shows such things.
    pub(super) fn happened(&mut self, event: &str) -> Vec<Effect> {
        let Some(shown) = self.stack.last() else { return Vec::new() };
        if !shown.screen.follows(event) {
            return Vec::new();
        }
        self.is_dirty = true;
        if self.is_waiting() {
            self.wants_reload = true;
            return Vec::new();
        }
        self.reload()
    }

    pub(super) fn woke(&mut self, token: u64) -> Vec<Effect> {
        if token != self.pause {
            return Vec::new();
        }
        self.is_dirty = true;
        let Some(shown) = self.top() else { return Vec::new() };
        let (id, step) = (shown.id, shown.screen.pause());
        self.step_of(id, step)
    }
}
