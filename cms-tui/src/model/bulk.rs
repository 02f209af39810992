//! Several calls as one act: made one after the other, with one message; Esc stops the calls that
//! are not sent yet. Undo and redo of acts.

use std::collections::VecDeque;

use super::{
    Effect, Model, Origin,
    answers::{Pending, Sent},
};
use crate::{
    actions::READONLY,
    calls::{Fault, Reply},
    step::{Act, Bulk, BulkCall, Checked, Did, Failed, Step, Undo, Way},
    text::{self, count},
    theme::Role,
};

/// The most rows that one message names.
const MOST_NAMED: usize = 3;

/// An act under way.
pub(super) struct Running {
    bulk: Bulk,
    origin: Origin,
    left: VecDeque<BulkCall>,
    total: usize,
    good: usize,
    undo: Vec<Checked>,
    warnings: Vec<String>,
    last: String,
    /// The user stopped the act, or nobody answers any more.
    is_stopped: bool,
}

/// Warnings in the reply to a change that was made.
fn warnings(reply: &Reply) -> impl Iterator<Item = String> {
    let warnings = reply.data["meta"]["warnings"].as_array().into_iter().flatten();
    warnings.filter_map(|one| one["message"].as_str()).map(str::to_owned)
}

/// The rows that an undo has given up for good.
fn for_good(failed: &[Failed]) -> String {
    let mut names = failed.iter().filter(|one| !one.fault.may_pass()).map(|one| &*one.name);
    let named: Vec<&str> = names.by_ref().take(MOST_NAMED).collect();
    match (named.is_empty(), names.count()) {
        (true, _) => String::new(),
        (_, 0) => format!(" ({} for good)", named.join(", ")),
        (_, more) => format!(" ({} and {more} more for good)", named.join(", ")),
    }
}

impl Model {
    pub(super) fn begin(&mut self, origin: Origin, mut bulk: Bulk) -> Vec<Effect> {
        let why = match (self.readonly, self.running.is_some()) {
            (true, _) => READONLY,
            (_, true) => "another act is still under way",
            _ => "",
        };
        if !why.is_empty() {
            self.fail(origin, &Fault::new(format!("Nothing was done: {why}.")));
            return Vec::new();
        }
        // The rows were read: from here on Esc stops only what is not sent yet.
        let origin = Origin { is_reread: false, ..origin };
        let left = VecDeque::from(std::mem::take(&mut bulk.calls));
        let total = left.len() + bulk.failed.len();
        let (good, undo, warnings, last, is_stopped) = Default::default();
        let running = Running { bulk, origin, left, total, good, undo, warnings, last, is_stopped };
        self.running = Some(running);
        self.next_of_bulk()
    }

    fn next_of_bulk(&mut self) -> Vec<Effect> {
        let Some(running) = &mut self.running else { return Vec::new() };
        let next = if running.is_stopped { None } else { running.left.pop_front() };
        let Some(BulkCall { name, call, undo, row }) = next else { return self.end_of_bulk() };
        let origin = running.origin;
        if running.total > 1 {
            let (at, total) = (running.total - running.left.len(), running.total);
            self.told = Some((Role::Quiet, format!("{at} of {total} … Esc stops")));
        }
        self.send(Pending::Bulk(Sent { name, undo, row }, origin), call.ask, call.read)
    }

    pub(super) fn bulk_answered(
        &mut self,
        sent: Sent,
        outcome: Result<Reply, Fault>,
    ) -> Vec<Effect> {
        self.is_dirty = true;
        let Sent { name, undo, row } = sent;
        if let Some(running) = &mut self.running {
            match outcome {
                Ok(reply) => {
                    running.good += 1;
                    running.warnings.extend(warnings(&reply));
                    running.undo.extend(undo.and_then(|undo| undo(&reply)));
                    running.last = name;
                }
                Err(fault) => {
                    // The next calls would fail in the same way, each after its own timeout.
                    running.is_stopped |= fault.is_offline() || fault.wants_login();
                    running.bulk.failed.push(Failed { name, fault, row });
                }
            }
        }
        self.next_of_bulk()
    }

    /// Ends the act with one message, which names the failed rows.
    fn end_of_bulk(&mut self) -> Vec<Effect> {
        let Some(running) = self.running.take() else { return Vec::new() };
        let Running { bulk, origin, left, good, undo, warnings, last, total, .. } = running;
        let Bulk { done, what, failed, undoes, .. } = bulk;
        let named = match good {
            1 => format!("{what} {last}").trim_start().to_owned(),
            n => count(n, what),
        };
        let stopped = if left.is_empty() { "" } else { ", stopped" };
        // Drop rows that can never be taken back: they would stand in the way of others.
        let again = failed.iter().filter(|one| one.fault.may_pass()).map(|one| one.row.clone());
        let rest = left.into_iter().map(|call| call.row).chain(again).flatten().collect();
        let way = self.way_of(undoes, rest);
        let (mut effects, mut back) = (Vec::new(), "");
        if good > 0 || (failed.is_empty() && stopped.is_empty()) {
            let say = match (total, failed.is_empty() && stopped.is_empty()) {
                (0, _) if undoes.is_some() => "Theirs is kept.".to_owned(),
                (0, _) => "Nothing to do.".to_owned(),
                (_, true) => format!("{named} {done}"),
                _ => String::new(),
            };
            let undo = (!undo.is_empty()).then(|| Undo { rows: undo, ..Undo::default() });
            back = way.back(undo.is_some());
            effects = self.step_of(origin, Step::Did(Did { say, undo, way }));
        } else {
            self.reopen_form(origin);
        }
        if let Some(Failed { name, fault, .. }) = failed.first() {
            let for_good = undoes.map(|_| for_good(&failed)).unwrap_or_default();
            let n = failed.len();
            let detail = match total {
                1 if !for_good.is_empty() => format!("{name} cannot be {done}: {}", fault.detail),
                1 => fault.detail.clone(),
                _ => format!(
                    "{good} of {total} {done}{stopped}{back}; \
                     {n} failed{for_good}, first {name}: {}",
                    fault.detail
                ),
            };
            self.fail(origin, &Fault { detail, ..fault.clone() });
        } else if !stopped.is_empty() {
            self.tell(Role::Warn, format!("◐ {good} of {total} {done}{stopped}{back}"));
        } else if !warnings.is_empty() {
            self.tell(Role::Warn, format!("◐ {named} {done}, but: {}", warnings.join("; ")));
        }
        effects
    }

