//! Which events were printed, so that none is printed twice and none is missed

use std::collections::BTreeSet;

use cms_core::{Millis, parse_rfc3339, rfc3339};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::output::{Done, Exit, Failure, Output};

/// How far back every request reaches: a change that began earlier may commit later.
const OVERLAP: Millis = 10_000;

#[derive(Deserialize)]
struct Recorded {
    id: String,
    event: String,
    created_at: String,
    jobs: i64,
}

/// The events printed recently.
#[derive(Default)]
pub(super) struct Printed {
    newest: Option<Millis>,
    recent: BTreeSet<(Millis, String)>,
    /// Earlier events are not printed.
    floor: Option<(Millis, String)>,
}

impl Printed {
    /// Prints the events that were not printed before.
    pub(super) fn print(&mut self, out: &Output, data: &[Box<RawValue>]) -> Done {
        for raw in data {
            let Recorded { id, event, created_at, jobs } = recorded(raw)?;
            let place = (moment(&created_at)?, id);
            if self.floor.as_ref().is_some_and(|floor| place < *floor)
                || self.recent.contains(&place)
            {
                continue;
            }
            if out.json {
                out.line(raw.get())?;
            } else {
                out.line(
                    &[&created_at, &event, &jobs.to_string(), &place.1]
                        .map(String::as_str)
                        .join(out.gap()),
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
    pub(super) fn ask_again_from(&self) -> Option<String> {
        self.newest.map(|newest| rfc3339(newest - OVERLAP))
    }

    /// From now on prints only later events than those printed, or than `end` when none were.
    pub(super) fn begin(&mut self, end: Option<&RawValue>) -> Done {
        let place = |raw| {
            let Recorded { id, created_at, .. } = recorded(raw)?;
            Ok::<_, Failure>((moment(&created_at)?, id))
        };
        let end = end.map(place).transpose()?;
        self.newest = self.newest.max(end.as_ref().map(|(at, _)| *at));
        self.floor = self.recent.first().cloned().or(end);
        Ok(())
    }
}

fn recorded(raw: &RawValue) -> Done<Recorded> {
    serde_json::from_str(raw.get()).map_err(Failure::unexpected)
}

fn moment(text: &str) -> Done<Millis> {
    parse_rfc3339(text).ok_or_else(|| {
        Failure::new(
            Exit::Failed,
            format!("the reply does not come from a CMS: {text:?} is no date-time"),
        )
    })
}
