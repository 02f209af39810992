//! Runs the steps that screens return.

use super::{Effect, Model, Origin, Over};
use crate::{calls::Fault, step::Step, text, theme::Role};

/// The event by which the stream reports that events were missed.
const GAP: &str = "stream.gap";
/// How long the user must pause before something is read.
const PAUSE_MS: u64 = 120;
/// A question that opened by itself takes keys once none came for this long.
const GUARD_MS: u64 = 300;
/// After an event the screen is read at most once a second. Less than 1,000, because ticks
/// are not exact.
const FOLLOW_MS: i64 = 900;

impl Model {
    /// A step of the screen on top.
    pub(super) fn step(&mut self, step: Step) -> Vec<Effect> {
        let screen = self.stack.last().map_or(0, |shown| shown.id);
        self.step_of(Origin { screen, ..Origin::default() }, step)
    }

    /// Whether the user still waits for what a reply opens. If not, keys meant for something else
    /// could answer it.
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
        // A secret is shown only once, so it is never dropped.
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
        // The progress of the read is out of date.
        self.told.take_if(|(role, _)| *role == Role::Quiet);
        self.guard()
    }

    /// Whether the question on top opened by itself a moment ago: a key now is meant for
    /// something else.
    pub(super) fn is_guarded(&self) -> bool {
        let asks = matches!(self.over.last(), Some(Over::Confirm(..) | Over::Menu(..)));
        asks && self.guard.is_some()
    }

    /// Makes the question on top take no key until the user pauses.
    pub(super) fn guard(&mut self) -> Vec<Effect> {
        self.tickets += 1;
        self.guard = Some(self.tickets);
        vec![Effect::Wake { token: self.tickets, after_ms: GUARD_MS }]
    }

    fn missed(&mut self) {
        self.tell(Role::Plain, "The answer came when you had gone on: nothing was opened.");
    }

    /// Runs a step of this origin.
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
                // The form stays until its values were accepted.
                if !matches!(step, Step::Fault(_)) {
                    self.close_sent_form(from);
                }
                return self.step_of(from, step);
            }
            Step::Neighbour(by) => return self.go_to_neighbour(from, by),
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
            // Acts under way go on until the other site is open.
            Step::LeaveFor(name) => return vec![Effect::Context(name)],
            Step::Refresh => {
                if let Some(shown) = self.top() {
                    shown.screen.outdate(false);
                }
                return self.refresh();
            }
            Step::Pause => {
                self.tickets += 1;
                self.pause = self.tickets;
                return vec![Effect::Wake { token: self.pause, after_ms: PAUSE_MS }];
            }
        }
        Vec::new()
    }

    /// Shows a failure in the form that caused it, otherwise on the message line.
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

    /// Closes a form whose values were accepted.
    pub(super) fn close_sent_form(&mut self, from: Origin) {
        let is_of = |sent: u64| from.act != 0 && sent == from.act;
        let is_done = |over: &Over| matches!(over, Over::Form(form) if is_of(form.sent));
        self.over.retain(|over| !is_done(over));
        self.kept.retain(|over| !is_done(over));
    }

    /// Makes a form editable again after a question about it was closed without an answer.
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
        self.refresh()
    }

    /// As [`Self::reload`], when this session has written nothing.
    fn refresh(&mut self) -> Vec<Effect> {
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
        if !waiting && (now >= due || wants) { self.refresh() } else { Vec::new() }
    }

    /// Takes an event of the site. Reads the screen again if it shows such data, at most
    /// once a second.
    pub(super) fn happened(&mut self, event: &str) -> Vec<Effect> {
        let Some(shown) = self.stack.last_mut() else { return Vec::new() };
        // After missed events nobody knows what has changed.
        if event != GAP && !shown.screen.follows(event) {
            return Vec::new();
        }
        shown.screen.outdate(false);
        self.wants_reload = true;
        // The first event causes a read at once; later ones of the same second wait for
        // the next tick.
        if self.has_just_followed() || self.is_waiting() {
            return Vec::new();
        }
        self.followed_at = self.now;
        self.refresh()
    }

    /// Something was committed, and nobody says what: read the screen again at the next tick.
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
