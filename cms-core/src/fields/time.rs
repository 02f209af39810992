//! Times of a day, and moments.

use jiff::{
    Timestamp,
    civil::Time as Clock,
    fmt::temporal::Pieces,
    tz::{AmbiguousOffset, TimeZone},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::{
    Context,
    kind::{Kind, Refusal, ordered, refuse, text_of},
};

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

/// Minutes since midnight.
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

/// The moment that a visitor gives: its day may be written as in the visitor's language.
fn given(text: &str, context: &Context) -> Result<(String, Timestamp), Refusal> {
    let text = text.trim();
    if let Some((day, time)) = text.rsplit_once([' ', 'T'])
        && let Some(day) = context.spelling().day(day.trim())?
    {
        return moment(&format!("{day}T{time}"), context, true);
    }
    moment(text, context, true)
}

/// The moment as it is stored, and as it is compared. Without an offset it is of the context's
/// zone: the first of two when the clocks are set back. `exists`: refuses what is left out when
/// they are set forward; else it counts as an hour later.
fn moment(text: &str, context: &Context, exists: bool) -> Result<(String, Timestamp), Refusal> {
    let wrong = || refuse("format", "a moment such as 2026-05-31T09:30:00+02:00 is expected");
    let Ok(pieces) = Pieces::parse(text.trim()) else { return wrong() };
    super::date::day(&pieces.date().to_string())?;
    let (Some(time), None) = (pieces.time(), pieces.time_zone_annotation()) else {
        return wrong();
    };
    let zone = pieces.to_numeric_offset().map(TimeZone::fixed);
    let zone = zone.unwrap_or_else(|| context.timezone().clone());
    // Fractions of a second say nothing that people enter.
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
        let (shown, taken) = self::given(text_of(given)?, context)?;
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
