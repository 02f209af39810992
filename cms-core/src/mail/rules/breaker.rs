//! The breaker of a provider: after five faults in a row it rests, then one mail tries it. Pure.

use super::outcome::{LOCAL_WAIT_MS, Outcome};
use crate::{Millis, jobs::Backoff};

/// Faults in a row that open the breaker.
const FAULTS: i64 = 5;
/// How long a provider rests, in seconds; the last one repeats.
const RESTS: Backoff = Backoff(&[30, 60, 120, 300]);
/// The longest rest. A later end was set before the clock was set back.
const LONGEST_MS: Millis = 300_000;

/// What is known of a provider.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::mail) struct Health {
    /// Faults in a row.
    pub(in crate::mail) faults: i64,
    /// Until then nothing is sent through it.
    pub(in crate::mail) rests_until: Millis,
}

/// Whether a provider gets mails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::mail) enum Admission {
    Ready,
    /// One mail, to see whether it works again.
    Probe,
    Rests,
}

impl Health {
    pub(in crate::mail) fn admission(&self, now: Millis) -> Admission {
        if self.faults < FAULTS {
            Admission::Ready
        } else if (now..now + 2 * LONGEST_MS).contains(&self.rests_until) && self.rests_until > now
        {
            Admission::Rests
        } else {
            Admission::Probe
        }
    }

    /// The health after an attempt. `probe`: the one mail that tried it. Attempts that ran beside
    /// each other open the breaker once.
    pub(in crate::mail) fn after(self, outcome: Outcome, probe: bool, now: Millis) -> Self {
        match outcome {
            // Nothing is known of the provider: the next mail tries it.
            Outcome::Local if probe => self.probed(now + LOCAL_WAIT_MS),
            Outcome::Local => self,
            Outcome::Fault if !probe && self.admission(now) == Admission::Rests => self,
            Outcome::Fault => {
                let faults = self.faults.saturating_add(1);
                let rest = RESTS.wait_ms(faults - FAULTS, i64::MAX).unwrap_or(LONGEST_MS);
                Self { faults, rests_until: if faults < FAULTS { 0 } else { now + rest } }
            }
            _ => Self::default(),
        }
    }

    /// The health while one mail tries the provider: all others wait until `until`.
    pub(in crate::mail) fn probed(self, until: Millis) -> Self {
        Self { rests_until: until, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(faults: i64) -> Health {
        (0..faults).fold(Health::default(), |health, _| {
            let now = health.rests_until;
            health.after(Outcome::Fault, true, now)
        })
    }

    #[test]
    fn five_faults_in_a_row_open_it() {
        let opened: Vec<_> = (0..7).map(|n| after(n).admission(1)).collect();
        assert_eq!(opened[..5], [Admission::Ready; 5]);
        assert_eq!(opened[5..], [Admission::Rests; 2]);
        let mut health = after(4);
        health = health.after(Outcome::Refused, false, 0).after(Outcome::Fault, false, 0);
        assert_eq!(health, Health { faults: 1, rests_until: 0 });
    }

    #[test]
    fn rests_grow_up_to_five_minutes_and_end_with_a_success() {
        let rests: Vec<_> =
            (4..10).map(|n| after(n + 1).rests_until - after(n).rests_until).collect();
        assert_eq!(rests, [30_000, 60_000, 120_000, 300_000, 300_000, 300_000]);
        for outcome in [Outcome::Sent, Outcome::Recipient, Outcome::Refused, Outcome::Deferred] {
            assert_eq!(after(9).after(outcome, true, 7), Health::default(), "{outcome:?}");
        }
        assert_eq!(after(9).after(Outcome::Local, false, 7), after(9));
    }

    #[test]
    fn one_mail_probes_and_the_stragglers_do_not_count() {
        let open = after(5);
        assert_eq!(open.admission(29_999), Admission::Rests);
        assert_eq!(open.admission(30_000), Admission::Probe);
        // The clock was set back.
        assert_eq!(open.admission(-700_000), Admission::Probe);
        assert_eq!(open.clone().after(Outcome::Fault, false, 10), open);
        let probed = open.probed(150_000);
        assert_eq!(probed.admission(30_000), Admission::Rests);
        let unknown = probed.clone().after(Outcome::Local, true, 31_000);
        assert_eq!(unknown, Health { faults: 5, rests_until: 31_000 + LOCAL_WAIT_MS });
        let failed = probed.after(Outcome::Fault, true, 31_000);
        assert_eq!(failed, Health { faults: 6, rests_until: 91_000 });
    }
}
