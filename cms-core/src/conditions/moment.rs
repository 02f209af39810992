//! Dates, moments and times of day as rules compare them: ISO 8601 only.

use std::cmp::Ordering;

use jiff::{
    Span, Timestamp, ToSpan as _,
    civil::{Date, DateTime, Time},
    tz::{Offset, TimeZone},
};

use super::Surroundings;
use crate::fields::span;

/// A text that has a place in time.
#[derive(Clone, Debug)]
pub(super) enum Moment {
    /// `2026-05-31`: its midnight.
    Day(Date),
    /// `2026-05-31T09:30:00`, of the zone of the surroundings.
    Local(DateTime),
    /// `2026-05-31T09:30:00+02:00`.
    Instant(Timestamp),
    /// `09:30`.
    Clock(Time),
    /// `@today`, `@today-18y`.
    Today(Span),
    /// `@now`, `@now+2h`.
    Now(Span),
}

impl Moment {
    /// Reads the value of a rule, `@today` and `@now` included.
    pub(super) fn of_value(text: &str) -> Option<Self> {
        if let Some(rest) = text.strip_prefix("@today") {
            return shift(rest, false).map(Self::Today);
        }
        match text.strip_prefix("@now") {
            Some(rest) => shift(rest, true).map(Self::Now),
            None => Self::of_answer(text),
        }
    }

    /// Reads an answer.
    pub(super) fn of_answer(text: &str) -> Option<Self> {
        match text.len() {
            5 => clock(text).map(Self::Clock),
            10 => day(text).map(Self::Day),
            16..=40 => instant(text),
            _ => None,
        }
    }

    /// The order of two moments; None between a time of day and a date.
    pub(super) fn compare(&self, other: &Self, surroundings: &Surroundings) -> Option<Ordering> {
        match (self, other) {
            (Self::Clock(one), Self::Clock(two)) => Some(one.cmp(two)),
            (Self::Day(one), Self::Day(two)) => Some(one.cmp(two)),
            _ => Some(self.at(surroundings)?.cmp(&other.at(surroundings)?)),
        }
    }

    fn at(&self, surroundings: &Surroundings) -> Option<Timestamp> {
        let zone = surroundings.timezone();
        let midnight = |date: Date| start_of(date.to_datetime(Time::midnight()), zone);
        match self {
            Self::Day(date) => midnight(*date),
            Self::Local(local) => start_of(*local, zone),
            Self::Instant(instant) => Some(*instant),
            Self::Today(span) => midnight(surroundings.now().date().checked_add(*span).ok()?),
            Self::Now(span) => Some(surroundings.now().checked_add(*span).ok()?.timestamp()),
            Self::Clock(_) => None,
        }
    }
}

fn start_of(local: DateTime, zone: &TimeZone) -> Option<Timestamp> {
    local.to_zoned(zone.clone()).ok().map(|zoned| zoned.timestamp())
}

/// The span that is added to today or to now. Only now takes hours and minutes.
fn shift(text: &str, is_now: bool) -> Option<Span> {
    if text.is_empty() {
        return Some(Span::new());
    }
    let count = |unit: &str| {
        let count = text.strip_suffix(unit).filter(|_| is_now)?;
        let is_signed =
            count.starts_with(['+', '-']) && count[1..].bytes().all(|b| b.is_ascii_digit());
        count.parse::<i32>().ok().filter(|count| is_signed && count.unsigned_abs() < 10_000_000)
    };
    let own = count("h").map(|count| count.hours());
    own.or_else(|| count("min").map(|count| count.minutes())).or_else(|| span(text))
}

/// Digits at a place.
fn number(text: &str, place: std::ops::Range<usize>) -> Option<i16> {
    let digits = text.get(place)?;
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
}

fn day(text: &str) -> Option<Date> {
    let (dash, other) = (text.get(4..5)?, text.get(7..8)?);
    let (month, day) = (number(text, 5..7)?, number(text, 8..10)?);
    let date = Date::new(number(text, 0..4)?, month.try_into().ok()?, day.try_into().ok()?);
    date.ok().filter(|_| dash == "-" && other == "-")
}

