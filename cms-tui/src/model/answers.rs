//! Calls and their replies. Each call has a ticket; a reply whose place was asked again is stale.

use std::collections::VecDeque;

use cms_http::wire::{auth::WhoAmI, parameters::NoQuery};

use super::{Effect, Link, Model};
use crate::{
    actions::READONLY,
    calls::{Fault, Reply},
    step::{Bulk, BulkCall, Calling, Did, Next, Step, To, Undo, UndoOf, get},
    text::count,
    theme::Role,
};

/// A call under way.
pub(super) enum Pending {
    /// For a place of a screen.
    Slot(u64, u8),
    Next(Next),
    /// One of several.
    Bulk(String, Option<UndoOf>),
    Who,
}

/// Several calls as one act, under way.
pub(super) struct Running {
    bulk: Bulk,
    left: VecDeque<BulkCall>,
    total: usize,
    good: usize,
    failed: Vec<(String, Fault)>,
    undo: Vec<Calling>,
    last: String,
}

/// A read-only session reads, logs in and logs out.
fn may_in_readonly(line: &str) -> bool {
    let looks = ["auth/login", "auth/verify", "auth/logout", "webhooks/explain"];
    line.starts_with("GET ") || looks.iter().any(|path| line.ends_with(path))
}

impl Model {
    pub(super) fn call(&mut self, screen: u64, calling: Calling) -> Vec<Effect> {
        let pending = match calling.to {
            To::Slot(slot) => {
                // What was asked for this place before is stale now.
                self.pending.retain(|_, pending| match pending {
                    Pending::Slot(of, one) => (*of, *one) != (screen, slot),
                    _ => true,
                });
                Pending::Slot(screen, slot)
            }
            To::Next(next) => Pending::Next(next),
        };
        self.send(pending, calling.ask, calling.read)
    }

    fn send(
        &mut self,
        pending: Pending,
        ask: cms_http::client::Ask,
        read: crate::calls::Read,
    ) -> Vec<Effect> {
        if self.readonly && !may_in_readonly(&ask.line()) {
            return self.settle(pending, Err(Fault::new(READONLY)));
        }
        self.tickets += 1;
        self.pending.insert(self.tickets, pending);
        vec![Effect::Call { ticket: self.tickets, ask, read }]
    }

    pub(super) fn ask_who(&mut self) -> Vec<Effect> {
        match get::<WhoAmI>(&NoQuery {}) {
            Ok(call) => self.send(Pending::Who, call.ask, call.read),
            Err(_) => Vec::new(),
        }
    }

    /// Whether the screen on top waits for an answer of its own.
    pub(super) fn is_waiting(&self) -> bool {
        let top = self.stack.last().map(|shown| shown.id);
        self.pending.values().any(|one| matches!(one, Pending::Slot(id, _) if Some(*id) == top))
    }

    pub(super) fn answered(&mut self, ticket: u64, outcome: Result<Reply, Fault>) -> Vec<Effect> {
        let Some(pending) = self.pending.remove(&ticket) else { return Vec::new() };
        self.note_link(&outcome);
        self.settle(pending, outcome)
    }

    fn settle(&mut self, pending: Pending, outcome: Result<Reply, Fault>) -> Vec<Effect> {
        match pending {
            Pending::Slot(id, slot) => self.take(id, slot, outcome),
            Pending::Next(next) => {
                self.is_dirty = true;
                let step = next(outcome);
                self.step(step)
            }
            Pending::Bulk(name, undo) => self.bulk_answered(name, undo, outcome),
            Pending::Who => {
                self.is_dirty = true;
                self.note_who(outcome);
                Vec::new()
            }
        }
    }

    fn note_link(&mut self, outcome: &Result<Reply, Fault>) {
        let link = match outcome {
            Err(fault) if fault.is_offline() => Link::Offline(fault.detail.clone()),
            _ => Link::Up,
        };
        if link != self.link {
            self.is_dirty = true;
            match &link {
                Link::Offline(why) => self.told = Some((Role::Bad, why.clone())),
                _ if matches!(self.link, Link::Offline(_)) => {
                    self.told = Some((Role::Good, "The site answers again.".to_owned()));
                }
                _ => {}
            }
            self.link = link;
        }
    }