    /// Whether something is being changed, or rows are being read for a change.
    pub(super) fn is_acting(&self) -> bool {
        let is_act = |one: &Pending| one.is_write() || one.origin().is_reread;
        self.running.is_some() || self.pending.values().any(is_act)
    }

    /// Stops the calls that are not sent yet: of the act of a form, or of any act. False:
    /// all were sent.
    pub(super) fn stop(&mut self, act: Option<u64>) -> bool {
        let is_it = |origin: Origin| act.is_none_or(|act| origin.act == act);
        let running = self.running.as_mut();
        if let Some(running) = running.filter(|one| is_it(one.origin) && !one.left.is_empty()) {
            running.is_stopped = true;
            self.tell(Role::Quiet, "Stopping …");
            return true;
        }
        let is_reread = |one: &Pending| match one {
            Pending::Next(_, from) => from.is_reread && is_it(*from),
            _ => false,
        };
        let stopped = self.forget(is_reread);
        stopped.iter().for_each(|origin| self.reopen_form(*origin));
        if !stopped.is_empty() {
            self.tell(Role::Plain, "Stopped: nothing was done.");
        }
        !stopped.is_empty()
    }
}

/// The most acts that can be taken back.
const UNDOES: usize = 50;

impl Model {
    /// Shows what was done, and remembers how to take it back.
    pub(super) fn did(&mut self, from: Origin, did: Did) -> Vec<Effect> {
        self.close_sent_form(from);
        self.stack.iter_mut().for_each(|shown| shown.screen.acted());
        let Did { say, undo, way } = did;
        if !say.is_empty() {
            let back = way.back(undo.is_some());
            self.tell(Role::Good, format!("✓ {}{back}", text::safe(&say)));
        }
        self.tickets += 1;
        if let Some(undo) = undo.map(|undo| Undo { number: self.tickets, ..undo }) {
            if way == Way::New {
                self.redo.clear();
            }
            if undo.whole.is_some() {
                self.undo.retain(|before| before.whole.is_none());
                self.redo.retain(|before| before.whole.is_none());
            }
            let stack = if way == Way::Back { &mut self.redo } else { &mut self.undo };
            stack.push(undo);
            if stack.len() > UNDOES {
                stack.remove(0);
            }
        }
        self.reload()
    }

    /// The direction of an act that takes another one back. `rest`: what remains of that
    /// one to take back.
    fn way_of(&mut self, number: Option<u64>, rest: Vec<Checked>) -> Way {
        let Some(number) = number else { return Way::New };
        let is_redone = self.redo.iter().any(|undo| undo.number == number);
        let stack = if is_redone { &mut self.redo } else { &mut self.undo };
        if let Some(undo) = stack.iter_mut().find(|undo| undo.number == number) {
            (undo.rows, undo.whole) = (rest, None);
        }
        stack.retain(|undo| !undo.rows.is_empty() || undo.whole.is_some());
        if is_redone { Way::Again } else { Way::Back }
    }

    /// One call has taken back, or done again, a whole act.
    pub(super) fn undone(&mut self, from: Origin, number: u64, did: Did) -> Vec<Effect> {
        let way = self.way_of(Some(number), Vec::new());
        self.did(from, Did { way, ..did })
    }

    /// Takes the last act back.
    pub(super) fn take_back(&mut self) -> Vec<Effect> {
        let none = "There is nothing to take back.";
        self.turn(self.undo.last().cloned(), "taken back", "take it back all the same", none)
    }

    /// Does again what was taken back last.
    pub(super) fn do_again(&mut self) -> Vec<Effect> {
        let none = "There is nothing to do again.";
        self.turn(self.redo.last().cloned(), "done again", "do it again all the same", none)
    }

    fn turn(
        &mut self,
        undo: Option<Undo>,
        done: &str,
        anyway: &'static str,
        none: &str,
    ) -> Vec<Effect> {
        if self.is_acting() {
            return self.only_tell(Role::Warn, "Another act is still under way.");
        }
        let Some(Undo { number, rows, whole }) = undo else {
            return self.only_tell(Role::Plain, none);
        };
        if let Some(whole) = whole {
            return self.step(whole(number));
        }
        let (done, undoes) = (done.to_owned(), Some(number));
        let act = Act { done, what: "change", anyway, rows, undoes };
        let screen = self.stack.last().map_or(0, |shown| shown.id);
        let from = Origin { screen, ..Origin::default() };
        self.step_of(from, act.step())
    }
}
