//! The rest after faults of this machine: it grows with each in a row. Pure.

use super::Backoff;
use crate::Millis;

/// The rest of whatever this machine could not reach.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rest {
    /// Faults in a row. Those that end during one rest count as one.
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

    /// Whether it lasts. One that ends later than any can was set before the clock was set back.
    pub(crate) fn is_under_way(self, waits: Backoff, now: Millis) -> bool {
        self.in_a_row > 0 && self.until > now && self.until <= now + waits.longest_ms()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