    fn note_who(&mut self, outcome: Result<Reply, Fault>) {
        match outcome {
            Ok(reply) => {
                self.who = reply.data["username"].as_str().unwrap_or_default().to_owned();
                let held = reply.data["rights"].as_array();
                self.rights = held.map(|held| {
                    held.iter().filter_map(|key| key.as_str()).map(str::to_owned).collect()
                });
            }
            // A key cannot ask who it is; what it may not, the service refuses.
            Err(_) => self.rights = None,
        }
    }

    fn take(&mut self, id: u64, slot: u8, outcome: Result<Reply, Fault>) -> Vec<Effect> {
        let wants_login = outcome.as_ref().is_err_and(Fault::wants_login);
        let now = self.now;
        let is_top = self.stack.last().is_some_and(|shown| shown.id == id);
        let Some(shown) = self.stack.iter_mut().find(|shown| shown.id == id) else {
            return Vec::new();
        };
        let was = shown.answered_at;
        if outcome.is_ok() {
            shown.answered_at = Some(now);
        }
        let (step, changed) = shown.screen.take(slot, outcome);
        let was_old = was.is_none_or(|at| now - at > 4_000);
        self.is_dirty |= is_top && (changed || was_old);
        let mut effects = self.step_of(id, step);
        if wants_login && !self.is_local {
            effects.extend(self.ask_login());
        }
        effects
    }

    pub(super) fn begin(&mut self, mut bulk: Bulk) -> Vec<Effect> {
        let why = match (self.readonly, self.running.is_some()) {
            (true, _) => READONLY,
            (_, true) => "another act is still under way",
            _ => "",
        };
        if !why.is_empty() {
            self.fail(&Fault::new(format!("Nothing was done: {why}.")));
            return Vec::new();
        }
        let left = VecDeque::from(std::mem::take(&mut bulk.calls));
        let total = left.len();
        self.running = Some(Running {
            bulk,
            left,
            total,
            good: 0,
            failed: Vec::new(),
            undo: Vec::new(),
            last: String::new(),
        });
        self.next_of_bulk()
    }

    fn next_of_bulk(&mut self) -> Vec<Effect> {
        let Some(running) = &mut self.running else { return Vec::new() };
        if let Some(BulkCall { name, call, undo }) = running.left.pop_front() {
            if running.total > 1 {
                let at = running.total - running.left.len();
                self.told = Some((Role::Quiet, format!("{at} of {} …", running.total)));
            }
            return self.send(Pending::Bulk(name, undo), call.ask, call.read);
        }
        self.end_of_bulk()
    }

    fn bulk_answered(
        &mut self,
        name: String,
        undo: Option<UndoOf>,
        outcome: Result<Reply, Fault>,
    ) -> Vec<Effect> {
        self.is_dirty = true;
        if let Some(running) = &mut self.running {
            match outcome {
                Ok(reply) => {
                    running.good += 1;
                    running.undo.extend(undo.and_then(|undo| undo(&reply)));
                    running.last = name;
                }
                Err(fault) => running.failed.push((name, fault)),
            }
        }
        self.next_of_bulk()
    }

    /// One sentence for all; what failed is named.
    fn end_of_bulk(&mut self) -> Vec<Effect> {
        let Some(running) = self.running.take() else { return Vec::new() };
        let Running { bulk, good, failed, undo, last, total, .. } = running;
        let what = match good {
            1 => format!("{} {last}", bulk.what),
            n => count(n, bulk.what),
        };
        let done = &bulk.done;
        let undo =
            (!undo.is_empty()).then(|| Undo { say: format!("{what}: taken back"), calls: undo });
        if failed.is_empty() {
            let say =
                if total == 0 { "Nothing to do.".to_owned() } else { format!("{what} {done}") };
            return self.step(Step::Did(Did { say, undo }));
        }
        let (name, fault) = &failed[0];
        let detail = &fault.detail;
        let say = if total == 1 {
            detail.clone()
        } else {
            format!("{good} of {total} {done}; {} failed, first {name}: {detail}", failed.len())
        };
        let mut effects = self.step(Step::Did(Did { say: String::new(), undo }));
        effects.extend(self.step(Step::Fault(Fault { detail: say, ..fault.clone() })));
        effects
    }
}
