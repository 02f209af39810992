//! Days, and spans of them.

use jiff::{Span, ToSpan as _, civil::Date as Day};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::{
    Context,
    kind::{Kind, Refusal, ordered, refuse, text_of},
};

/// Years in which days are accepted.
const YEARS: std::ops::RangeInclusive<i16> = 1900..=2200;

/// A day as `2026-05-31`.
pub(super) fn day(text: &str) -> Result<Day, Refusal> {
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

/// A day as a visitor gives it: in the stored form, or as the visitor's language writes it.
fn given(text: &str, context: &Context) -> Result<Day, Refusal> {
    match context.spelling().day(text.trim())? {
        Some(spelled) => day(&spelled.to_string()),
        None => day(text),
    }
}

/// A limit of a day: the day itself, or `@today`, with years, months, weeks or days added or taken
/// away: `@today-18y`.
pub(super) fn limit(text: &str, context: &Context) -> Result<Day, Refusal> {
    let Some(rest) = text.strip_prefix("@today") else { return day(text) };
    let wrong = || refuse("bad_config", format!("{text:?}: such as 2026-05-31 or @today+30d"));
    let today = context.today();
    if rest.is_empty() {
        return Ok(today);
    }
    let Some(span) = span(rest) else { return wrong() };
    today.checked_add(span).or_else(|_| wrong())
}

/// `-18y`, `+6m`, `+2w`, `+30d`.
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

/// Checks the limits of settings; those that move with the days are compared as of 2000.
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
        if let Some(least) = self.min_days.filter(|least| days < *least) {
            return refuse("min_days", format!("at least {least} days are expected"));
        }
        if let Some(most) = self.max_days.filter(|most| days > *most) {
            return refuse("max_days", format!("at most {most} days are expected"));
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
