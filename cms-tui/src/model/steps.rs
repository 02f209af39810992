//! Takes the steps that screens return.

use super::{Effect, Model, Origin, over::Over};
use crate::{calls::Fault, step::Step, text, theme::Role};

/// The name under which the stream tells that events were missed.
const GAP: &str = "stream.gap";
/// How long a pause is before something is asked for.
const PAUSE_MS: u64 = 120;
/// A question that came on its own is open to keys when none came for so long.
const GUARD_MS: u64 = 300;
/// Changes are read at most once a second; ticks are not exact.
const FOLLOW_MS: i64 = 900;

impl Model {
    /// A step of the screen on top.
    pub(super) fn step(&mut self, step: Step) -> Vec<Effect> {
        let screen = self.stack.last().map_or(0, |shown| shown.id);
        self.step_of(Origin { screen, ..Origin::default() }, step)
    }

    /// Whether the user still waits there for what a reply opens. A key that was meant for
    /// something else must not answer it.
    fn is_awaited(&self, from: Origin) -> bool {
        let is_top = self.stack.last().is_some_and(|shown| shown.id == from.screen);
        let is_clear = match self.over.last() {
            None => true,
            Some(Over::Form(form)) => from.act != 0 && form.sent == from.act,
            Some(_) => false,
        };
        !from.is_late || (is_top && is_clear)
    }

    fn lay(&mut self, from: Origin, over: Over) -> Vec<Effect> {
        // A secret is shown once: it is never dropped.
        let is_once = matches!(&over, Over::View(viewer) if viewer.until.is_some());
        if !is_once && !self.is_awaited(from) {
            self.missed();
            return Vec::new();
        }
        self.over.push(over);
        self.guard = None;
        let asks = matches!(self.over.last(), Some(Over::Confirm(..) | Over::Menu(..)));
        if !asks || !from.is_late {
            return Vec::new();
        }
        // How far the reading came is past.
        self.told.take_if(|(role, _)| *role == Role::Quiet);
        self.guard()
    }

    /// Whether the question on top came on its own a moment ago: the key was meant for something
    /// else.
    pub(super) fn is_guarded(&self) -> bool {
        let asks = matches!(self.over.last(), Some(Over::Confirm(..) | Over::Menu(..)));
        asks && self.guard.is_some()
    }

    /// Takes no key until the user pauses.
    pub(super) fn guard(&mut self) -> Vec<Effect> {
        self.tickets += 1;
        self.guard = Some(self.tickets);
        vec![Effect::Wake { token: self.tickets, after_ms: GUARD_MS }]
    }

    fn missed(&mut self) {
        self.tell(Role::Plain, "The answer came when you had gone on: nothing was opened.");
    }

    /// A step, and whose it is.
    pub(super) fn step_of(&mut self, from: Origin, step: Step) -> Vec<Effect> {
        match step {
            Step::None => {}
            Step::Call(calling) => return self.call(from, calling),
            Step::Several(steps) => {
                return steps.into_iter().flat_map(|step| self.step_of(from, step)).collect();
            }
            Step::Bulk(bulk) => return self.begin(from, bulk),
            Step::Did(did) => return self.did(from, did),
            Step::Tell(text) => {
                self.close_sent_form(from);
                self.tell(Role::Plain, text);
            }
            Step::Fault(fault) => self.fail(from, &fault),
            Step::Form(form) => return self.lay(from, Over::Form(form)),
            Step::Confirm(confirm) => return self.lay(from, Over::Confirm(confirm, from)),
            Step::Menu(menu) => {
                if !self.is_awaited(from) {
                    self.reopen_form(from);
                }
                return self.lay(from, Over::Menu(menu, from));
            }
            Step::View(viewer) => {
                let is_awaited = self.is_awaited(from);
                self.close_sent_form(from);
                let from = Origin { is_late: from.is_late && !is_awaited, ..from };
                return self.lay(from, Over::View(viewer));
            }
            Step::Open(place) if self.is_awaited(from) => return self.open(place),
            Step::Open(_) => self.missed(),
            Step::Set(what, value) => {
                let shown = self.stack.iter_mut().find(|shown| shown.id == from.screen);
                let step = shown.map(|shown| shown.screen.set(what, &value)).unwrap_or_default();
                // What was typed stays until it is taken.
                if !matches!(step, Step::Fault(_)) {
                    self.close_sent_form(from);
                }
                return self.step_of(from, step);
            }
            Step::Beside(by) => return self.go_beside(from, by),
            Step::Save(saving) => return self.save(from, saving),
            Step::Undone(number, did) => return self.undone(from, number, did),
            Step::Run(words) => return self.run_line(from, words),
            Step::LoggedIn { token, user, expires_at } => {
                self.close_sent_form(from);
                return self.logged_in(token, user, expires_at);
            }
            Step::LoggedOut => return self.logged_out(),
            Step::Leave(action) => return self.leave(action),
            Step::Context(name) => return self.go_to_site(from, name),
            // What is under way goes on until the other site is open.
            Step::LeaveFor(name) => return vec![Effect::Context(name)],
            Step::Look => {
                if let Some(shown) = self.top() {
                    shown.screen.outdate(false);
                }
                return self.look_again();
            }
            Step::Pause => {
                self.tickets += 1;
                self.pause = self.tickets;
                return vec![Effect::Wake { token: self.pause, after_ms: PAUSE_MS }];
            }
        }
        Vec::new()
    }

