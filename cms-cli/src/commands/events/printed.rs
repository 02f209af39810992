//! Recorded events that were printed: none is printed twice, none is missed

use std::collections::BTreeSet;

use cms_core::{Millis, parse_rfc3339, rfc3339};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::output::{Done, Exit, Failure, Output};

/// A change that was begun earlier may be committed later: so far back is asked again.
const OVERLAP: Millis = 10_000;

#[derive(Deserialize)]
struct Recorded {
    id: String,
    event: String,
    created_at: String,
    jobs: i64,
}

/// What was printed of late, so that it is not printed again.
#[derive(Default)]
pub(super) struct Printed {
    newest: Option<Millis>,
    recent: BTreeSet<(Millis, String)>,
    /// Nothing before this was asked for.
    floor: Option<(Millis, String)>,
}

impl Printed {
    /// Prints what was not printed before.
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

    /// The moment from which to ask again, if anything was seen.
    pub(super) fn ask_again_from(&self) -> Option<String> {
        self.newest.map(|newest| rfc3339(newest - OVERLAP))
    }

    /// From here on only what is later than what was printed, or than `end` when nothing was.
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
        Failure::new(Exit::Failed, format!("the reply holds no date-time but {text:?}"))
    })
}
