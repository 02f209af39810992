//! Removals that failed. A store that did not answer may still carry one out, so until then nobody
//! may count on the object; and others need not wait for the same silence.

use std::{
    collections::BTreeMap,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicI64, Ordering},
    },
};

use crate::{Millis, media::name::Name};

/// A store has carried out by then what it was asked, or never will.
const DECIDED: Millis = 60_000;
/// After a failure nobody but `Media::tidy` tries for so long.
const AWAY: Millis = 60_000;

/// What has failed in this process.
#[derive(Default)]
pub(in crate::media) struct Removals {
    /// Files with the time until which their removal is undecided.
    undecided: Mutex<BTreeMap<Name, Millis>>,
    /// Until when the store counts as away.
    away: AtomicI64,
}

impl Removals {
    /// It is not known what has become of a file.
    pub(in crate::media) fn doubt(&self, name: &Name, now: Millis) {
        let mut undecided = self.undecided.lock().unwrap_or_else(PoisonError::into_inner);
        undecided.retain(|_, until| *until > now);
        undecided.insert(name.clone(), now + DECIDED);
    }

    /// Milliseconds until it is known what has become of a file; None: it is known.
    pub(in crate::media) fn undecided(&self, name: &Name, now: Millis) -> Option<Millis> {
        let undecided = self.undecided.lock().unwrap_or_else(PoisonError::into_inner);
        undecided.get(name).map(|until| until - now).filter(|left| *left > 0)
    }

    /// A removal has failed.
    pub(in crate::media) fn fail(&self, now: Millis) {
        self.away.store(now + AWAY, Ordering::Relaxed);
    }

    /// Whether one has failed a short time ago.
    pub(in crate::media) fn is_away(&self, now: Millis) -> bool {
        now < self.away.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_removal_is_undecided_for_a_minute() {
        let name = |digit: &str| Name::read("ab", &format!("{}.png", digit.repeat(62)));
        let (one, other) = (name("1").expect("a name"), name("2").expect("a name"));
        let removals = Removals::default();
        removals.doubt(&one, 1_000);
        assert_eq!(removals.undecided(&one, 1_000), Some(60_000));
        assert_eq!(removals.undecided(&one, 60_999), Some(1));
        assert_eq!(removals.undecided(&one, 61_000), None);
        assert_eq!(removals.undecided(&other, 1_000), None);
        removals.doubt(&other, 61_000);
        assert_eq!(removals.undecided.lock().expect("the files").len(), 1, "the old one is gone");
        assert!(!removals.is_away(1_000));
        removals.fail(1_000);
        assert!(removals.is_away(60_999) && !removals.is_away(61_000));
    }
}
