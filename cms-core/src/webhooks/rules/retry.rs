//! When a failed delivery is tried again, and the breaker, which switches a subscription off after
//! ten failures in a row. Pure.

use crate::jobs::Backoff;

const RETRY_BACKOFF: Backoff = Backoff(&[30, 120, 480, 1920, 7200]);
/// Waits of a lane after faults of this machine in a row, in seconds.
pub(in crate::webhooks) const LOCAL_BACKOFF: Backoff = Backoff(&[1, 1, 2, 4, 8, 16, 30]);
/// Retries of a subscription at most; more would go on for weeks.
pub const MAX_RETRIES: i64 = 100;

/// Milliseconds until the next attempt after `retry_count + 1` failures; `None` when the job is
/// given up.
#[must_use]
pub(in crate::webhooks) fn wait_ms(retry_count: i64, max_retries: i64) -> Option<i64> {
    RETRY_BACKOFF.wait_ms(retry_count, max_retries)
}

/// Failed attempts in a row that open the breaker.
const FAILURES: i64 = 10;

/// Whether this many failures in a row switch a subscription off. A success resets the count.
#[must_use]
pub(in crate::webhooks) fn opens(failures: i64) -> bool {
    failures >= FAILURES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_faults_are_tried_again_soon() {
        let waits = (0..8).map(|in_a_row| LOCAL_BACKOFF.wait_ms(in_a_row, i64::MAX));
        let seconds = [1, 1, 2, 4, 8, 16, 30, 30];
        assert_eq!(waits.collect::<Vec<_>>(), seconds.map(|seconds| Some(seconds * 1000)));
    }

    #[test]
    fn attempts_are_made_at_these_seconds() {
        for (max_retries, expected) in [
            (0, vec![0]),
            (1, vec![0, 30]),
            (3, vec![0, 30, 150, 630]),
            (5, vec![0, 30, 150, 630, 2550, 9750]),
            (8, vec![0, 30, 150, 630, 2550, 9750, 16_950, 24_150, 31_350]),
        ] {
            let (mut at, mut times, mut failures) = (0, vec![0], 0);
            while let Some(wait) = wait_ms(failures, max_retries) {
                at += wait / 1000;
                times.push(at);
                failures += 1;
            }
            assert_eq!(times, expected, "max_retries {max_retries}");
        }
    }

    #[test]
    fn ten_in_a_row() {
        assert_eq!((0..12).map(opens).filter(|open| *open).count(), 2);
        assert!(!opens(9) && opens(10));
    }
}
