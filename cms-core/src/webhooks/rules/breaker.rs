//! When a subscription is switched off because its receiver does not work. Pure.

/// Failed attempts in a row.
const FAILURES: i64 = 10;

/// Whether so many failures in a row switch a subscription off. A success sets the count back to 0.
#[must_use]
pub(in crate::webhooks) fn opens(failures: i64) -> bool {
    failures >= FAILURES
}

#[cfg(test)]
mod tests {
    #[test]
    fn ten_in_a_row() {
        assert_eq!((0..12).map(super::opens).filter(|open| *open).count(), 2);
        assert!(!super::opens(9) && super::opens(10));
    }
}
