//! What a field type does.

use serde_json::{Map, Value as Json};

use super::{Context, formula::Formula, spelling::Ambiguous};

/// Why an answer or a setting is refused: a stable code, and how to mend it.
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
    /// Who gives the value.
    fn source(&self) -> Source {
        Source::Visitor
    }

    /// The answer in the form in which it is stored. `given` is not blank.
    fn take(&self, given: &Json, context: &Context) -> Result<Json, Refusal>;

    /// What is stored beside the answer: members of the field's id, such as `other`.
    fn beside(
        &self,
        _answer: &Json,
        _given: &dyn Fn(&str) -> Option<Json>,
        _context: &Context,
    ) -> Result<Map<String, Json>, Refusal> {
        Ok(Map::new())
    }

    /// The names of all that may stand beside its answer.
    fn members(&self) -> &'static [&'static str] {
        &[]
    }

    /// Whether an answer is expected, whatever the field says.
    fn is_required(&self) -> bool {
        false
    }

    /// Whether a stored answer is enough for a required field.
    fn is_enough(&self, _answer: &Json) -> bool {
        true
    }

    /// The answer when none is given.
    fn otherwise(&self) -> Option<Json> {
        None
    }

    /// How it is computed, where nobody answers it.
    fn formula(&self) -> Option<&Formula> {
        None
    }

    /// Its value over these answers, by the ids of their fields.
    fn compute(&self, _answers: &Map<String, Json>) -> Option<Json> {
        None
    }

    /// A stored answer as people read it.
    fn text(&self, answer: &Json) -> String {
        plain(answer)
    }

    /// The same in a cell of a table.
    fn cell(&self, answer: &Json) -> String {
        self.text(answer)
    }

    /// What the settings lack so that there could be an answer.
    fn lacks(&self) -> Option<&'static str> {
        None
    }

    /// The only texts that an answer may have, or that of a row of it; None: others too.
    fn options(&self, _row: Option<&str>) -> Option<Vec<&str>> {
        None
    }

    /// A fault of the settings, such as a least value above the greatest.
    fn check(&self) -> Result<(), Refusal> {
        Ok(())
    }
}

/// Who gives the value of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// The visitor.
    Visitor,
    /// What the visitor comes with; it counts in the first call only.
    Arrival,
    /// Nobody: it is something to read.
    Nobody,
    /// The service itself; what a visitor sends is left aside.
    Service,
    /// Another service; what a visitor sends is refused.
    Provider,
}

/// A value as people read it, where its type says nothing else.
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

/// Refuses a least value above the greatest.
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
