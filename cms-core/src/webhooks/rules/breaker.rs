//! The breaker: switches a subscription off after ten failures in a row. Pure.

/// Failed attempts in a row that open the breaker.
const FAILURES: i64 = 10;

/// Whether this many failures in a row switch a subscription off. A success resets the count.
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
