//! Typing ahead. A key has asked for a form, a menu or a text that is still being read. Keys
//! typed meanwhile are meant for it, and never run as commands of the screen.

use crossterm::event::KeyCode;

use super::{Effect, Model, Msg, Over, take};
use crate::{keys::Key, theme::Role};

/// How long such keys are kept, by the clock of the model.
const LONGEST_MS: i64 = 1_000;
/// The most keys and pastes that are kept.
const MOST: usize = 500;
const DROPPED: &str = "What you typed meanwhile is dropped.";
const NOTHING_OPENED: &str = "What you typed meanwhile is dropped: nothing opened for it.";

/// A read that a key asked for.
pub(super) struct TypeAhead {
    pub(super) ticket: u64,
    /// The screen that asked.
    screen: u64,
    since: i64,
    typed: Vec<Msg>,
}

impl Model {
    /// Keeps what is typed from now on for what this call opens.
    pub(super) fn wait_for(&mut self, ticket: u64, screen: u64) {
        self.type_ahead = Some(TypeAhead { ticket, screen, since: self.now, typed: Vec::new() });
    }

    /// Whether the screen on top waits for something that one of its keys asked for.
    fn is_awaiting(&self) -> bool {
        let top = self.stack.last().map_or(0, |shown| shown.id);
        self.over.is_empty() && self.type_ahead.as_ref().is_some_and(|ahead| ahead.screen == top)
    }

    /// Keeps a key or a paste for what is being read; Esc stops waiting. False: nothing
    /// is being read.
    pub(super) fn buffer_key(&mut self, msg: &Msg) -> bool {
        if !self.is_awaiting() {
            return false;
        }
        let Some(ahead) = &mut self.type_ahead else { return false };
        match msg {
            Msg::Key(Key { code: KeyCode::Esc, .. }) => {
                let ticket = ahead.ticket;
                self.type_ahead = None;
                self.pending.remove(&ticket);
                self.forgotten.push(ticket);
                self.tell(Role::Plain, "Stopped: nothing is opened.");
            }
            Msg::Key(key) if ahead.typed.len() < MOST => ahead.typed.push(Msg::Key(*key)),
            Msg::Paste(text) if ahead.typed.len() < MOST => {
                ahead.typed.push(Msg::Paste(text.clone()));
            }
            _ => {}
        }
        true
    }

    /// The reply has come: passes the kept keys to what it opened. `over`: how many windows were
    /// open before; `ticket`: the last ticket given out before.
    pub(super) fn replay_keys(&mut self, over: usize, ticket: u64) -> Vec<Effect> {
        let Some(mut ahead) = self.type_ahead.take() else { return Vec::new() };
        // The reply has led to another read.
        if let Some((next, _)) = self.pending.range(ticket + 1..).find(|(_, one)| one.opens()) {
            ahead.ticket = *next;
            self.type_ahead = Some(ahead);
            return Vec::new();
        }
        if self.over.len() <= over {
            self.drop_typed(&ahead.typed, NOTHING_OPENED);
            return Vec::new();
        }
        if !self.is_asked() {
            self.guard = None;
        }
        let mut effects = Vec::new();
        let mut typed = ahead.typed.into_iter();
        while self.is_for_typed(over)
            && let Some(msg) = typed.next()
        {
            effects.extend(take(self, msg));
        }
        self.drop_typed(typed.as_slice(), DROPPED);
        // If one of these keys opened a question, guard it like one that opened by itself.
        if self.is_asked() && self.guard.is_none() {
            effects.extend(self.guard());
        }
        effects
    }

    /// Whether a question about something costly is on top. Nobody has read it yet.
    fn is_asked(&self) -> bool {
        matches!(self.over.last(), Some(Over::Confirm(..)))
    }

    /// Whether the next kept key has a target: something that opened, or is being read.
    fn is_for_typed(&self, over: usize) -> bool {
        !self.is_asked() && (self.over.len() > over || self.is_awaiting())
    }

    /// Drops the kept keys after [`LONGEST_MS`].
    pub(super) fn end_wait(&mut self) {
        let now = self.now;
        if let Some(ahead) = self.type_ahead.take_if(|ahead| now - ahead.since >= LONGEST_MS) {
            self.drop_typed(&ahead.typed, NOTHING_OPENED);
        }
    }

    fn drop_typed(&mut self, typed: &[Msg], say: &str) {
        // A failure says more.
        if !typed.is_empty() && self.told.is_none() {
            self.tell(Role::Warn, say);
            self.is_dirty = true;
        }
    }
}
