//! Leases: a row that one process at a time works on. Pure.
//!
//! Whoever claims a row raises its token and owns the row until the lease ends. Every later write
//! of the owner names the token, so an owner whose lease was lost changes nothing.

use crate::{Millis, Result};

/// How long a lease lasts unless its owner renews it.
pub(crate) const LEASE_MS: Millis = 30_000;

/// The lease of a row as it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lease {
    /// When it ends; 0 for a row that nobody owns.
    pub(crate) until: Millis,
    /// Counts the owners.
    pub(crate) token: i64,
}

impl Lease {
    /// From its columns.
    pub(crate) fn stored((until, token): (Millis, i64)) -> Result<Self> {
        Ok(Self { until, token })
    }

    /// Whether the row may be claimed. A lease that ends later than any can was given before the
    /// clock was set back.
    pub(crate) fn is_free(self, now: Millis) -> bool {
        self.until <= now || self.until > now + 2 * LEASE_MS
    }

    /// The lease of the next owner.
    pub(crate) fn next(self, now: Millis) -> Self {
        Self { token: self.token + 1, ..self }.renewed(now)
    }

    /// The same lease, from now on.
    pub(crate) fn renewed(self, now: Millis) -> Self {
        Self { until: now + LEASE_MS, ..self }
    }

    /// Whether its owner should renew it: a third of it has passed, or the clock was set back.
    pub(crate) fn is_aging(self, now: Millis) -> bool {
        let left = self.until - now;
        !(2 * LEASE_MS / 3 + 1..=LEASE_MS).contains(&left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
