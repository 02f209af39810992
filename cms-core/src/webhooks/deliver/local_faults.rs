//! Faults of this machine, by lane: how long a lane rests after them.

use std::collections::HashMap;

use crate::{outbound::Attempt, webhooks::rules::retry};

/// Local faults in a row of each lane that has any.
#[derive(Default)]
pub(in crate::webhooks) struct LocalFaults(HashMap<i64, u32>);

impl LocalFaults {
    /// Notes the end of an attempt. After a local fault: for how many milliseconds the lane rests.
    pub(in crate::webhooks) fn rest(&mut self, lane: i64, attempt: &Attempt) -> Option<i64> {
        if !attempt.is_local() {
            self.0.remove(&lane);
            return None;
        }
        if self.0.is_empty() {
            let why = attempt.message();
            tracing::warn!(why, "this machine cannot deliver webhooks; their jobs come again");
        }
        let in_a_row = self.0.entry(lane).or_default();
        *in_a_row = in_a_row.saturating_add(1);
        Some(retry::local_wait_ms(*in_a_row))
    }
}
