//! Faults of this machine, by lane: how long a lane rests after them.

use std::collections::HashMap;

use crate::{Millis, outbound::Attempt, webhooks::rules::retry};

/// The lanes that rest, or rested last.
#[derive(Default)]
pub(in crate::webhooks) struct LocalFaults(HashMap<i64, Rest>);

#[derive(Clone, Copy, Default)]
struct Rest {
    in_a_row: u32,
    until: Millis,
}

impl LocalFaults {
    /// Notes the end of an attempt. After a local fault: for how many milliseconds the lane rests.
    /// Attempts that ran beside each other count as one.
    pub(in crate::webhooks) fn rest(
        &mut self,
        lane: i64,
        attempt: &Attempt,
        now: Millis,
    ) -> Option<Millis> {
        if !attempt.is_local() {
            self.0.remove(&lane);
            return None;
        }
        if self.0.is_empty() {
            let why = attempt.message();
            tracing::warn!(why, "this machine cannot deliver webhooks; their jobs come again");
        }
        let rest = self.0.entry(lane).or_default();
        let resting = now..now + retry::local_wait_ms(u32::MAX);
        if rest.in_a_row == 0 || !resting.contains(&rest.until) {
            rest.in_a_row = rest.in_a_row.saturating_add(1);
            rest.until = now + retry::local_wait_ms(rest.in_a_row);
        }
        Some(rest.until - now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_beside_each_other_count_as_one() {
        let local = Attempt::failed("local", "no descriptor".to_owned());
        let other = Attempt::failed("status", "answered 500".to_owned());
        let mut faults = LocalFaults::default();
        for (attempt, now, expected) in [
            (&local, 0, Some(1000)),
            (&local, 400, Some(600)),
            (&local, 1001, Some(1000)),
            (&local, 1500, Some(501)),
            (&local, 3000, Some(2000)),
            (&other, 3100, None),
            (&local, 3200, Some(1000)),
            // The clock was set back.
            (&local, -90_000, Some(1000)),
        ] {
            assert_eq!(faults.rest(7, attempt, now), expected, "at {now}");
        }
    }
}
