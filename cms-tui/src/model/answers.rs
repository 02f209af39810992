//! Calls and their replies. Each call has a ticket. A reply is stale if its place was asked again.

use cms_http::{
    client::Ask,
    wire::{auth::WhoAmI, parameters::NoQuery},
};

use super::{Effect, Link, Model, Origin, Over};
use crate::{
    actions::READONLY,
    calls::{Fault, Reply},
    step::{Calling, Checked, Next, To, UndoOf, get},
    theme::Role,
};

/// Seconds after which the outcome of a change is in doubt.
const LONG_S: i64 = 10;

/// Whether a call changes nothing: it reads, logs in or logs out.
fn is_read_only(line: &str) -> bool {
    let read_only =
        ["auth/login", "auth/verify", "auth/logout", "webhooks/explain", "action=routing_test"];
    line.starts_with("GET ") || read_only.iter().any(|path| line.ends_with(path))
}

impl Model {
    pub(super) fn call(&mut self, from: Origin, calling: Calling) -> Vec<Effect> {
        let screen = from.screen;
        let from = Origin {
            is_reread: calling.reread.is_some(),
            is_writing: !calling.is_count && !is_read_only(&calling.ask.line()),
            ..from
        };
        if let Some((at, total @ 2..)) = calling.reread {
            self.tell(Role::Quiet, format!("reading {at} of {total} … Esc stops"));
        }
        let pending = match calling.to {
            To::Slot(slot) => {
                // An earlier call for this place is stale now.
                self.forget(|pending| {
                    matches!(pending, Pending::Slot(of, one) if (*of, *one) == (screen, slot))
                });
                Pending::Slot(screen, slot)
            }
            To::Next(next) => Pending::Next(next, from),
        };
        let is_awaited = !from.is_late && pending.opens();
        let effects = self.send(pending, calling.ask, calling.read);
        if is_awaited {
            self.wait_for(self.tickets, screen);
        }
        effects
    }

    pub(super) fn send(
        &mut self,
        pending: Pending,
        ask: Ask,
        read: crate::calls::Read,
    ) -> Vec<Effect> {
        if self.readonly && !is_read_only(&ask.line()) {
            return self.settle(pending, Err(Fault::new(READONLY)));
        }
        self.tickets += 1;
        let ask = self.once(pending.origin(), ask);
        if pending.is_write() {
            self.changing.insert(self.tickets, self.now);
        }
        self.pending.insert(self.tickets, pending);
        vec![Effect::Call { ticket: self.tickets, ask, read }]
    }

    /// Forgets calls under way. Returns the origins of these calls.
    pub(super) fn forget(&mut self, which: impl Fn(&Pending) -> bool) -> Vec<Origin> {
        let gone = self.pending.extract_if(.., |_, pending| which(pending));
        let (tickets, origins): (Vec<u64>, Vec<Origin>) =
            gone.map(|(ticket, pending)| (ticket, pending.origin())).unzip();
        self.changing.retain(|ticket, _| !tickets.contains(ticket));
        self.forgotten.extend(tickets);
        origins
    }

    /// Reports tickets whose replies nobody waits for; their calls need not be sent.
    pub(super) fn tell_forgotten(&mut self) -> Vec<Effect> {
        let there: Vec<u64> = self.stack.iter().map(|shown| shown.id).collect();
        self.forget(|one| matches!(one, Pending::Slot(screen, _) if !there.contains(screen)));
        std::mem::take(&mut self.forgotten).into_iter().map(Effect::Forget).collect()
    }

    /// Makes a repeated form create its row only once: if no reply came, the same values are sent
    /// again with the same idempotency key.
    fn once(&mut self, origin: Origin, ask: Ask) -> Ask {
        let line = ask.line();
        if origin.act == 0 || !line.starts_with("POST ") || line.contains("/auth/") {
            return ask;
        }
        let key = format!("{}-{}", self.seed, self.tickets);
        let Some(form) = self.form_of(origin) else { return ask };
        let what = format!("{line} {}", ask.body().unwrap_or_default());
        if form.once.as_ref().is_none_or(|(before, _)| *before != what) {
            form.once = Some((what, key));
        }
        match &form.once {
            Some((_, key)) => ask.idempotency_key(key.clone()),
            None => ask,
        }
    }

    /// The form that was sent with this act, if it is still there.
    pub(super) fn form_of(&mut self, origin: Origin) -> Option<&mut crate::step::Form> {
        let overs = self.over.iter_mut().chain(&mut self.kept);
        overs.rev().find_map(|over| match over {
            Over::Form(form) if origin.act != 0 && form.sent == origin.act => Some(&mut **form),
            _ => None,
        })
    }

    pub(crate) fn ask_who(&mut self) -> Vec<Effect> {
        self.asked_who_at = self.now;
        match get::<WhoAmI>(&NoQuery {}) {
            Ok(call) => self.send(Pending::Who, call.ask, call.read),
            Err(_) => Vec::new(),
        }
    }

    /// The message about a change that has been under way for more than a second.
    pub(crate) fn slow_change(&self) -> Option<(Role, String)> {
        let first = *self.changing.values().min()?;
        let seconds = (self.now - first) / 1000;
        match seconds {
            ..1 => None,
            1..LONG_S => Some((Role::Plain, format!("A change is under way: {seconds} s."))),
            _ => Some((
                Role::Warn,
                format!(
                    "The site has not answered a change for {seconds} s. It may be made or not: \
                     read again before you repeat it."
                ),
            )),
        }
    }

