//! Numbers, and answers on a scale.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Number as JsonNumber, Value as Json};

use super::{
    Context,
    decimal::Decimal,
    kind::{Kind, Refusal, ordered, refuse},
};

/// How a number is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum NumberFormat {
    #[default]
    Decimal,
    Integer,
    Currency,
    Percent,
}

/// A number.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Number {
    min: Option<JsonNumber>,
    max: Option<JsonNumber>,
    /// Steps begin at `min`, else at 0.
    step: Option<JsonNumber>,
    /// Digits after the point at most.
    decimals: Option<u32>,
    format: NumberFormat,
    /// What follows it, such as `kWh`.
    unit: Option<String>,
    /// `,`: the only decimal separator of numbers that are sent as text. `.`: the point, and what
    /// the visitor's language has.
    decimal_separator: char,
}

impl Default for Number {
    fn default() -> Self {
        Self {
            min: None,
            max: None,
            step: None,
            decimals: None,
            format: NumberFormat::default(),
            unit: None,
            decimal_separator: '.',
        }
    }
}

/// Parses a number of a field's settings.
fn setting(number: &JsonNumber) -> Result<Decimal, Refusal> {
    match Decimal::of(number) {
        Some(number) => Ok(number),
        None => refuse("bad_config", format!("{number}: at most 15 digits are expected")),
    }
}

/// Parses a number or a text that spells one: in the stored form, or as the visitor's language
/// writes it.
fn number(given: &Json, context: &Context) -> Result<Decimal, Refusal> {
    expected(match given {
        Json::Number(number) => Decimal::of(number),
        Json::String(text) => context.spelling().number(text.trim())?,
        _ => None,
    })
}

fn expected(number: Option<Decimal>) -> Result<Decimal, Refusal> {
    match number {
        Some(number) => Ok(number),
        None => refuse("type", "a number of at most 15 digits is expected, without exponent"),
    }
}

/// Checks a number against minimum, maximum and step. Steps begin at the minimum, or else at 0.
fn within(
    number: Decimal,
    min: Option<Decimal>,
    max: Option<Decimal>,
    step: Option<Decimal>,
) -> Result<(), Refusal> {
    if let Some(min) = min.filter(|min| number < *min) {
        return refuse("min", format!("at least {min} is expected"));
    }
    if let Some(max) = max.filter(|max| number > *max) {
        return refuse("max", format!("at most {max} is expected"));
    }
    let zero = setting(&0.into())?;
    match step.filter(|step| !number.is_on(*step, min.unwrap_or(zero))) {
        Some(step) => refuse("step", format!("a multiple of {step} is expected")),
        None => Ok(()),
    }
}

/// Parses an optional number of a field's settings.
fn optional(number: Option<&JsonNumber>) -> Result<Option<Decimal>, Refusal> {
    number.map(setting).transpose()
}

impl Number {
    fn most_decimals(&self) -> Option<u32> {
        self.decimals.or((self.format == NumberFormat::Integer).then_some(0))
    }
}

impl Kind for Number {
    fn take(&self, given: &Json, context: &Context) -> Result<Json, Refusal> {
        let number = match given {
            Json::String(text) if self.decimal_separator == ',' => {
                let text = Some(text.trim()).filter(|text| !text.contains('.'));
                expected(text.and_then(|text| Decimal::parse(&text.replace(',', "."))))?
            }
            _ => number(given, context)?,
        };
        let [min, max, step] = [&self.min, &self.max, &self.step].map(Option::as_ref).map(optional);
        within(number, min?, max?, step?)?;
        match self.most_decimals() {
            Some(0) if number.decimals() > 0 => refuse("decimals", "a whole number is expected"),
            Some(most) if number.decimals() > most => {
                refuse("decimals", format!("at most {most} digits after the point are expected"))
            }
            _ => Ok(number.json()),
        }
    }

    fn text(&self, answer: &Json) -> String {
        let unit = self.unit.as_deref().map(|unit| format!(" {unit}")).unwrap_or_default();
        format!("{answer}{unit}")
    }

