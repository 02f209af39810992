//! What an answer is in a formula.

use serde_json::Value as Json;

use super::Decimal;
use crate::fields::is_blank;

/// An answer, or a result.
pub(super) enum Value<'a> {
    Absent,
    Number(Decimal),
    /// Text of the formula itself, which is no number.
    Text(&'a str),
    Answer(&'a Json),
    /// A member of each row of a list.
    Many(Vec<&'a Json>),
}

impl From<Option<Decimal>> for Value<'_> {
    fn from(number: Option<Decimal>) -> Self {
        number.map_or(Self::Absent, Self::Number)
    }
}

impl<'a> Value<'a> {
    /// The members of an answer; of each row of a list, which is many values also with one row.
    pub(super) fn of(answer: Option<&'a Json>, members: &[String]) -> Self {
        let mut found: Vec<&Json> = answer.into_iter().collect();
        let mut is_many = false;
        for member in members {
            is_many |= found.iter().any(|one| one.is_array());
            found = found.into_iter().flat_map(rows).filter_map(|row| row.get(member)).collect();
        }
        found.retain(|one| !is_blank(one));
        match found.as_slice() {
            [] => Self::Absent,
            [one] if !is_many => Self::Answer(one),
            _ => Self::Many(found),
        }
    }

    /// A number; `true` is 1, `false` is 0, and a text that is a number is that number.
    pub(super) fn number(&self) -> Option<Decimal> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Answer(answer) => number(answer),
            Self::Absent | Self::Text(_) | Self::Many(_) => None,
        }
    }

    /// All numbers in it.
    pub(super) fn numbers(&self) -> Vec<Decimal> {
        match self {
            Self::Number(number) => vec![*number],
            _ => self.answers().into_iter().filter_map(number).collect(),
        }
    }

    /// How many answers it holds.
    pub(super) fn count(&self) -> usize {
        match self {
            Self::Number(_) | Self::Text(_) => 1,
            _ => self.answers().into_iter().filter(|one| !is_blank(one)).count(),
        }
    }

    /// Two texts are equal as texts, a number equals a text that is this number. Nothing equals
    /// what is absent.
    pub(super) fn is_equal(&self, other: &Self) -> bool {
        match (self.text(), other.text()) {
            (Some(one), Some(other)) => one == other,
            _ => self.compared().is_some_and(|number| other.compared() == Some(number)),
        }
    }

    /// The number that it is compared as.
    fn compared(&self) -> Option<Decimal> {
        match self {
            Self::Text(text) => Decimal::parse(text.trim()),
            _ => self.number(),
        }
    }

    /// Of a list: its only text.
    fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Answer(Json::Array(entries)) => match entries.as_slice() {
                [Json::String(only)] => Some(only),
                _ => None,
            },
            Self::Answer(answer) => answer.as_str(),
            Self::Absent | Self::Number(_) | Self::Many(_) => None,
        }
    }

    fn answers(&self) -> Vec<&'a Json> {
        match self {
            Self::Answer(answer) => rows(answer).collect(),
            Self::Many(answers) => answers.iter().copied().flat_map(rows).collect(),
            Self::Absent | Self::Number(_) | Self::Text(_) => Vec::new(),
        }
    }
}

/// The entries of a list; else the value alone.
fn rows(value: &Json) -> Box<dyn Iterator<Item = &Json> + '_> {
    match value {
        Json::Array(rows) => Box::new(rows.iter()),
        one => Box::new(std::iter::once(one)),
    }
}

fn number(value: &Json) -> Option<Decimal> {
    match value {
        Json::Number(number) => Decimal::of(number),
        Json::Bool(truth) => Decimal::whole((*truth).into()),
        Json::String(text) => Decimal::parse(text.trim()),
        Json::Null | Json::Array(_) | Json::Object(_) => None,
    }
}
