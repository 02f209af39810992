//! Answers on a scale.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Number, Value as Json};

use super::{
    Context,
    kind::{Kind, Refusal, ordered, refuse},
    number::{number, optional, setting, within},
};

/// A whole number between two others.
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
pub(super) enum Shape {
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
    min: Number,
    max: Number,
    /// Steps begin at `min`.
    step: Number,
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
