//! What the tokens of a mail stand for. Pure.

use serde_json::{Map, Value as Json};

use crate::{
    conditions::{Surroundings, find},
    fields::{Answer, plain},
    mail::shortened,
};

/// Characters of a value at most.
const MOST: usize = 10_000;

/// The answers that count, and what is known beside them.
pub(in crate::funnels) struct Values<'a> {
    answers: &'a [Answer],
    counting: &'a Map<String, Json>,
    around: &'a Surroundings,
    known: Vec<(&'static str, String)>,
}

/// What a token stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Text(String),
    /// All answers: what was asked, and the answer.
    All(Vec<(String, String)>),
    /// The same as a table.
    Table(Vec<(String, String)>),
}

impl<'a> Values<'a> {
    pub(in crate::funnels) fn new(
        answers: &'a [Answer],
        counting: &'a Map<String, Json>,
        around: &'a Surroundings,
        known: Vec<(&'static str, String)>,
    ) -> Self {
        Self { answers, counting, around, known }
    }

    /// The value of a token; a blank text for what is unknown or not answered.
    pub(super) fn get(&self, name: &str) -> Value {
        match name {
            "*" => return Value::All(self.all()),
            "*:table" => return Value::Table(self.all()),
            _ => {}
        }
        let short = |text: &str| Value::Text(shortened(text, MOST).into_owned());
        if let Some(id) = name.strip_prefix("label:") {
            return short(self.answer(id.trim()).map(label).unwrap_or_default());
        }
        if let Some(answer) = self.answer(name) {
            return short(&answer.text);
        }
        if let Some((_, text)) = self.known.iter().find(|(known, _)| *known == name) {
            return short(text);
        }
        short(&plain(&find(name, self.counting, self.around)))
    }

    /// The first answer to a field of type `email` in the order of the path. Hidden fields have
    /// another type.
    pub(super) fn first_mail(&self) -> Option<&'a str> {
        let mut mails = self.answers.iter().filter(|answer| answer.field_type == "email");
        mails.next().map(|answer| answer.text.as_str())
    }

    /// The answer to this field, if it is an address.
    pub(super) fn mail(&self, field: &str) -> Option<&'a str> {
        let mut mails = self.answers.iter().filter(|answer| answer.field_type == "email");
        mails.find(|answer| answer.field == field).map(|answer| answer.text.as_str())
    }

    fn answer(&self, id: &str) -> Option<&'a Answer> {
        self.answers.iter().find(|answer| answer.field == id)
    }

    fn all(&self) -> Vec<(String, String)> {
        let shown = self.answers.iter().filter(|answer| !answer.text.is_empty());
        let pair = |answer: &Answer| {
            let text = shortened(&answer.text, MOST).into_owned();
            (shortened(label(answer), 200).into_owned(), text)
        };
        shown.map(pair).collect()
    }
}

fn label(answer: &Answer) -> &str {
    if answer.label.is_empty() { &answer.field } else { &answer.label }
}
