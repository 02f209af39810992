//! Undo and redo of acts.

use super::{Effect, Model, Origin};
use crate::{
    step::{Act, Checked, Did, Undo, Way},
    text,
    theme::Role,
};

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
    pub(super) fn way_of(&mut self, number: Option<u64>, rest: Vec<Checked>) -> Way {
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
