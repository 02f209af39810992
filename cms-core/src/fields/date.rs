//! Days and ranges of days; times of day; moments.

use jiff::{
    Span, Timestamp, ToSpan as _,
    civil::{Date as Day, Time as Clock},
    fmt::temporal::Pieces,
    tz::{AmbiguousOffset, TimeZone},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::{
    Context,
    kind::{Kind, Refusal, ordered, refuse, text_of},
};

/// Years in which days are accepted.
const YEARS: std::ops::RangeInclusive<i16> = 1900..=2200;

/// Parses a day such as `2026-05-31`.
fn day(text: &str) -> Result<Day, Refusal> {
    let text = text.trim();
    let is_form = text.len() == 10
        && text.bytes().enumerate().all(|(at, byte)| match at {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        });
    match text.parse::<Day>() {
        Ok(day) if is_form && YEARS.contains(&day.year()) => Ok(day),
        _ => refuse("format", "a day between 1900 and 2200 is expected, such as 2026-05-31"),
    }
}

/// Parses a day from a visitor: in the stored form, or as the visitor's language writes it.
fn given(text: &str, context: &Context) -> Result<Day, Refusal> {
    match context.spelling().day(text.trim())? {
        Some(spelled) => day(&spelled.to_string()),
        None => day(text),
    }
}

/// Parses a limit of a day: a day or `@today`, plus or minus years, months, weeks or days, such
/// as `@today-18y`.
fn limit(text: &str, context: &Context) -> Result<Day, Refusal> {
    let Some(rest) = text.strip_prefix("@today") else { return day(text) };
    let wrong = || refuse("bad_config", format!("{text:?}: such as 2026-05-31 or @today+30d"));
    let today = context.today();
    if rest.is_empty() {
        return Ok(today);
    }
    let Some(span) = span(rest) else { return wrong() };
    today.checked_add(span).or_else(|_| wrong())
}

/// Parses `-18y`, `+6m`, `+2w`, `+30d`.
pub(crate) fn span(text: &str) -> Option<Span> {
    let unit = text.chars().last()?;
    let count = text.strip_suffix(unit)?;
    let is_signed = count.starts_with(['+', '-']) && count[1..].bytes().all(|b| b.is_ascii_digit());
    let count: i32 = count.parse().ok().filter(|_| is_signed)?;
    Some(match unit {
        'y' if count.unsigned_abs() < 1000 => count.years(),
        'm' if count.unsigned_abs() < 12_000 => count.months(),
        'w' if count.unsigned_abs() < 50_000 => count.weeks(),
        'd' if count.unsigned_abs() < 400_000 => count.days(),
        _ => return None,
    })
}

/// Checks a day against its limits.
fn within(
    day: Day,
    min: Option<&String>,
    max: Option<&String>,
    context: &Context,
) -> Result<(), Refusal> {
    if let Some(min) = min.map(|min| limit(min, context)).transpose()?.filter(|min| day < *min) {
        return refuse("min", format!("{min} or later is expected"));
    }
    if let Some(max) = max.map(|max| limit(max, context)).transpose()?.filter(|max| day > *max) {
        return refuse("max", format!("{max} or earlier is expected"));
    }
    Ok(())
}

/// Checks the limits in settings. Limits relative to today are compared as of the year 2000.
fn check_limits(min: Option<&String>, max: Option<&String>) -> Result<(), Refusal> {
    let context = Context::at(946_684_800_000);
    let read = |text: Option<&String>| {
        let limit = text.map(|text| limit(text, &context)).transpose();
        limit.map_err(|refusal| Refusal { code: "bad_config", ..refusal })
    };
    match (read(min)?, read(max)?) {
        (Some(first), Some(last)) if is_fixed(min) == is_fixed(max) => {
            ordered(first, last, "min", "max")
        }
        _ => Ok(()),
    }
}

fn is_fixed(text: Option<&String>) -> bool {
    text.is_some_and(|text| !text.starts_with('@'))
}

/// A day.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Date {
    /// `2026-05-31`, `@today`, `@today+30d`.
    min: Option<String>,
    /// `2026-05-31`, `@today`, `@today-18y`.
    max: Option<String>,
    /// Days of the week that are refused: 1 is Monday, 7 Sunday (ISO 8601).
    disabled_weekdays: Vec<i8>,
}

