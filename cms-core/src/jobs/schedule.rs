//! When work runs: due times, leases, and waits after failures. Pure.

use crate::{Millis, Result};

/// How long a lease lasts unless its owner renews it.
pub(crate) const LEASE_MS: Millis = 30_000;

/// Whether a task with this interval is due. A due time more than one interval ahead counts as
/// due: the interval has changed, or the clock was set back.
pub(crate) fn is_due(due: Millis, interval: Millis, now: Millis) -> bool {
    due <= now || due > now.saturating_add(interval)
}

/// The next due time of a task whose run was due at `due` and begins now. Missed intervals are
/// skipped, and the beat stays the same.
pub(crate) fn next_due(due: Millis, interval: Millis, now: Millis) -> Millis {
    let interval = interval.max(1);
    if !is_due(due, interval, now) {
        return due;
    }
    if due > now {
        return now.saturating_add(interval);
    }
    let missed = (now - due) / interval;
    due.saturating_add(interval.saturating_mul(missed + 1))
}

/// The lease of a row as it is stored: one process at a time works on the row.
///
/// A claim raises the row's token, and the claimer owns the row until the lease ends. Every later
/// write of the owner names the token, so an owner that lost its lease changes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lease {
    /// When the lease ends; 0 for a row without an owner.
    pub(crate) until: Millis,
    /// Counts the claims of the row.
    pub(crate) token: i64,
}

impl Lease {
    /// From its columns.
    pub(crate) fn stored((until, token): (Millis, i64)) -> Result<Self> {
        Ok(Self { until, token })
    }

    /// Whether the row may be claimed. A lease that ends more than twice [`LEASE_MS`] from now
    /// counts as free: it was given before the clock was set back.
    pub(crate) fn is_free(self, now: Millis) -> bool {
        self.until <= now || self.until > now + 2 * LEASE_MS
    }

    /// The lease of the next owner.
    pub(crate) fn next(self, now: Millis) -> Self {
        Self { token: self.token + 1, ..self }.renewed(now)
    }

    /// The same lease, with a full term from now.
    pub(crate) fn renewed(self, now: Millis) -> Self {
        Self { until: now + LEASE_MS, ..self }
    }

    /// Whether the owner should renew the lease: a third of its term has passed, or the clock
    /// was set back.
    pub(crate) fn is_aging(self, now: Millis) -> bool {
        let left = self.until - now;
        !(2 * LEASE_MS / 3 + 1..=LEASE_MS).contains(&left)
    }
}

/// Waits after the first, second ... failure in a row, in seconds; the last wait repeats.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Backoff(pub(crate) &'static [i64]);

impl Backoff {
    /// Milliseconds to wait after a failed try; `tries` counts the failed tries before it. None
    /// when `most` retries are used up.
    pub(crate) fn wait_ms(self, tries: i64, most: i64) -> Option<Millis> {
        if tries >= most {
            return None;
        }
        let index = usize::try_from(tries).unwrap_or(0).min(self.0.len().saturating_sub(1));
        self.0.get(index).map(|seconds| seconds * 1000)
    }

    /// The longest wait, in milliseconds.
    pub(crate) fn longest_ms(self) -> Millis {
        self.0.last().map_or(0, |seconds| seconds * 1000)
    }
}

/// A pause after faults of this machine; it grows with the faults in a row.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rest {
    /// Faults in a row. Further faults during a rest do not count.
    pub(crate) in_a_row: i64,
    pub(crate) until: Millis,
}

impl Rest {
    /// Notes a fault.
    pub(crate) fn fault(&mut self, waits: Backoff, now: Millis) {
        if !self.is_under_way(waits, now) {
            let wait = waits.wait_ms(self.in_a_row, i64::MAX).unwrap_or_default();
            self.in_a_row = self.in_a_row.saturating_add(1);
            self.until = now + wait;
        }
    }

    /// Whether the rest lasts. A rest that ends later than the longest wait from now counts as
    /// over: it began before the clock was set back.
    pub(crate) fn is_under_way(self, waits: Backoff, now: Millis) -> bool {
        self.in_a_row > 0 && self.until > now && self.until <= now + waits.longest_ms()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn missed_intervals_run_once() {
        for (due, interval, now, next) in [
            (1_000, 300, 1_000, 1_300),
            (1_000, 300, 1_299, 1_300),
            (1_000, 300, 1_300, 1_600),
            (1_000, 300, 9_999, 10_000),
            // Asked for before its time: the beat stays.
            (1_000, 300, 900, 1_000),
            // The clock was set back, or the interval is shorter by now.
            (1_000, 300, 0, 300),
        ] {
            assert_eq!(next_due(due, interval, now), next, "{due} {interval} {now}");
        }
    }

    proptest! {
        #[test]
        fn the_next_run_lies_within_one_interval(
            due in 0..1_000_000_i64, interval in 1..100_000_i64, now in 0..1_000_000_i64
        ) {
            let next = next_due(due, interval, now);
            prop_assert!(next > now && next <= now + interval);
            prop_assert!(!is_due(next, interval, now));
        }
    }

    #[test]
    fn a_lease_is_free_when_it_is_over_or_from_another_time() {
        let lease = Lease { until: 0, token: 7 }.next(1_000);
        assert_eq!(lease, Lease { until: 31_000, token: 8 });
        for (now, free, aging) in [
            (1_000, false, false),
            (10_999, false, false),
            (11_000, false, true),
            (30_999, false, true),
            (31_000, true, true),
            (-20_000, false, true),
            (-29_000, false, true),
            (-29_001, true, true),
        ] {
            assert_eq!((lease.is_free(now), lease.is_aging(now)), (free, aging), "at {now}");
        }
        assert_eq!(lease.renewed(11_000), Lease { until: 41_000, token: 8 });
    }

    #[test]
    fn the_last_wait_repeats_and_retries_end() {
        let waits = Backoff(&[1, 5]);
        let found: Vec<_> = (-1..4).map(|tries| waits.wait_ms(tries, 3)).collect();
        assert_eq!(found, [Some(1000), Some(1000), Some(5000), Some(5000), None]);
        assert_eq!(Backoff(&[]).wait_ms(0, 3), None);
    }

    #[test]
    fn rests_grow_and_faults_beside_each_other_count_as_one() {
        let (waits, mut rest) = (Backoff(&[5, 10]), Rest::default());
        assert!(!rest.is_under_way(waits, 0));
        for (now, in_a_row, until) in [
            (0, 1, 5_000),
            (10, 1, 5_000),
            (5_000, 2, 15_000),
            (14_999, 2, 15_000),
            (15_000, 3, 25_000),
            // The clock was set back.
            (-90_000, 4, -80_000),
        ] {
            rest.fault(waits, now);
            assert_eq!((rest.in_a_row, rest.until), (in_a_row, until), "at {now}");
            assert!(rest.is_under_way(waits, until - 1) && !rest.is_under_way(waits, until));
        }
    }
}
