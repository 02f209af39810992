//! The behaviour of a field type.

use serde_json::{Map, Value as Json};

use super::{Context, formula::Formula, spelling::Ambiguous};

/// Why an answer or a setting is refused: a stable code, and the remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) code: &'static str,
    pub(super) message: String,
}

impl From<Ambiguous> for Refusal {
    fn from(Ambiguous(message): Ambiguous) -> Self {
        Self { code: "ambiguous", message }
    }
}

pub(super) fn refuse<T>(code: &'static str, message: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal { code, message: message.into() })
}

/// The settings of a field of one type, and its rules.
pub(super) trait Kind: Send + Sync {
    /// Where the value comes from.
    fn source(&self) -> Source {
        Source::Visitor
    }

    /// The answer in stored form. `given` is not blank.
    fn take(&self, given: &Json, context: &Context) -> Result<Json, Refusal>;

    /// The values stored beside the answer, under members of the field's id such as `other`.
    fn extra_values(
        &self,
        _answer: &Json,
        _given: &dyn Fn(&str) -> Option<Json>,
        _context: &Context,
    ) -> Result<Map<String, Json>, Refusal> {
        Ok(Map::new())
    }

    /// The names of all members that may be stored beside its answer.
    fn members(&self) -> &'static [&'static str] {
        &[]
    }

    /// Whether an answer is required, even if the field does not say so.
    fn is_required(&self) -> bool {
        false
    }

    /// Whether an answer, in stored form, satisfies a required field.
    fn is_enough(&self, _answer: &Json) -> bool {
        true
    }

    /// The default answer when none is given.
    fn otherwise(&self) -> Option<Json> {
        None
    }

    /// Its formula, if the value is computed.
    fn formula(&self) -> Option<&Formula> {
        None
    }

    /// Its value computed from these answers, by the ids of their fields.
    fn compute(&self, _answers: &Map<String, Json>) -> Option<Json> {
        None
    }

    /// A stored answer as readable text.
    fn text(&self, answer: &Json) -> String {
        plain(answer)
    }

    /// The same in a cell of a table.
    fn cell(&self, answer: &Json) -> String {
        self.text(answer)
    }

    /// What the settings lack to make an answer possible.
    fn why_unanswerable(&self) -> Option<&'static str> {
        None
    }

    /// The only texts that an answer, or a row of it, may have; `None`: any text.
    fn options(&self, _row: Option<&str>) -> Option<Vec<&str>> {
        None
    }

    /// Checks the settings for faults, such as a minimum above the maximum.
    fn check(&self) -> Result<(), Refusal> {
        Ok(())
    }
}

/// The source of a field's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// The visitor.
    Visitor,
    /// Something that comes with the visitor; it counts only in the first call.
    Arrival,
    /// No source: the field only displays something.
    Nobody,
    /// The service itself; a value from the visitor is ignored.
    Service,
    /// Another service; a value from the visitor is refused.
    Provider,
}

/// A value as readable text, for types without a rule of their own.
pub(crate) fn plain(answer: &Json) -> String {
    match answer {
        Json::Null => String::new(),
        Json::Bool(true) => "Yes".to_owned(),
        Json::Bool(false) => "No".to_owned(),
        Json::Number(number) => number.to_string(),
        Json::String(text) => text.clone(),
        Json::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(", "),
        Json::Object(members) => {
            let values = members.values().map(plain).filter(|text| !text.is_empty());
            values.collect::<Vec<_>>().join(", ")
        }
    }
}

/// The text of an answer.
pub(super) fn text_of(given: &Json) -> Result<&str, Refusal> {
    match given.as_str() {
        Some(text) => Ok(text),
        None => refuse("type", "a text is expected"),
    }
}

/// Refuses a minimum above the maximum.
pub(super) fn ordered<T: PartialOrd>(
    least: T,
    most: T,
    first: &str,
    second: &str,
) -> Result<(), Refusal> {
    if least > most {
        return refuse("bad_config", format!("{first} must not be above {second}"));
    }
    Ok(())
}