impl Kind for Date {
    fn take(&self, given: &Json, context: &Context) -> Result<Json, Refusal> {
        let day = self::given(text_of(given)?, context)?;
        within(day, self.min.as_ref(), self.max.as_ref(), context)?;
        if self.disabled_weekdays.contains(&day.weekday().to_monday_one_offset()) {
            return refuse("weekday", "another day of the week is expected");
        }
        Ok(day.to_string().into())
    }

    fn check(&self) -> Result<(), Refusal> {
        check_limits(self.min.as_ref(), self.max.as_ref())?;
        match self.disabled_weekdays.iter().find(|day| !(1..=7).contains(*day)) {
            Some(day) => refuse("bad_config", format!("disabled_weekdays: {day} is not 1 to 7")),
            None => Ok(()),
        }
    }
}

/// A first and a last day.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct DateRange {
    /// As of a date.
    min: Option<String>,
    /// As of a date.
    max: Option<String>,
    /// Days between the first and the last at least.
    min_days: Option<i32>,
    /// Days between the first and the last at most.
    max_days: Option<i32>,
}

impl Kind for DateRange {
    fn take(&self, given: &Json, context: &Context) -> Result<Json, Refusal> {
        let expected = || refuse("type", "{\"start\", \"end\"} is expected, both days");
        let Some(given) = given.as_object().filter(|given| given.len() == 2) else {
            return expected();
        };
        let (Some(start), Some(end)) = (given.get("start"), given.get("end")) else {
            return expected();
        };
        let day = |text| self::given(text, context);
        let (start, end) = (day(text_of(start)?)?, day(text_of(end)?)?);
        if start > end {
            return refuse("order", "the end must not be before the start");
        }
        within(start, self.min.as_ref(), None, context)?;
        within(end, None, self.max.as_ref(), context)?;
        let days = (end - start).get_days();
        let what = "days from the first to the last are expected; the same day is 0";
        if let Some(least) = self.min_days.filter(|least| days < *least) {
            return refuse("min_days", format!("at least {least} {what}"));
        }
        if let Some(most) = self.max_days.filter(|most| days > *most) {
            return refuse("max_days", format!("at most {most} {what}"));
        }
        Ok(json!({"start": start.to_string(), "end": end.to_string()}))
    }

    fn text(&self, answer: &Json) -> String {
        let part = |name: &str| answer[name].as_str().unwrap_or_default().to_owned();
        format!("{} to {}", part("start"), part("end"))
    }

    fn check(&self) -> Result<(), Refusal> {
        check_limits(self.min.as_ref(), self.max.as_ref())?;
        let (least, most) = (self.min_days.unwrap_or(0), self.max_days.unwrap_or(i32::MAX));
        if least < 0 {
            return refuse("bad_config", "min_days: 0 or more is expected");
        }
        ordered(least, most, "min_days", "max_days")
    }
}

/// A time of day as `09:30`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Time {
    min: Option<String>,
    max: Option<String>,
    /// Minutes between two times, counted from `min`, else from midnight.
    step_minutes: u16,
}

impl Default for Time {
    fn default() -> Self {
        Self { min: None, max: None, step_minutes: 1 }
    }
}

/// The minutes since midnight.
fn minutes(text: &str) -> Result<u16, Refusal> {
    let two = |text: &str| {
        let is_form = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse::<u16>().ok().filter(|_| is_form)
    };
    let parts = text.trim().split_once(':');
    match parts.and_then(|(hour, minute)| Some((two(hour)?, two(minute)?))) {
        Some((hour @ 0..=23, minute @ 0..=59)) => Ok(hour * 60 + minute),
        _ => refuse("format", "a time from 00:00 to 23:59 is expected"),
    }
}

fn setting(text: Option<&String>) -> Result<Option<u16>, Refusal> {
    let read = text.map(|text| minutes(text)).transpose();
    read.map_err(|refusal| Refusal { code: "bad_config", ..refusal })
}

