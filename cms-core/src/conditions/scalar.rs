//! Whether two values say the same.

use std::borrow::Cow;

use serde_json::Value as Json;

use super::exact::Exact;
use crate::plain::composed;

/// A text as texts are compared: composed (NFC), in lower case when case does not count.
pub(super) fn folded(text: &str, ci: bool) -> Cow<'_, str> {
    let composed = composed(text);
    if ci { Cow::Owned(composed.to_lowercase()) } else { composed }
}

/// A value as it is compared. An element of a list is compared whole.
#[derive(Clone, Debug)]
pub(super) enum Scalar<'a> {
    /// As [`folded`].
    Text(Cow<'a, str>),
    Number(Exact<'a>),
    Truth(bool),
    /// An object, a list or null: one text for each meaning.
    Whole(String),
}

impl<'a> Scalar<'a> {
    pub(super) fn of(value: &'a Json, ci: bool) -> Self {
        match value {
            Json::String(text) => Self::Text(folded(text, ci)),
            Json::Number(number) => Self::Number(Exact::of(number)),
            Json::Bool(truth) => Self::Truth(*truth),
            _ => Self::Whole(canonical(value, ci)),
        }
    }

    pub(super) fn into_owned(self) -> Scalar<'static> {
        match self {
            Self::Text(text) => Scalar::Text(text.into_owned().into()),
            Self::Number(number) => Scalar::Number(number.into_owned()),
            Self::Truth(truth) => Scalar::Truth(truth),
            Self::Whole(text) => Scalar::Whole(text),
        }
    }

    /// Texts are the same letter by letter, numbers digit by digit. A number is the same as a text
    /// of it; yes and no are the same as their words and as 1 and 0.
    pub(super) fn is_same(&self, other: &Scalar<'_>) -> bool {
        match (self, other) {
            (Self::Text(one), Scalar::Text(two)) => one == two,
            (Self::Number(one), Scalar::Number(two)) => one == two,
            (Self::Truth(one), Scalar::Truth(two)) => one == two,
            (Self::Whole(one), Scalar::Whole(two)) => one == two,
            (Self::Number(number), Scalar::Text(text)) => is_number(text, number),
            (Self::Text(text), Scalar::Number(number)) => is_number(text, number),
            (Self::Truth(truth), Scalar::Text(text)) => truth_of(text) == Some(*truth),
            (Self::Text(text), Scalar::Truth(truth)) => truth_of(text) == Some(*truth),
            (Self::Truth(truth), Scalar::Number(number)) => number.truth() == Some(*truth),
            (Self::Number(number), Scalar::Truth(truth)) => number.truth() == Some(*truth),
            _ => false,
        }
    }

    /// The text of a value, to search in or to search for. Booleans, objects and lists have none.
    pub(super) fn text(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Text(text) => Some(Cow::Borrowed(text)),
            Self::Number(number) => Some(Cow::Owned(number.to_string())),
            Self::Truth(_) | Self::Whole(_) => None,
        }
    }
}

fn is_number(text: &str, number: &Exact<'_>) -> bool {
    Exact::parse(text).is_some_and(|read| read == *number)
}

/// Yes and no as words.
pub(super) fn truth_of(text: &str) -> Option<bool> {
    match text {
        "true" | "1" => Some(true),
        "false" | "0" => Some(false),
        _ => None,
    }
}

/// The same text for values that mean the same: members by name, lists as sets.
fn canonical(value: &Json, ci: bool) -> String {
    match value {
        Json::Null | Json::Bool(_) => value.to_string(),
        Json::Number(number) => Exact::of(number).to_string(),
        Json::String(text) => Json::from(folded(text, ci)).to_string(),
        Json::Array(items) => {
            let mut items: Vec<_> = items.iter().map(|item| canonical(item, ci)).collect();
            items.sort_unstable();
            items.dedup();
            format!("[{}]", items.join(","))
        }
        Json::Object(members) => {
            let member = |(name, value): (&String, &Json)| {
                format!("{}:{}", Json::from(folded(name, false)), canonical(value, ci))
            };
            let mut members: Vec<_> = members.iter().map(member).collect();
            members.sort_unstable();
            format!("{{{}}}", members.join(","))
        }
    }
}