    /// Whether the screen on top waits for an answer of its own.
    pub(super) fn is_waiting(&self) -> bool {
        let top = self.stack.last().map(|shown| shown.id);
        self.pending.values().any(|one| matches!(one, Pending::Slot(id, _) if Some(*id) == top))
    }

    pub(super) fn answered(&mut self, ticket: u64, outcome: Result<Reply, Fault>) -> Vec<Effect> {
        self.is_dirty |= self.changing.remove(&ticket).is_some();
        let Some(pending) = self.pending.remove(&ticket) else { return Vec::new() };
        self.note_link(&outcome);
        let is_awaited = self.type_ahead.as_ref().is_some_and(|ahead| ahead.ticket == ticket);
        let (over, given) = (self.over.len(), self.tickets);
        let mut effects = self.settle(pending, outcome);
        if is_awaited {
            effects.extend(self.replay_keys(over, given));
        }
        effects
    }

    fn settle(&mut self, pending: Pending, outcome: Result<Reply, Fault>) -> Vec<Effect> {
        match pending {
            Pending::Slot(id, slot) => self.take(id, slot, outcome),
            Pending::Next(next, origin) => {
                self.is_dirty = true;
                let step = next(outcome);
                self.step_of(Origin { is_late: true, ..origin }, step)
            }
            Pending::Bulk(sent, _) => self.bulk_answered(sent, outcome),
            Pending::Who => {
                self.is_dirty = true;
                self.note_who(outcome);
                let (who, rights) = (&self.who, self.rights.as_deref());
                self.stack.iter_mut().for_each(|shown| shown.screen.meet(who, rights));
                // Home waits for this, and filters may depend on the user.
                let asks = self
                    .screen()
                    .is_some_and(|top| top.noun() == "home" || top.applied().contains("me"));
                if asks { self.reload() } else { Vec::new() }
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
            match (&self.link, &link) {
                (Link::Offline(_), Link::Offline(_)) => {}
                (_, Link::Offline(why)) => self.told = Some((Role::Bad, why.clone())),
                // Keep the message about the outcome of an act.
                (Link::Offline(why), _)
                    if self.told.as_ref().is_none_or(|(_, told)| told == why) =>
                {
                    self.told = Some((Role::Good, "The site answers again.".to_owned()));
                }
                _ => {}
            }
            self.link = link;
        }
    }

    fn note_who(&mut self, outcome: Result<Reply, Fault>) {
        self.is_met = true;
        match outcome {
            Ok(reply) => {
                self.who = reply.data["username"].as_str().unwrap_or_default().to_owned();
                let held = reply.data["rights"].as_array();
                self.rights = held.map(|held| {
                    held.iter().filter_map(|key| key.as_str()).map(str::to_owned).collect()
                });
            }
            // The question was not answered: keep what is known.
            Err(fault) if fault.may_pass() => {}
            // A key cannot ask who it is. The service refuses what the key may not do.
            Err(_) => self.rights = None,
        }
    }

    fn take(&mut self, id: u64, slot: u8, outcome: Result<Reply, Fault>) -> Vec<Effect> {
        let wants_login = outcome.as_ref().is_err_and(Fault::wants_login);
        let (now, was) = (self.now, self.freshness());
        let is_top = self.stack.last().is_some_and(|shown| shown.id == id);
        let Some(shown) = self.stack.iter_mut().find(|shown| shown.id == id) else {
            return Vec::new();
        };
        let is_good = outcome.is_ok();
        let (step, changed) = shown.screen.take(slot, outcome);
        if is_good && shown.screen.is_read(slot) {
            shown.answered_at = Some(now);
        }
        self.is_dirty |= is_top && (changed || self.freshness() != was);
        let origin = Origin { screen: id, is_late: true, ..Origin::default() };
        let mut effects = self.step_of(origin, step);
        if wants_login && !self.is_local {
            effects.extend(self.ask_login());
        }
        effects
    }
}

/// A call under way.
pub(super) enum Pending {
    /// A call whose reply goes to a place of a screen.
    Slot(u64, u8),
    Next(Next, Origin),
    /// One of several.
    Bulk(Sent, Origin),
    Who,
}

impl Pending {
    pub(super) fn origin(&self) -> Origin {
        match self {
            Self::Next(_, origin) | Self::Bulk(_, origin) => *origin,
            _ => Origin::default(),
        }
    }

    /// Whether the call reads what a form, a menu or a text is made of.
    pub(super) fn opens(&self) -> bool {
        let is_read = |from: &Origin| from.act == 0 && !from.is_writing && !from.is_reread;
        matches!(self, Self::Next(_, from) if is_read(from))
    }

    /// Whether the call changes something.
    pub(super) fn is_write(&self) -> bool {
        match self {
            Self::Next(_, origin) => origin.is_writing,
            Self::Bulk(..) => true,
            Self::Slot(..) | Self::Who => false,
        }
    }
}

/// A call of an act that was sent.
pub(super) struct Sent {
    pub(super) name: String,
    pub(super) undo: Option<UndoOf>,
    pub(super) row: Option<Checked>,
}
