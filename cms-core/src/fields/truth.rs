//! Yes or no, and ticks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::{
    Context,
    kind::{Kind, Refusal, refuse},
};

/// Yes or no; both are answers.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct YesNo {
    yes_label: String,
    no_label: String,
}

impl Default for YesNo {
    fn default() -> Self {
        Self { yes_label: "Yes".to_owned(), no_label: "No".to_owned() }
    }
}

/// A truth value as browsers and people send it.
fn truth(given: &Json) -> Result<bool, Refusal> {
    let word = match given {
        Json::Bool(given) => return Ok(*given),
        Json::Number(number) => number.to_string(),
        Json::String(text) => text.trim().to_ascii_lowercase(),
        _ => String::new(),
    };
    match word.as_str() {
        "1" | "true" | "yes" | "on" => Ok(true),
        "0" | "false" | "no" | "off" => Ok(false),
        _ => refuse("type", "true or false is expected"),
    }
}

impl Kind for YesNo {
    fn take(&self, given: &Json, _: &Context) -> Result<Json, Refusal> {
        truth(given).map(Json::from)
    }

    fn text(&self, answer: &Json) -> String {
        if answer == true { self.yes_label.clone() } else { self.no_label.clone() }
    }
}

/// How a checkbox is drawn.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum CheckboxDisplay {
    #[default]
    Checkbox,
    Toggle,
}

/// A tick. A required one must be set.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Checkbox {
    /// What stands beside the tick.
    inline_label: String,
    /// Whether it is set at first.
    default: bool,
    display: CheckboxDisplay,
}

impl Kind for Checkbox {
    fn take(&self, given: &Json, _: &Context) -> Result<Json, Refusal> {
        truth(given).map(Json::from)
    }

    fn is_enough(&self, answer: &Json) -> bool {
        *answer == Json::Bool(true)
    }
}
