//! Lines above a list, about the list as a whole.

use std::cell::Cell;

use ratatui::{
    Frame,
    layout::{Constraint, Layout, Rect},
};
use serde_json::Value as Json;

use super::Browser;
use crate::{
    calls::{Fault, Reply},
    screens::Look,
    step::{Calling, IntoStep, Step},
    theme::Role,
    widgets::draw::{framed, text_in},
};

/// The first place for replies of these calls.
pub(super) const ABOVE: u8 = 8;
/// Smaller screens show the list alone.
const LEAST: u16 = 20;

/// Makes the lines out of the replies; null: no reply yet.
type Lines = fn(&[Json], i64) -> Vec<(Role, String)>;

/// What is asked for, and the lines out of the replies.
pub(crate) struct Above {
    pub(crate) title: &'static str,
    pub(crate) asks: &'static [fn() -> Result<Calling, Fault>],
    pub(crate) height: u16,
    pub(crate) lines: Lines,
}

impl Browser {
    pub(super) fn ask_above(&self) -> Step {
        let asks = self.spec.above.map_or(&[][..], |above| above.asks);
        let call = |(slot, ask): (u8, &fn() -> Result<Calling, Fault>)| ask().slot(slot);
        Step::Several((ABOVE..).zip(asks).map(call).collect())
    }

    /// Takes a reply, and returns whether it brought something new. A forbidden call clears the
    /// lines; the list itself shows the refusal.
    pub(super) fn take_above(&mut self, slot: u8, outcome: Result<Reply, Fault>) -> bool {
        let data = match outcome {
            Ok(reply) => reply.data,
            Err(fault) if fault.is_forbidden() => Json::Null,
            Err(_) => return false,
        };
        let at = usize::from(slot - ABOVE);
        if self.above.len() <= at {
            self.above.resize(at + 1, Json::Null);
        }
        let changed = self.above[at] != data;
        self.above[at] = data;
        changed
    }

    /// Draws the lines, and returns the area that is left for the list.
    pub(super) fn draw_above(&self, frame: &mut Frame<'_>, area: Rect, look: Look) -> Rect {
        let Some(above) = self.spec.above.filter(|_| area.height >= LEAST) else { return area };
        let [top, rest] =
            Layout::vertical([Constraint::Length(above.height + 2), Constraint::Fill(1)])
                .areas(area);
        let inner = framed(frame, top, above.title, false, look.theme);
        let shown = (above.lines)(&self.above, look.now);
        text_in(frame, inner, &shown, &Cell::default(), 1, look.theme);
        rest
    }
}
