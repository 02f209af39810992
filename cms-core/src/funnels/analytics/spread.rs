//! How long things took, in classes of two digits. Pure.

use std::collections::BTreeMap;

/// How many took so long: milliseconds, rounded down to two digits.
#[derive(Clone, Debug, Default)]
pub(super) struct Spread(BTreeMap<i64, i64>);

impl Spread {
    pub(super) fn add(&mut self, bucket: i64, number: i64) {
        *self.0.entry(bucket).or_default() += number;
    }

    /// Seconds that this part of all took at most. A class is a tenth of its value wide, so its
    /// middle is exact to 5 %.
    pub(super) fn seconds(&self, part: f64) -> Option<f64> {
        let all: i64 = self.0.values().sum();
        if all <= 0 {
            return None;
        }
        let wanted = (part * all as f64).ceil() as i64;
        let mut passed = 0;
        let found = self.0.iter().find(|(_, number)| {
            passed += **number;
            passed >= wanted
        });
        found.map(|(bucket, _)| middle(*bucket) as f64 / 1000.0)
    }
}

fn middle(bucket: i64) -> i64 {
    let digits = bucket.max(1).ilog10();
    bucket + 10_i64.pow(digits.saturating_sub(1)) / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_exact_to_five_percent() {
        assert_eq!(Spread::default().seconds(0.5), None);
        for (times, part) in [(1..=1, 0.5), (1..=99, 0.5), (10..=5_000, 0.9), (7..=70_000, 0.5)] {
            let mut spread = Spread::default();
            let all: Vec<i64> = times.map(|n: i64| n * 97).collect();
            for ms in &all {
                let unit = 10_i64.pow(ms.ilog10().saturating_sub(1));
                spread.add(ms / unit * unit, 1);
            }
            let at = (part * all.len() as f64).ceil() as usize - 1;
            let (found, exact) = (spread.seconds(part).expect("some"), all[at] as f64 / 1000.0);
            assert!((found - exact).abs() <= 0.05 * exact, "{found} {exact}");
        }
    }
}
