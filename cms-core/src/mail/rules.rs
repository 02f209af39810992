//! What an attempt means for its mail, its provider and its postman. Pure. After five faults in a
//! row the breaker of a provider opens: the provider rests, then one mail probes it. A postman
//! rests after faults of its machine.

use crate::{
    Millis,
    jobs::{Backoff, Rest},
};

/// Waits after rounds that failed, in seconds; some three days in all.
const RETRY_BACKOFF: Backoff = Backoff(&[30, 120, 480, 1920, 7200, 14_400]);
/// Retries after which a mail is given up.
pub(super) const MOST_TRIES: i64 = 22;
/// Wait after a fault of this machine, which does not count as a try.
const LOCAL_WAIT_MS: Millis = 5_000;

/// How an attempt of one provider ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The provider has taken the mail over.
    Sent,
    /// The address cannot get mail: no provider can change that.
    Recipient,
    /// This provider will not send this mail; another one may.
    Refused,
    /// This provider does not take this mail now.
    Deferred,
    /// The provider does not work.
    Fault,
    /// This machine is at fault, so the attempt says nothing about the provider.
    Local,
}

impl Outcome {
    /// The name in the log.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Sent => "sent",
            Self::Recipient => "recipient",
            Self::Refused => "refused",
            Self::Deferred => "deferred",
            Self::Fault => "fault",
            Self::Local => "local",
        }
    }

    /// Whether the next provider of the chain is tried.
    pub(super) fn goes_on(self) -> bool {
        !matches!(self, Self::Sent | Self::Recipient)
    }
}

/// What becomes of a mail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Sent,
    Failed,
    /// Another round after this many milliseconds; the finished round counts as a try.
    Again(Millis),
    /// As `Again`, but the finished round does not count.
    Later(Millis),
}

/// The verdict on a round. `skipped`: some providers of the chain were not tried. `tries`: failed
/// rounds before this one.
pub(super) fn verdict(outcomes: &[Outcome], skipped: bool, tries: i64) -> Verdict {
    let all = |of: &[Outcome]| outcomes.iter().all(|outcome| of.contains(outcome));
    if outcomes.contains(&Outcome::Sent) {
        Verdict::Sent
    } else if outcomes.contains(&Outcome::Recipient)
        || (!outcomes.is_empty() && !skipped && all(&[Outcome::Refused]))
    {
        Verdict::Failed
    } else if outcomes.is_empty()
        || (outcomes.contains(&Outcome::Local) && all(&[Outcome::Local, Outcome::Refused]))
    {
        Verdict::Later(LOCAL_WAIT_MS)
    } else {
        RETRY_BACKOFF.wait_ms(tries, MOST_TRIES).map_or(Verdict::Failed, Verdict::Again)
    }
}

/// Faults in a row that open the breaker.
const FAULTS: i64 = 5;
/// How long a provider rests, in seconds; the last one repeats.
const BREAKER_BACKOFF: Backoff = Backoff(&[30, 60, 120, 300]);
/// The longest rest. An end more than twice as far ahead was set before the clock was set back.
const LONGEST_MS: Millis = 300_000;

/// The recent faults of a provider.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Health {
    /// Faults in a row.
    pub(super) faults: i64,
    /// Until then nothing is sent through it.
    pub(super) rests_until: Millis,
}

/// Whether a provider gets mails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    Ready,
    /// One mail only, to see whether the provider works again.
    Probe,
    Rests,
}

impl Health {
    pub(super) fn admission(&self, now: Millis) -> Admission {
        if self.faults < FAULTS {
            Admission::Ready
        } else if (now..now + 2 * LONGEST_MS).contains(&self.rests_until) && self.rests_until > now
        {
            Admission::Rests
        } else {
            Admission::Probe
        }
    }

    /// The health after an attempt. `probe`: this attempt was the provider's probe. Concurrent
    /// attempts open the breaker only once.
    pub(super) fn after(self, outcome: Outcome, probe: bool, now: Millis) -> Self {
        match outcome {
            // Nothing is known of the provider: the next mail tries it.
            Outcome::Local if probe => self.probed(now + LOCAL_WAIT_MS),
            Outcome::Local => self,
            Outcome::Fault if !probe && self.admission(now) == Admission::Rests => self,
            Outcome::Fault => {
                let faults = self.faults.saturating_add(1);
                let rest = BREAKER_BACKOFF.wait_ms(faults - FAULTS, i64::MAX).unwrap_or(LONGEST_MS);
                Self { faults, rests_until: if faults < FAULTS { 0 } else { now + rest } }
            }
            _ => Self::default(),
        }
    }

    /// The health while one mail tries the provider: all others wait until `until`.
    pub(super) fn probed(self, until: Millis) -> Self {
        Self { rests_until: until, ..self }
    }
}

/// How long a postman rests, in seconds; the last one repeats.
const LOCAL_BACKOFF: Backoff = Backoff(&[5, 10, 20, 40, 60]);

/// The rest of a postman after faults of its machine.
#[derive(Debug, Default)]
pub(super) struct LocalRest(Rest);

impl LocalRest {
    /// How many mails may begin, at most `free`, while `under_way` others are being sent.
    pub(super) fn places(&self, free: usize, under_way: usize, now: Millis) -> usize {
        match self.0.in_a_row {
            0 => free,
            _ if self.0.is_under_way(LOCAL_BACKOFF, now) || under_way > 0 => 0,
            _ => free.min(1),
        }
    }

    /// Notes the end of a round. Concurrent rounds begin only one rest.
    pub(super) fn note(
        &mut self,
        outcomes: impl IntoIterator<Item = Outcome>,
        verdict: Verdict,
        now: Millis,
    ) {
        let is_local = outcomes.into_iter().any(|outcome| outcome == Outcome::Local);
        if !is_local {
            *self = Self::default();
        } else if matches!(verdict, Verdict::Later(_)) {
            self.0.fault(LOCAL_BACKOFF, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Outcome::*, *};

    #[test]
    fn verdicts() {
        let again = Verdict::Again(30_000);
        let later = Verdict::Later(LOCAL_WAIT_MS);
        for (outcomes, skipped, expected) in [
            (&[Sent][..], false, Verdict::Sent),
            (&[Fault, Deferred, Sent], false, Verdict::Sent),
            (&[Recipient], false, Verdict::Failed),
            (&[Fault, Recipient], false, Verdict::Failed),
            (&[Refused, Refused], false, Verdict::Failed),
            (&[Refused], true, again),
            (&[Refused, Fault], false, again),
            (&[Refused, Deferred], false, again),
            (&[Deferred], false, again),
            (&[Fault], false, again),
            (&[Local], false, later),
            (&[Refused, Local], false, later),
            (&[Fault, Local], false, again),
            (&[], true, later),
        ] {
            assert_eq!(verdict(outcomes, skipped, 0), expected, "{outcomes:?} {skipped}");
        }
    }

    #[test]
    fn a_mail_is_given_up_after_three_days() {
        let waits = (0..).map_while(|tries| match verdict(&[Fault], false, tries) {
            Verdict::Again(wait) => Some(wait),
            _ => None,
        });
        let waits: Vec<_> = waits.collect();
        assert_eq!(waits.len() as i64, MOST_TRIES);
        let hours = waits.iter().sum::<i64>() / 3_600_000;
        assert!((60..80).contains(&hours), "{hours} h");
        assert_eq!(verdict(&[Local], false, MOST_TRIES), Verdict::Later(LOCAL_WAIT_MS));
    }

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
