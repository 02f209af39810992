//! One submission: who it is, what was answered, the way that it took, files, mails, notes.
//!
//! ```text
//! act   files saved, mails and deliveries opened, why a mail went out
//! draw  one column, or two on wide screens
//! ```

mod act;
mod draw;

use std::cell::Cell;

use super::{inbox, prelude::*};

/// Where replies go.
const WHOLE: u8 = 0;

/// The screen.
#[derive(Default)]
pub(crate) struct Submission {
    /// As its list showed it, then as it was read.
    shown: Json,
    is_whole: bool,
    fault: Option<String>,
    /// The column that keys move: 0 or 1.
    pane: usize,
    tops: [Cell<usize>; 2],
    panes_at: [Cell<Rect>; 2],
    /// It has no rows; the keys of lists move it all the same.
    none: List,
}

impl Submission {
    pub(crate) fn new(row: Json) -> Self {
        Self { shown: row, ..Self::default() }
    }

    fn go_to(&mut self, row: Json) -> Step {
        (self.shown, self.is_whole, self.fault) = (row, false, None);
        self.tops.iter().for_each(|top| top.set(0));
        self.load()
    }

    fn scroll(&mut self, verb: &str) {
        let top = &self.tops[self.pane];
        let at = top.get();
        top.set(match verb {
            "down" => at + 1,
            "up" => at.saturating_sub(1),
            "half_down" => at + 10,
            "half_up" => at.saturating_sub(10),
            "first" => 0,
            "last" => usize::MAX / 2,
            _ => at,
        });
    }
}

impl Screen for Submission {
    fn noun(&self) -> &'static str {
        "submission"
    }

    fn title(&self) -> String {
        format!("{} · {}", inbox::name(&self.shown), inbox::id(&self.shown))
    }

    fn subject(&self) -> &Json {
        &self.shown
    }

    fn load(&mut self) -> Step {
        inbox::whole(&self.shown).slot(WHOLE)
    }

    fn take(&mut self, _: u8, outcome: Result<Reply, Fault>) -> (Step, bool) {
        match outcome {
            Ok(reply) => {
                let changed = !self.is_whole || self.fault.is_some() || self.shown != reply.data;
                (self.shown, self.is_whole, self.fault) = (reply.data, true, None);
                (Step::None, changed)
            }
            Err(fault) => {
                if fault.is_forbidden() {
                    (self.shown, self.is_whole) = (Json::Null, false);
                }
                self.fault = Some(fault.detail);
                (Step::None, true)
            }
        }
    }

    fn act(&mut self, verb: &str, scene: &Scene<'_>) -> Step {
        match verb {
            "next" => Step::Neighbour(1),
            "before" => Step::Neighbour(-1),
            verb if inbox::is_shared(verb) => inbox::act(verb, scene),
            verb => act::act(verb, &self.shown, scene),
        }
    }

    fn row(&self) -> Option<&Json> {
        (!self.shown.is_null() && self.fault.is_none()).then_some(&self.shown)
    }

    fn list(&self) -> Option<&List> {
        Some(&self.none)
    }

    fn move_list(&mut self, verb: &str) -> Step {
        match verb {
            "pane" => self.pane = 1 - self.pane,
            _ => self.scroll(verb),
        }
        Step::None
    }

    fn show(&mut self, row: Json) -> Step {
        self.go_to(row)
    }

    fn click(&mut self, at: Position) -> Clicked {
        let Some(pane) = self.panes_at.iter().position(|area| area.get().contains(at)) else {
            return Clicked::Nothing;
        };
        self.pane = pane;
        Clicked::Moved(Box::default())
    }

    fn follows(&self, event: &str) -> bool {
        event.starts_with("formfunnel.")
    }

    fn draw(&self, frame: &mut Frame<'_>, area: Rect, look: Look) {
        draw::draw(self, frame, area, look);
    }
}