    fn check(&self) -> Result<(), Refusal> {
        let (min, max) = (optional(self.min.as_ref())?, optional(self.max.as_ref())?);
        if let (Some(min), Some(max)) = (min, max) {
            ordered(min, max, "min", "max")?;
        }
        let zero = setting(&0.into())?;
        if optional(self.step.as_ref())?.is_some_and(|step| step <= zero) {
            return refuse("bad_config", "step must be above 0");
        }
        if !matches!(self.decimal_separator, '.' | ',') {
            return refuse("bad_config", "decimal_separator is \".\" or \",\"");
        }
        Ok(())
    }
}

/// Parses a whole number within a range.
fn whole(given: &Json, context: &Context, min: i64, max: i64) -> Result<Json, Refusal> {
    let taken = number(given, context)?;
    if taken.decimals() > 0 {
        return refuse("type", "a whole number is expected");
    }
    within(taken, optional(Some(&min.into()))?, optional(Some(&max.into()))?, None)?;
    Ok(taken.json())
}

/// What a rating is drawn with.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Shape {
    #[default]
    Star,
    Heart,
    Number,
    Smiley,
}

/// Stars, from 1.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Rating {
    /// 2 to 10.
    max: i64,
    shape: Shape,
}

impl Default for Rating {
    fn default() -> Self {
        Self { max: 5, shape: Shape::default() }
    }
}

impl Kind for Rating {
    fn take(&self, given: &Json, context: &Context) -> Result<Json, Refusal> {
        whole(given, context, 1, self.max)
    }

    fn text(&self, answer: &Json) -> String {
        format!("{answer} / {}", self.max)
    }

    fn check(&self) -> Result<(), Refusal> {
        match self.max {
            2..=10 => Ok(()),
            _ => refuse("bad_config", "max: 2 to 10 is expected"),
        }
    }
}

/// How likely it is that somebody recommends: 0 to 10.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Nps {
    left_label: String,
    right_label: String,
}

impl Kind for Nps {
    fn take(&self, given: &Json, context: &Context) -> Result<Json, Refusal> {
        whole(given, context, 0, 10)
    }
}

/// A whole number of a short scale.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct OpinionScale {
    min: i64,
    /// At most 10 above `min`.
    max: i64,
    left_label: String,
    center_label: String,
    right_label: String,
}

impl Default for OpinionScale {
    fn default() -> Self {
        let label = String::new;
        Self { min: 1, max: 7, left_label: label(), center_label: label(), right_label: label() }
    }
}

impl Kind for OpinionScale {
    fn take(&self, given: &Json, context: &Context) -> Result<Json, Refusal> {
        whole(given, context, self.min, self.max)
    }

    fn check(&self) -> Result<(), Refusal> {
        match self.max.checked_sub(self.min) {
            Some(1..=10) => Ok(()),
            _ => refuse("bad_config", "max: 1 to 10 above min is expected"),
        }
    }
}

/// A number chosen with a slider.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Slider {
    min: JsonNumber,
    max: JsonNumber,
    /// Steps begin at `min`.
    step: JsonNumber,
    /// What follows the number, such as `kWh`.
    unit: Option<String>,
}

impl Default for Slider {
    fn default() -> Self {
        Self { min: 0.into(), max: 100.into(), step: 1.into(), unit: None }
    }
}

impl Kind for Slider {
    fn take(&self, given: &Json, context: &Context) -> Result<Json, Refusal> {
        let taken = number(given, context)?;
        let [min, max, step] = [&self.min, &self.max, &self.step].map(|n| optional(Some(n)));
        within(taken, min?, max?, step?)?;
        Ok(taken.json())
    }

    fn text(&self, answer: &Json) -> String {
        let unit = self.unit.as_deref().map(|unit| format!(" {unit}")).unwrap_or_default();
        format!("{answer}{unit}")
    }

    fn check(&self) -> Result<(), Refusal> {
        ordered(setting(&self.min)?, setting(&self.max)?, "min", "max")?;
        if setting(&self.step)? <= setting(&0.into())? {
            return refuse("bad_config", "step must be above 0");
        }
        Ok(())
    }
}