    /// In the form that sent it, else below.
    pub(super) fn fail(&mut self, from: Origin, fault: &Fault) {
        match self.form_of(from) {
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
    pub(super) fn close_sent_form(&mut self, from: Origin) {
        let is_of = |sent: u64| from.act != 0 && sent == from.act;
        let is_done = |over: &Over| matches!(over, Over::Form(form) if is_of(form.sent));
        self.over.retain(|over| !is_done(over));
        self.kept.retain(|over| !is_done(over));
    }

    /// A question about what was sent was not answered: the form can be edited again.
    pub(super) fn reopen_form(&mut self, from: Origin) {
        if let Some(form) = self.form_of(from) {
            form.is_sent = false;
        }
    }

    /// Reads the screen on top again.
    pub(super) fn reload(&mut self) -> Vec<Effect> {
        if let Some(shown) = self.top() {
            shown.screen.outdate(true);
        }
        self.look_again()
    }

    /// As [`Self::reload`], when nothing was written by this session.
    fn look_again(&mut self) -> Vec<Effect> {
        let now = self.now;
        let Some(shown) = self.top() else { return Vec::new() };
        shown.asked_at = now;
        let step = shown.screen.load();
        self.wants_reload = false;
        self.step(step)
    }

    fn has_just_followed(&self) -> bool {
        (self.now - self.followed_at).abs() < FOLLOW_MS
    }

    pub(super) fn tick(&mut self, now: i64) -> Vec<Effect> {
        let was = (self.freshness(), self.slow_change());
        self.now = now;
        self.end_wait();
        self.is_dirty |= (self.freshness(), self.slow_change()) != was;
        let waiting = self.is_waiting();
        let due =
            self.stack.last().map_or(i64::MAX, |shown| shown.asked_at + self.poll_s(shown) * 1000);
        let wants = self.wants_reload && !self.has_just_followed();
        if wants && !waiting {
            self.followed_at = now;
        }
        let Some(shown) = self.top() else { return Vec::new() };
        shown.screen.tick(now);
        if !waiting && (now >= due || wants) { self.look_again() } else { Vec::new() }
    }

    /// An event of the site: the screen is read again when it shows such things, at most once a
    /// second.
    pub(super) fn happened(&mut self, event: &str) -> Vec<Effect> {
        let Some(shown) = self.stack.last_mut() else { return Vec::new() };
        // Some events were missed, nobody knows which.
        if event != GAP && !shown.screen.follows(event) {
            return Vec::new();
        }
        shown.screen.outdate(false);
        self.wants_reload = true;
        // The first one at once; those of the same second share the next tick.
        if self.has_just_followed() || self.is_waiting() {
            return Vec::new();
        }
        self.followed_at = self.now;
        self.look_again()
    }

    /// Something may be different, nobody says what: it is read again at the next tick.
    pub(super) fn committed(&mut self) {
        for shown in &mut self.stack {
            shown.screen.outdate(false);
        }
        self.wants_reload = true;
    }

    pub(super) fn woke(&mut self, token: u64) -> Vec<Effect> {
        if self.guard == Some(token) {
            self.guard = None;
        }
        if token != self.pause {
            return Vec::new();
        }
        let Some(shown) = self.top() else { return Vec::new() };
        let (step, changed) = shown.screen.pause();
        self.is_dirty |= changed;
        self.step(step)
    }
}
