//! Clock and randomness are passed in: nothing else in this crate reads the time or draws random
//! bytes, so tests can set both, and ids and secrets of a test are the same in every run.

use std::sync::{
    Arc,
    atomic::{AtomicI64, AtomicU64, Ordering},
};

use jiff::{SignedDuration, Timestamp, civil::DateTime, tz::TimeZone};

use super::{Error, Result, crypto};

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

/// 1970, without a zone.
const EPOCH: DateTime = jiff::civil::date(1970, 1, 1).at(0, 0, 0, 0);

/// `2026-11-21T09:30:00Z`: RFC 3339 in UTC, with a fraction only when there is one.
#[must_use]
pub fn rfc3339(millis: Millis) -> String {
    if let Ok(at) = Timestamp::from_millisecond(millis) {
        return at.to_string();
    }
    let last = EPOCH.checked_add(SignedDuration::from_millis(millis));
    last.map_or_else(|_| Timestamp::UNIX_EPOCH.to_string(), |last| format!("{last}Z"))
}

/// The time of an RFC 3339 text; `None` when the text is no time.
#[must_use]
pub fn parse_rfc3339(text: &str) -> Option<Millis> {
    if let Some(at) = moment(text) {
        return Some(at.as_millisecond());
    }
    // A day alone has no more than ten characters.
    text.strip_suffix(['Z', 'z']).filter(|bare| bare.len() > 10)?;
    let last = utc(text).filter(|at| (at.year(), at.month(), at.day()) >= (9999, 12, 30))?;
    i64::try_from(last.duration_since(EPOCH).as_millis()).ok()
}

/// A moment with an offset. RFC 3339 ends offsets at 23:59, the crate at 25:59.
fn moment(text: &str) -> Option<Timestamp> {
    let (_, time) = text.split_once(['T', 't', ' '])?;
    let offset = time.split('[').next()?.rsplit_once(['+', '-']).map(|(_, offset)| offset);
    let hours: u8 = offset.and_then(|offset| offset.get(..2)?.parse().ok()).unwrap_or(0);
    text.parse().ok().filter(|_| hours < 24)
}

/// Date and time in UTC of an RFC 3339 text, or of a day alone: its midnight in UTC.
pub(crate) fn utc(text: &str) -> Option<DateTime> {
    if let Some(at) = moment(text) {
        return Some(TimeZone::UTC.to_datetime(at));
    }
    // `Timestamp` ends one day before the end of the year 9999, which many databases use for
    // "never".
    let day = Some(text).filter(|text| text.len() <= 10);
    let bare = text.strip_suffix(['Z', 'z']).or(day)?;
    let is_offset = bare.get(10..).is_some_and(|time| time.contains(['+', '-', '[']));
    bare.parse().ok().filter(|_| !is_offset)
}

/// The only source of random bytes in the system.
#[derive(Clone, Debug)]
pub struct Random(Option<Arc<AtomicU64>>);

impl Random {
    /// The operating system's generator.
    #[must_use]
    pub fn system() -> Self {
        Self(None)
    }

    /// A predictable sequence: for tests only, never for real secrets.
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        Self(Some(Arc::new(AtomicU64::new(seed))))
    }

    /// Fills `bytes` with random bytes.
    ///
    /// # Errors
    /// `internal_error` when the operating system provides no randomness.
    #[expect(clippy::disallowed_methods, reason = "the one place that asks the operating system")]
    pub fn fill(&self, bytes: &mut [u8]) -> Result<()> {
        let Some(counter) = &self.0 else {
            return getrandom::fill(bytes).map_err(Error::internal);
        };
        for chunk in bytes.chunks_mut(32) {
            let step = counter.fetch_add(1, Ordering::SeqCst);
            chunk.copy_from_slice(&crypto::sha256(&step.to_be_bytes())[..chunk.len()]);
        }
        Ok(())
    }

    /// `N` random bytes.
    pub fn bytes<const N: usize>(&self) -> Result<[u8; N]> {
        let mut bytes = [0; N];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    /// A UUID version 4 (RFC 9562, 5.4): 122 random bits.
    pub fn uuid_v4(&self) -> Result<String> {
        Ok(uuid::Builder::from_random_bytes(self.bytes()?).into_uuid().to_string())
    }

    /// A UUID version 7 (RFC 9562, 5.7), which sorts by time. Not for secrets.
    pub fn uuid_v7(&self, clock: &Clock) -> Result<String> {
        let millis = u64::try_from(clock.now()).unwrap_or(0);
        Ok(uuid::Builder::from_unix_timestamp_millis(millis, &self.bytes()?)
            .into_uuid()
            .to_string())
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn times_are_written_in_utc() {
        assert_eq!(super::rfc3339(0), "1970-01-01T00:00:00Z");
        assert_eq!(super::rfc3339(1_500), "1970-01-01T00:00:01.5Z");
        assert_eq!(super::rfc3339(i64::MAX), "1970-01-01T00:00:00Z", "no year has it");
    }

    /// The crate's moments end on 30 December 9999 at 22:00.
    #[test]
    fn times_reach_the_end_of_the_year_9999() {
        for text in [
            "1970-01-01T00:00:00Z", "2026-11-21T09:30:00.125Z", "9999-12-30T22:00:00Z",
            "9999-12-30T22:00:01Z", "9999-12-31T23:59:59Z", "9999-12-31T23:59:59.999Z",
        ] {
            let at = super::parse_rfc3339(text).expect(text);
            assert_eq!(super::rfc3339(at), text);
        }
        assert_eq!(super::parse_rfc3339("9999-12-31T23:59:59Z"), Some(253_402_300_799_000));
        for text in [
            "", "Z", "9999-12-31T23:59:59", "9999-12-31Z", "9999-12-31T23:30:00-05:00",
            "9999-12-31T23:30:00-05:00Z", "9999-12-32T00:00:00Z", "10000-01-01T00:00:00Z",
            "2026-11-21T09:30:00+24:00", "2026-11-21T09:30:00-25:00", "2026-11-21",
        ] {
            assert_eq!(super::parse_rfc3339(text), None, "{text}");
        }
    }
}
