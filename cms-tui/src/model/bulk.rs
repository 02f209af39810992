//! Several calls as one act: made one after the other, with one message. Esc stops the calls that
//! are not sent yet.

use std::collections::VecDeque;

use super::{
    Effect, Model, Origin,
    answers::{Pending, Sent},
};
use crate::{
    actions::READONLY,
    calls::{Fault, Reply},
    step::{Bulk, BulkCall, Checked, Did, Failed, Step, Undo},
    text::count,
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
