//! Which days are asked for. Pure.

use jiff::{Timestamp, ToSpan as _, civil::Date, tz::TimeZone};

use super::shape::AnalyticsRange;
use crate::{Code, Error, Millis, Result};

/// Days without `from`.
const DAYS: i64 = 30;
/// Days at most.
const MOST: i64 = 366;

/// Days, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    from: Date,
    to: Date,
}

impl Range {
    /// The days asked for: until today, and thirty, unless somebody says otherwise.
    ///
    /// # Errors
    /// `bad_query`.
    pub(super) fn read(
        from: Option<&str>,
        to: Option<&str>,
        now: Millis,
        zone: &TimeZone,
    ) -> Result<Self> {
        let now = Timestamp::from_millisecond(now).map_err(Error::internal)?;
        let today = now.to_zoned(zone.clone()).date();
        let to = to.map_or(Ok(today), |text| day("to", text))?;
        let from = match from {
            Some(text) => day("from", text)?,
            None => to.saturating_sub((DAYS - 1).days()),
        };
        let range = Self { from, to };
        match range.days() {
            1..=MOST => Ok(range),
            ..=0 => Err(bad(format!("from ({from}) is later than to ({to})"))),
            days => Err(bad(format!("a range has at most {MOST} days, not {days}"))),
        }
    }

    pub(super) fn days(self) -> i64 {
        i64::from((self.to - self.from).get_days()) + 1
    }

    /// As many days before.
    pub(super) fn before(self) -> Self {
        let span = self.days().days();
        Self { from: self.from.saturating_sub(span), to: self.to.saturating_sub(span) }
    }

    /// Each day.
    pub(super) fn each(self) -> impl Iterator<Item = String> {
        self.from.series(1.day()).take_while(move |day| *day <= self.to).map(|day| day.to_string())
    }

    pub(super) fn bounds(self) -> (String, String) {
        (self.from.to_string(), self.to.to_string())
    }

    pub(super) fn told(self, tz: &str) -> AnalyticsRange {
        let (from, to) = self.bounds();
        AnalyticsRange { from, to, days: self.days(), tz: tz.to_owned() }
    }
}

fn day(name: &str, text: &str) -> Result<Date> {
    let date = text.parse::<Date>().ok().filter(|date| date.to_string() == text);
    let date = date.filter(|date| (1970..=9000).contains(&date.year()));
    date.ok_or_else(|| bad(format!("{name} is a day such as 2026-11-21")))
}

fn bad(why: String) -> Error {
    Error::new(Code::BadQuery, format!("{why}."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(from: Option<&str>, to: Option<&str>, zone: &str) -> Result<Range> {
        let now: Timestamp = "2026-03-29T22:30:00Z".parse().expect("a moment");
        let zone = TimeZone::get(zone).expect("a zone");
        Range::read(from, to, now.as_millisecond(), &zone)
    }

    #[test]
    fn days_are_asked_for() {
        for (from, to, zone, expected) in [
            (None, None, "UTC", ("2026-02-28", "2026-03-29", 30)),
            // Berlin is a day further, and has lost an hour.
            (None, None, "Europe/Berlin", ("2026-03-01", "2026-03-30", 30)),
            (None, Some("2026-01-05"), "UTC", ("2025-12-07", "2026-01-05", 30)),
            (Some("2026-03-28"), None, "Europe/Berlin", ("2026-03-28", "2026-03-30", 3)),
            (Some("2026-03-29"), Some("2026-03-29"), "UTC", ("2026-03-29", "2026-03-29", 1)),
            (Some("2024-01-01"), Some("2024-12-31"), "UTC", ("2024-01-01", "2024-12-31", 366)),
        ] {
            let range = read(from, to, zone).expect("a range");
            let (first, last) = range.bounds();
            assert_eq!((first.as_str(), last.as_str(), range.days()), expected);
            let all: Vec<_> = range.each().collect();
            assert_eq!(all.len() as i64, range.days());
            assert_eq!((all.first(), all.last()), (Some(&first), Some(&last)));
            let before = range.before();
            assert_eq!(
                (before.days(), before.to.tomorrow().ok()),
                (range.days(), Some(range.from))
            );
        }
    }

    #[test]
    fn what_is_no_range_is_refused() {
        for (from, to) in [
            (Some("2026-03-30"), Some("2026-03-29")),
            (Some("2025-01-01"), Some("2026-03-29")),
            (Some("yesterday"), None),
            (Some("2026-3-1"), None),
            (Some("2026-02-30"), None),
            (None, Some("2026-03-29T00:00:00Z")),
            (None, Some("-002026-03-29")),
        ] {
            let refused = read(from, to, "UTC").expect_err("refused");
            assert_eq!(refused.code(), Code::BadQuery, "{from:?} {to:?}");
        }
    }
}
