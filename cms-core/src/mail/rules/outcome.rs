//! How an attempt ended, and what becomes of the mail after a round through the chain. Pure.

use crate::{Millis, jobs::Backoff};

/// Waits after rounds that failed, in seconds; some three days in all.
const WAITS: Backoff = Backoff(&[30, 120, 480, 1920, 7200, 14_400]);
/// Rounds after which a mail is given up.
pub(in crate::mail) const MOST_TRIES: i64 = 22;
/// Wait after faults of this machine, which count as no try.
pub(in crate::mail) const LOCAL_WAIT_MS: Millis = 5_000;

/// How an attempt of one provider ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::mail) enum Outcome {
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
    /// This machine does not work, so nothing is known of the provider.
    Local,
}

impl Outcome {
    /// The name in the log.
    pub(in crate::mail) fn name(self) -> &'static str {
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
    pub(in crate::mail) fn goes_on(self) -> bool {
        !matches!(self, Self::Sent | Self::Recipient)
    }
}

/// What becomes of a mail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::mail) enum Verdict {
    Sent,
    Failed,
    /// Another round after so many milliseconds; this one counts as a try.
    Again(Millis),
    /// Another round; this one does not count.
    Later(Millis),
}

/// The verdict on a round. `skipped`: providers of the chain rested. `tries`: failed rounds before.
pub(in crate::mail) fn verdict(outcomes: &[Outcome], skipped: bool, tries: i64) -> Verdict {
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
        WAITS.wait_ms(tries, MOST_TRIES).map_or(Verdict::Failed, Verdict::Again)
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
}
