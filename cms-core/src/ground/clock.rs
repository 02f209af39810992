//! The clock is passed in: nothing else in this crate reads the time, so tests can set it.

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

/// Milliseconds since 1970-01-01T00:00:00Z.
pub type Millis = i64;

/// The only source of time in the system.
///
/// ```
/// use cms_core::Clock;
/// let clock = Clock::fixed(1_000);
/// clock.advance(500);
/// assert_eq!(clock.now(), 1_500);
/// ```
#[derive(Clone, Debug)]
pub struct Clock(Option<Arc<AtomicI64>>);

impl Clock {
    /// The machine's clock.
    #[must_use]
    pub fn system() -> Self {
        Self(None)
    }

    /// A clock that stands still at `now` until it is moved. Clones move together.
    #[must_use]
    pub fn fixed(now: Millis) -> Self {
        Self(Some(Arc::new(AtomicI64::new(now))))
    }

    /// The current time, in milliseconds since 1970.
    #[must_use]
    pub fn now(&self) -> Millis {
        match &self.0 {
            Some(fixed) => fixed.load(Ordering::SeqCst),
            None => machine_time(),
        }
    }

    /// Moves a fixed clock by `millis`; does nothing to a system clock.
    pub fn advance(&self, millis: Millis) {
        if let Some(fixed) = &self.0 {
            fixed.fetch_add(millis, Ordering::SeqCst);
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the one place that reads the machine's clock")]
fn machine_time() -> Millis {
    let since =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// `2026-11-21T09:30:00Z`: RFC 3339 in UTC, with a fraction only when there is one.
#[must_use]
pub fn rfc3339(millis: Millis) -> String {
    jiff::Timestamp::from_millisecond(millis).unwrap_or(jiff::Timestamp::UNIX_EPOCH).to_string()
}

/// The time of an RFC 3339 text; `None` when the text is no time.
#[must_use]
pub fn parse_rfc3339(text: &str) -> Option<Millis> {
    text.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_millisecond)
}

#[cfg(test)]
mod tests {
    #[test]
    fn times_are_written_in_utc() {
        assert_eq!(super::rfc3339(0), "1970-01-01T00:00:00Z");
        assert_eq!(super::rfc3339(1_500), "1970-01-01T00:00:01.5Z");
    }
}
