//! When a task is due. Pure.

use crate::Millis;

/// Whether a task with this interval is due. A moment further away than one interval belongs to
/// another interval, or to a clock that was set back since.
pub(crate) fn is_due(due: Millis, interval: Millis, now: Millis) -> bool {
    due <= now || due > now.saturating_add(interval)
}

/// When a task is due after a run that was due at `due` and begins now. Intervals that were missed
/// are not made up for, and the beat stays the same.
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
}
