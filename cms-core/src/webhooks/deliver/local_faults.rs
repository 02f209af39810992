//! Faults of this machine, by lane: how long a lane rests after them.

use std::collections::HashMap;

use crate::{Millis, jobs, outbound::Attempt, webhooks::rules::retry::LOCAL_BACKOFF};

/// Suspected faults in a row (about half a minute) after which the receiver counts as the cause,
/// if others were reached since the first of them.
const SUSPECTED: i64 = 5;

/// Interval between warnings in the log.
const TELL_EVERY_MS: i64 = 600_000;
/// Lanes that last rested longer ago are forgotten, because their subscriptions may be gone.
const KEPT_MS: i64 = 3_600_000;

/// The lanes that rest now or rested recently.
#[derive(Default)]
pub(super) struct LocalFaults {
    lanes: HashMap<i64, Lane>,
    /// When a receiver was last reached.
    reached: Option<Millis>,
    told: Option<Millis>,
}

#[derive(Clone, Copy)]
struct Lane {
    since: Millis,
    rest: jobs::Rest,
}

impl LocalFaults {
    /// Notes the end of an attempt. Returns the milliseconds for which the lane rests after a
    /// local fault. Concurrent attempts count as one fault. A fault that the receiver causes
    /// counts against the receiver: its name never resolves, or no route leads to it, while other
    /// receivers are reached.
    pub(super) fn rest(&mut self, lane: i64, attempt: &mut Attempt, now: Millis) -> Option<Millis> {
        if attempt.is_own() {
            return None;
        }
        if !attempt.is_local() {
            self.lanes.remove(&lane);
            self.reached = Some(now);
            return None;
        }
        if self.told.is_none_or(|told| !(told..told + TELL_EVERY_MS).contains(&now)) {
            self.told = Some(now);
            self.lanes.retain(|_, lane| now - lane.rest.until < KEPT_MS);
            let why = attempt.message();
            tracing::warn!(why, "this machine cannot deliver webhooks; their jobs come again");
        }
        let Lane { since, rest } =
            self.lanes.entry(lane).or_insert(Lane { since: now, rest: jobs::Rest::default() });
        let others_are_reached = self.reached.is_some_and(|at| at >= *since);
        if rest.in_a_row >= SUSPECTED && others_are_reached && attempt.blame_receiver() {
            return None;
        }
        rest.fault(LOCAL_BACKOFF, now);
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
            assert_eq!(faults.rest(7, &mut attempt.clone(), now), expected, "at {now}");
        }
    }

    #[test]
    fn a_receiver_is_blamed_only_while_others_are_reached() {
        let other = Attempt::failed("status", "answered 500".to_owned());
        for (reached, suspect, blamed) in
            [(true, true, true), (false, true, false), (true, false, false)]
        {
            let mut faults = LocalFaults::default();
            let mut now = 0;
            let mut attempts = (0..8).map(|_| {
                let why = "no answer from DNS".to_owned();
                let mut attempt = match suspect {
                    true => Attempt::suspected("dns", why),
                    false => Attempt::failed("local", why),
                };
                if reached {
                    faults.rest(8, &mut other.clone(), now);
                }
                now += faults.rest(7, &mut attempt, now).unwrap_or_default() + 1;
                attempt.code()
            });
            let codes: Vec<_> = attempts.by_ref().collect();
            assert_eq!(codes[..5], ["local"; 5]);
            assert_eq!(
                codes[5..],
                [if blamed { "dns" } else { "local" }; 3],
                "{reached} {suspect}"
            );
        }
    }
}