/// `09:30`.
fn clock(text: &str) -> Option<Time> {
    let (hour, minute) = (number(text, 0..2)?, number(text, 3..5)?);
    let time = Time::new(hour.try_into().ok()?, minute.try_into().ok()?, 0, 0);
    time.ok().filter(|_| text.get(2..3) == Some(":"))
}

/// A date, `T` and a time: seconds, their fraction and the offset may be missing.
fn instant(text: &str) -> Option<Moment> {
    let (date, time) = (day(text.get(..10)?)?, text.get(10..)?.strip_prefix(['T', 't', ' '])?);
    let (clock, rest) = (clock(time.get(..5)?)?, time.get(5..)?);
    let (seconds, rest) = match rest.strip_prefix(':') {
        Some(rest) => (number(rest, 0..2)?, rest.get(2..)?),
        None => (0, rest),
    };
    let (nanos, rest) = match rest.strip_prefix('.') {
        Some(rest) => fraction(rest)?,
        None => (0, rest),
    };
    let time = Time::new(clock.hour(), clock.minute(), seconds.try_into().ok()?, nanos).ok()?;
    let local = date.to_datetime(time);
    if rest.is_empty() {
        return Some(Moment::Local(local));
    }
    let offset = if matches!(rest, "Z" | "z") { Offset::UTC } else { offset(rest)? };
    offset.to_timestamp(local).ok().map(Moment::Instant)
}

/// Up to nine digits as nanoseconds, and what follows them.
fn fraction(text: &str) -> Option<(i32, &str)> {
    let length = text.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, rest) = text.split_at_checked(length)?;
    let nanos = format!("{digits:0<9}").parse().ok().filter(|_| (1..=9).contains(&length))?;
    Some((nanos, rest))
}

/// `+02:00`.
fn offset(text: &str) -> Option<Offset> {
    let (hours, rest) = (text.get(1..)?, text.get(6..)?);
    let time = clock(hours).filter(|_| rest.is_empty())?;
    let seconds = i32::from(time.hour()) * 3600 + i32::from(time.minute()) * 60;
    match text.get(..1)? {
        "+" => Offset::from_seconds(seconds).ok(),
        "-" => Offset::from_seconds(-seconds).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_iso_texts_have_a_place_in_time() {
        for text in [
            "2024-02-29",
            "2024-05-01T00:00",
            "2024-05-01T00:00:00",
            "2024-05-01T00:00:00.5Z",
            "2024-05-01T00:00:00.123456789+02:00",
            "2024-05-01 09:30-05:30",
            "00:00",
            "23:59",
        ] {
            assert!(Moment::of_answer(text).is_some(), "{text}");
        }
        for text in [
            "",
            "2024-02-30",
            "2023-02-29",
            "2024-13-01",
            "20240501",
            "01.05.2024",
            "2024-5-1",
            "+024-05-01",
            "2024-05-01T",
            "2024-05-01T24:00",
            "2024-05-01T09:30:61",
            "2024-05-01T09:30:00.",
            "2024-05-01T09:30:00.1234567890",
            "2024-05-01T09:30+2:00",
            "2024-05-01T09:30+02:00x",
            "2024-05-01T09:30[UTC]",
            "24:00",
            "9:30",
            "09:60",
            "0ä:00",
            "2024-0ä-01",
            "@today",
            " 2024-05-01",
        ] {
            assert!(Moment::of_answer(text).is_none(), "{text}");
        }
        for (text, is_read) in [
            ("@today", true),
            ("@today-18y", true),
            ("@today+30d", true),
            ("@today+2h", false),
            ("@now+2h", true),
            ("@now-90min", true),
            ("@now+1d", true),
            ("@today18y", false),
            ("@tomorrow", false),
            ("@now+99999999999h", false),
            ("@now-2147483648h", false),
            ("@now-2147483648min", false),
            ("@today-2147483648y", false),
            ("@today-2147483648d", false),
            ("@now+ä", false),
        ] {
            assert_eq!(Moment::of_value(text).is_some(), is_read, "{text}");
        }
    }
}
