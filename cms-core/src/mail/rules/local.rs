//! The rest of a postman after faults of this machine, in which one mail tries again. Pure.

use super::outcome::{Outcome, Verdict};
use crate::{
    Millis,
    jobs::{Backoff, Rest},
};

/// How long a postman rests, in seconds; the last one repeats.
const WAITS: Backoff = Backoff(&[5, 10, 20, 40, 60]);

/// What a postman knows of its machine.
#[derive(Debug, Default)]
pub(in crate::mail) struct LocalRest(Rest);

impl LocalRest {
    /// How many of `free` mails may begin, while `under_way` others are on their way.
    pub(in crate::mail) fn places(&self, free: usize, under_way: usize, now: Millis) -> usize {
        match self.0.in_a_row {
            0 => free,
            _ if self.0.is_under_way(WAITS, now) || under_way > 0 => 0,
            _ => free.min(1),
        }
    }

    /// Notes the end of a round. Rounds that ran beside each other begin one rest.
    pub(in crate::mail) fn note(
        &mut self,
        outcomes: impl IntoIterator<Item = Outcome>,
        verdict: Verdict,
        now: Millis,
    ) {
        let is_local = outcomes.into_iter().any(|outcome| outcome == Outcome::Local);
        if !is_local {
            *self = Self::default();
        } else if matches!(verdict, Verdict::Later(_)) {
            self.0.fault(WAITS, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_a_local_fault_one_mail_tries_and_rests_grow() {
        let later = Verdict::Later(5_000);
        let mut rest = LocalRest::default();
        assert_eq!(rest.places(16, 9, 0), 16);
        rest.note([Outcome::Local], later, 0);
        rest.note([Outcome::Local], later, 10);
        assert_eq!([4_999, 5_000].map(|now| rest.places(16, 0, now)), [0, 1]);
        assert_eq!(rest.places(16, 1, 5_000), 0, "one at a time");
        rest.note([Outcome::Refused, Outcome::Local], later, 5_000);
        assert_eq!([14_999, 15_000].map(|now| rest.places(16, 0, now)), [0, 1]);
        // The clock was set back.
        assert_eq!(rest.places(16, 0, -90_000), 1);
        rest.note([Outcome::Fault], Verdict::Again(30_000), 15_000);
        assert_eq!(rest.places(16, 0, 15_000), 16);
    }
}
