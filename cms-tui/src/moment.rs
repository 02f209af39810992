//! Times as people read them.

use jiff::{Timestamp, tz::TimeZone};

/// Milliseconds of an RFC 3339 time.
pub(crate) fn millis(text: &str) -> Option<i64> {
    text.parse::<Timestamp>().ok().map(Timestamp::as_millisecond)
}

/// How long ago: `now`, `12s`, `9m`, `3h`, `12d`; `in 5m` for what is to come.
pub(crate) fn age(text: &str, now: i64) -> String {
    let Some(at) = millis(text) else { return String::new() };
    let since = span((now - at).abs() / 1000);
    if at > now + 1000 { format!("in {since}") } else { since }
}

/// Seconds in one unit.
pub(crate) fn span(seconds: i64) -> String {
    match seconds {
        ..=0 => "now".to_owned(),
        1..=99 => format!("{seconds}s"),
        100..=5_999 => format!("{}m", seconds / 60),
        6_000..=172_799 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// Time of day in UTC; before today with its date.
pub(crate) fn clock(text: &str, now: i64) -> String {
    let Some(at) = millis(text) else { return text.to_owned() };
    let day = |millis: i64| millis.div_euclid(86_400_000);
    let format = if day(at) == day(now) { "%H:%M:%S" } else { "%m-%d %H:%M" };
    printed(at, format)
}

/// A moment to come, in UTC: `2026-12-24 06:00`.
pub(crate) fn minute(text: &str) -> String {
    millis(text).map_or_else(|| text.to_owned(), |at| printed(at, "%Y-%m-%d %H:%M"))
}

/// A time in milliseconds as RFC 3339 in UTC.
pub(crate) fn text(millis: i64) -> String {
    printed(millis, "%Y-%m-%dT%H:%M:%SZ")
}

/// The day of a time in milliseconds: `2026-11-21`.
pub(crate) fn day(millis: i64) -> String {
    printed(millis, "%Y-%m-%d")
}

fn printed(millis: i64, format: &str) -> String {
    let Ok(at) = Timestamp::from_millisecond(millis) else { return String::new() };
    at.to_zoned(TimeZone::UTC).strftime(format).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_from_now() {
        let now = millis("2026-11-21T12:00:00Z").expect("a time");
        for (text, expected) in [
            ("2026-11-21T12:00:00Z", "now"),
            ("2026-11-21T11:59:48.5Z", "11s"),
            ("2026-11-21T11:50:00Z", "10m"),
            ("2026-11-21T09:00:00Z", "3h"),
            ("2026-11-09T12:00:00Z", "12d"),
            ("2026-11-21T12:05:00Z", "in 5m"),
            ("never", ""),
        ] {
            assert_eq!(age(text, now), expected, "{text}");
        }
        assert_eq!(clock("2026-11-21T09:30:01Z", now), "09:30:01");
        assert_eq!(clock("2026-11-20T09:30:01Z", now), "11-20 09:30");
    }
}
