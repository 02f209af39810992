//! Days of visits. Pure.

use jiff::{Timestamp, tz::TimeZone};

use crate::{Error, Millis, Result};

/// The day of a moment, as `YYYY-MM-DD`.
pub(in crate::funnels) fn day(at: Millis, zone: &TimeZone) -> Result<String> {
    let at = Timestamp::from_millisecond(at).map_err(Error::internal)?;
    Ok(at.to_zoned(zone.clone()).date().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_the_zone() {
        let at = |text: &str| text.parse::<Timestamp>().expect("a moment").as_millisecond();
        for (began, zone, expected) in [
            ("2026-03-01T23:30:00Z", "UTC", "2026-03-01"),
            ("2026-03-01T23:30:00Z", "Europe/Berlin", "2026-03-02"),
            // A day of 23 hours, and one of 25.
            ("2026-03-28T23:00:00Z", "Europe/Berlin", "2026-03-29"),
            ("2026-03-29T21:59:59Z", "Europe/Berlin", "2026-03-29"),
            ("2026-03-29T22:00:00Z", "Europe/Berlin", "2026-03-30"),
            ("2026-10-24T22:00:00Z", "Europe/Berlin", "2026-10-25"),
            ("2026-10-25T22:59:59Z", "Europe/Berlin", "2026-10-25"),
            ("2026-10-25T23:00:00Z", "Europe/Berlin", "2026-10-26"),
        ] {
            let zone = TimeZone::get(zone).expect("a zone");
            assert_eq!(day(at(began), &zone).expect("a day"), expected, "{began}");
        }
    }
}
