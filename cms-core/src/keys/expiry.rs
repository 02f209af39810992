//! When a key expires: at the start of its day in the site's time zone.

use jiff::{civil::Date, tz::TimeZone};

use crate::{Error, Result, ground::Millis};

/// Whether the day `expires_on` (`YYYY-MM-DD`) has begun in `zone` at `now`. A day without a
/// midnight, because the clocks change, begins at its first instant.
pub(crate) fn has_begun(expires_on: &str, zone: &TimeZone, now: Millis) -> bool {
    let start = expires_on.parse::<Date>().and_then(|day| day.to_zoned(zone.clone()));
    // An unreadable day was never accepted, so the key counts as expired.
    !start.is_ok_and(|start| now < start.timestamp().as_millisecond())
}

/// Accepts a day in its canonical form only, such as `2027-01-31`.
pub(crate) fn checked(day: &str) -> Result<String> {
    let form = || Error::invalid_field("expires_on", "format", "a day such as 2027-01-31");
    let date = day.parse::<Date>().map_err(|_| form())?;
    if date.to_string() == day { Ok(day.to_owned()) } else { Err(form()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_expires_at_local_midnight_even_when_the_clocks_change() {
        for (zone, day, last_good) in [
            ("UTC", "2026-11-21", "2026-11-20T23:59:59.999Z"),
            // Summer time ends on the 25th at 03:00. Midnight of the 25th is in summer time,
            // midnight of the 26th in winter time.
            ("Europe/Berlin", "2026-10-25", "2026-10-24T21:59:59.999Z"),
            ("Europe/Berlin", "2026-10-26", "2026-10-25T22:59:59.999Z"),
            ("Europe/Berlin", "2026-03-29", "2026-03-28T22:59:59.999Z"),
            ("Europe/Berlin", "2026-03-30", "2026-03-29T21:59:59.999Z"),
            // Midnight does not exist: at 00:00 the clocks jump to 01:00.
            ("Africa/Cairo", "2026-04-24", "2026-04-23T21:59:59.999Z"),
            ("America/Santiago", "2026-09-06", "2026-09-06T03:59:59.999Z"),
            // Midnight happens twice; the first one counts.
            ("America/Havana", "2026-11-01", "2026-11-01T03:59:59.999Z"),
        ] {
            let tz = TimeZone::get(zone).expect("zone");
            let last = last_good.parse::<jiff::Timestamp>().expect("time").as_millisecond();
            assert!(!has_begun(day, &tz, last), "{zone} {day}: the last millisecond is good");
            assert!(has_begun(day, &tz, last + 1), "{zone} {day}: then it stops");
        }
    }

    #[test]
    fn only_days_are_accepted() {
        assert!(checked("2027-02-28").is_ok());
        for bad in ["2027-02-30", "2027-2-3", "tomorrow", "2027-01-01T00:00:00Z", "20270101", ""] {
            assert!(checked(bad).is_err(), "{bad}");
        }
    }
}
