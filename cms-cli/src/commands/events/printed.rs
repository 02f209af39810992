//! Which events were printed, so that none is printed twice and none is missed

use std::collections::BTreeSet;

use cms_core::{Millis, parse_rfc3339, webhooks::Message};
use cms_http::wire::parameters::Moment;

use crate::output::{Done, Failure, Output};

/// How far back every request reaches: a change that began earlier may commit later.
const OVERLAP: Millis = 10_000;

/// The events printed recently.
#[derive(Default)]
pub(super) struct Printed {
    newest: Option<Millis>,
    recent: BTreeSet<Place>,
    /// Earlier events are not printed.
    floor: Option<Place>,
}

/// Where an event stands among all others: its moment and its id.
type Place = (Millis, String);

impl Printed {
    /// Prints the events that were not printed before.
    pub(super) fn print(&mut self, out: &Output, events: &[Message]) -> Done {
        for event in events {
            let place = place(event)?;
            let too_early = self.floor.as_ref().is_some_and(|floor| place < *floor);
            if too_early || self.recent.contains(&place) {
                continue;
            }
            let Message { id, event: name, created_at, jobs, .. } = event;
            if out.json {
                out.line(&serde_json::to_string(event).map_err(Failure::unexpected)?)?;
            } else {
                out.line(
                    &[created_at, name, &jobs.to_string(), id].map(String::as_str).join(out.gap()),
                )?;
            }
            self.newest = self.newest.max(Some(place.0));
            self.recent.insert(place);
        }
        if let Some(newest) = self.newest {
            self.recent = self.recent.split_off(&(newest - OVERLAP, String::new()));
        }
        Ok(())
    }

    /// Where the next request begins; None when no event is known.
    pub(super) fn ask_again_from(&self) -> Option<Moment> {
        self.newest.map(|newest| Moment(newest - OVERLAP))
    }

    /// The id of the newest event that is known.
    pub(super) fn newest(&self) -> Option<&str> {
        let place = self.recent.last().or(self.floor.as_ref())?;
        Some(&place.1)
    }

    /// From now on prints only later events than those printed, or than `end` when none were.
    pub(super) fn begin(&mut self, end: Option<&Message>) -> Done {
        let end = end.map(place).transpose()?;
        self.newest = self.newest.max(end.as_ref().map(|(at, _)| *at));
        self.floor = self.recent.first().cloned().or(end);
        Ok(())
    }
}

fn place(event: &Message) -> Done<Place> {
    let at = parse_rfc3339(&event.created_at);
    let wrong = || Failure::unexpected(format!("{:?} is not a date-time", event.created_at));
    Ok((at.ok_or_else(wrong)?, event.id.clone()))
}