impl Kind for Time {
    fn take(&self, given: &Json, _: &Context) -> Result<Json, Refusal> {
        let time = minutes(text_of(given)?)?;
        let (min, max) = (setting(self.min.as_ref())?, setting(self.max.as_ref())?);
        if min.is_some_and(|min| time < min) {
            let min = self.min.as_deref().unwrap_or_default();
            return refuse("min", format!("{min} or later is expected"));
        }
        if max.is_some_and(|max| time > max) {
            let max = self.max.as_deref().unwrap_or_default();
            return refuse("max", format!("{max} or earlier is expected"));
        }
        let since = time - min.unwrap_or_default();
        if !since.is_multiple_of(self.step_minutes.max(1)) {
            return refuse("step", format!("a step of {} minutes is expected", self.step_minutes));
        }
        Ok(format!("{:02}:{:02}", time / 60, time % 60).into())
    }

    fn check(&self) -> Result<(), Refusal> {
        let (min, max) = (setting(self.min.as_ref())?, setting(self.max.as_ref())?);
        if !(1..=1440).contains(&self.step_minutes) {
            return refuse("bad_config", "step_minutes: 1 to 1440 is expected");
        }
        ordered(min.unwrap_or(0), max.unwrap_or(1439), "min", "max")
    }
}

/// A moment, with its offset from UTC (RFC 3339).
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct DateTime {
    min: Option<String>,
    max: Option<String>,
}

/// Parses a moment from a visitor; its day may be written as in the visitor's language.
fn given_time(text: &str, context: &Context) -> Result<(String, Timestamp), Refusal> {
    let text = text.trim();
    if let Some((day, time)) = text.rsplit_once([' ', 'T'])
        && let Some(day) = context.spelling().day(day.trim())?
    {
        return moment(&format!("{day}T{time}"), context, true);
    }
    moment(text, context, true)
}

/// The moment in stored form, and as a timestamp for comparisons. Without an offset, it is in
/// the context's zone; when clocks are set back, the first of two equal times counts. A time
/// that is skipped when clocks are set forward is refused with `exists`; otherwise it counts as
/// an hour later.
fn moment(text: &str, context: &Context, exists: bool) -> Result<(String, Timestamp), Refusal> {
    let wrong = || refuse("format", "a moment such as 2026-05-31T09:30:00+02:00 is expected");
    let Ok(pieces) = Pieces::parse(text.trim()) else { return wrong() };
    day(&pieces.date().to_string())?;
    let (Some(time), None) = (pieces.time(), pieces.time_zone_annotation()) else {
        return wrong();
    };
    let zone = pieces.to_numeric_offset().map(TimeZone::fixed);
    let zone = zone.unwrap_or_else(|| context.timezone().clone());
    // Fractions of a second are dropped, because people do not enter them.
    let Ok(time) = Clock::new(time.hour(), time.minute(), time.second(), 0) else {
        return wrong();
    };
    let ambiguous = zone.into_ambiguous_zoned(pieces.date().to_datetime(time));
    if exists && matches!(ambiguous.offset(), AmbiguousOffset::Gap { .. }) {
        let message = "this time does not exist: the clocks are set forward on this day. Choose a \
                       time an hour later, or give an offset";
        return refuse("no_such_time", message);
    }
    let Ok(zoned) = ambiguous.compatible() else { return wrong() };
    Ok((zoned.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string(), zoned.timestamp()))
}

impl Kind for DateTime {
    fn take(&self, given: &Json, context: &Context) -> Result<Json, Refusal> {
        let (shown, taken) = given_time(text_of(given)?, context)?;
        let limit = |text: &Option<String>| {
            text.as_ref().map(|text| moment(text, context, false).map(|(_, at)| at)).transpose()
        };
        if limit(&self.min)?.is_some_and(|min| taken < min) {
            let min = self.min.as_deref().unwrap_or_default();
            return refuse("min", format!("{min} or later is expected"));
        }
        if limit(&self.max)?.is_some_and(|max| taken > max) {
            let max = self.max.as_deref().unwrap_or_default();
            return refuse("max", format!("{max} or earlier is expected"));
        }
        Ok(shown.into())
    }

    fn check(&self) -> Result<(), Refusal> {
        let context = Context::at(0);
        let read = |text: &Option<String>| {
            let read = text.as_ref().map(|text| moment(text, &context, false)).transpose();
            read.map_err(|refusal| Refusal { code: "bad_config", ..refusal })
        };
        match (read(&self.min)?, read(&self.max)?) {
            (Some((_, min)), Some((_, max))) => ordered(min, max, "min", "max"),
            _ => Ok(()),
        }
    }
}
