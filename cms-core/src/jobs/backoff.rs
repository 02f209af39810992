//! How long to wait after failures. Pure.

use crate::Millis;

/// Waits after the first, second ... failure in a row, in seconds; the last one repeats.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Backoff(pub(crate) &'static [i64]);

impl Backoff {
    /// Milliseconds until the next try after `tries` tries that failed before this one; None when
    /// `most` retries are used up.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_wait_repeats_and_retries_end() {
        let waits = Backoff(&[1, 5]);
        let found: Vec<_> = (-1..4).map(|tries| waits.wait_ms(tries, 3)).collect();
        assert_eq!(found, [Some(1000), Some(1000), Some(5000), Some(5000), None]);
        assert_eq!(Backoff(&[]).wait_ms(0, 3), None);
    }
}
