//! A field of a form.

use std::collections::BTreeSet;

use crossterm::event::KeyCode;
use serde_json::{Number, Value as Json};

use super::input::{Input, TOO_LONG};
use crate::keys::Key;

/// What a field holds, and how it is edited.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    Text(Input),
    /// Shown as dots.
    Secret(Input),
    Number(Input),
    /// JSON, checked before it is sent.
    Json(Input),
    /// Null until it was chosen.
    Flag(Option<bool>),
    /// Titles and values.
    One {
        options: Vec<(String, Json)>,
        at: Option<usize>,
    },
    Many(Many),
    /// One of a long list, sought by typing: the one under the cursor.
    Pick(Many),
    /// Not to be edited here, for this reason.
    Fixed(String),
}

/// A list of options to tick.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Many {
    /// Group and name.
    pub(crate) options: Vec<(String, String)>,
    pub(crate) chosen: BTreeSet<String>,
    pub(crate) at: usize,
    pub(crate) filter: Input,
    /// What each option stands for, when that is not its name.
    pub(crate) values: Vec<Json>,
}

/// More options than these are sought by typing.
const FEW: usize = 12;

fn text_of(value: &Json) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

impl Kind {
    /// A choice by title and value: none is null, a value that is no option stays what it is, and
    /// `none` says so. Numbers and their texts are the same.
    pub(crate) fn choice(mut options: Vec<(String, Json)>, value: &Json, none: &str) -> Self {
        options.insert(0, ("—".to_owned(), Json::Null));
        let is_value =
            |one: &Json| one.is_null() == value.is_null() && text_of(one) == text_of(value);
        let at = match options.iter().position(|(_, one)| is_value(one)) {
            Some(at) => {
                options[at].1 = value.clone();
                at
            }
            None => {
                options.push((format!("{} ({none})", text_of(value)), value.clone()));
                options.len() - 1
            }
        };
        if options.len() <= FEW {
            return Self::One { options, at: Some(at) };
        }
        let (titles, values): (Vec<String>, Vec<Json>) = options.into_iter().unzip();
        let group = |value: &Json| if value.is_null() { String::new() } else { text_of(value) };
        let options = values.iter().map(group).zip(titles).collect();
        Self::Pick(Many { options, at, values, ..Many::default() })
    }
}

impl Many {
    /// Numbers of the options that fit the filter.
    pub(crate) fn shown(&self) -> Vec<usize> {
        let wanted = self.filter.text().to_lowercase();
        let fits = |option: &(String, String)| {
            wanted.split_whitespace().all(|word| {
                option.1.to_lowercase().contains(word) || option.0.to_lowercase().contains(word)
            })
        };
        (0..self.options.len()).filter(|n| fits(&self.options[*n])).collect()
    }

    /// The name of the option under the cursor.
    pub(crate) fn current_option(&self) -> Option<&str> {
        Some(&self.options[self.number()?].1)
    }

    fn number(&self) -> Option<usize> {
        self.shown().get(self.at).copied()
    }

    /// What the option under the cursor stands for.
    fn value(&self) -> Option<Json> {
        let number = self.number()?;
        Some(
            self.values
                .get(number)
                .cloned()
                .unwrap_or_else(|| self.options[number].1.as_str().into()),
        )
    }

    fn key(&mut self, key: Key) -> bool {
        if key.code != KeyCode::Char(' ') {
            return self.walk(key);
        }
        if let Some(name) = self.current_option().map(str::to_owned)
            && !self.chosen.remove(&name)
        {
            self.chosen.insert(name);
        }
        true
    }

    /// Moves among the options, and filters them.
    fn walk(&mut self, key: Key) -> bool {
        let last = self.shown().len().saturating_sub(1);
        match key.code {
            KeyCode::Down if self.at < last => self.at += 1,
            KeyCode::Up if self.at > 0 => self.at -= 1,
            KeyCode::Down | KeyCode::Up => return false,
            _ => {
                let before = self.filter.text().to_owned();
                let is_taken = self.filter.key(key);
                if self.filter.text() != before {
                    self.at = 0;
                }
                return is_taken;
            }
        }
        true
    }
}

/// A field: its name in the body, what is in it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) label: String,
    pub(crate) hint: String,
    pub(crate) kind: Kind,
    pub(crate) required: bool,
    pub(crate) error: Option<String>,
    initial: Kind,
}

impl Field {
    pub(crate) fn new(name: &str, label: &str, kind: Kind) -> Self {
        Self {
            name: name.to_owned(),
            label: label.to_owned(),
            hint: String::new(),
            initial: kind.clone(),
            kind,
            required: false,
            error: None,
        }
    }

    pub(crate) fn text(name: &str, label: &str, value: &str) -> Self {
        Self::new(name, label, Kind::Text(Input::of(value)))
    }

    /// A text of several lines.
    pub(crate) fn lines(name: &str, label: &str, value: &str) -> Self {
        Self::new(name, label, Kind::Text(Input::lines(value)))
    }

    pub(crate) fn number(name: &str, label: &str, value: &str) -> Self {
        Self::new(name, label, Kind::Number(Input::of(value)))
    }

    pub(crate) fn secret(name: &str, label: &str) -> Self {
        Self::new(name, label, Kind::Secret(Input::default()))
    }

    pub(crate) fn flag(name: &str, label: &str, value: bool) -> Self {
        Self::new(name, label, Kind::Flag(Some(value)))
    }

    pub(crate) fn one(name: &str, label: &str, options: &[&str], at: usize) -> Self {
        let option = |option: &&str| ((*option).to_owned(), Json::from(*option));
        let options = options.iter().map(option).collect();
        Self::new(name, label, Kind::One { options, at: Some(at) })
    }

    pub(crate) fn many(
        name: &str,
        label: &str,
        options: Vec<(String, String)>,
        chosen: BTreeSet<String>,
    ) -> Self {
        Self::new(name, label, Kind::Many(Many { options, chosen, ..Many::default() }))
    }

    /// Options are group and name; the name is the value.
    pub(crate) fn pick(name: &str, label: &str, options: Vec<(String, String)>) -> Self {
        Self::new(name, label, Kind::Pick(Many { options, ..Many::default() }))
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }

    pub(crate) fn required(mut self) -> Self {
        self.required = true;
        self
    }

    pub(crate) fn is_changed(&self) -> bool {
        if let (Kind::Pick(now), Kind::Pick(then)) = (&self.kind, &self.initial) {
            return !now.values.is_empty() && now.number() != then.number();
        }
        let (mut now, mut then) = (self.kind.clone(), self.initial.clone());
        for kind in [&mut now, &mut then] {
            if let Kind::Many(many) = kind {
                (many.at, many.filter) = (0, Input::default());
            }
            if let Kind::Text(input) | Kind::Number(input) | Kind::Json(input) = kind {
                *input = Input::of(input.text());
            }
        }
        now != then
    }

    /// Whether the key was for the field.
    pub(crate) fn key(&mut self, key: Key) -> bool {
        self.error = None;
        match &mut self.kind {
            Kind::Text(input) | Kind::Secret(input) | Kind::Number(input) | Kind::Json(input) => {
                input.key(key)
            }
            Kind::Flag(value) => match key.code {
                KeyCode::Char(' ') | KeyCode::Left | KeyCode::Right => {
                    *value = Some(*value != Some(true));
                    true
                }
                _ => false,
            },
            Kind::One { options, at } => match key.code {
                KeyCode::Char(' ') | KeyCode::Right => {
                    *at = Some(at.map_or(0, |at| (at + 1) % options.len().max(1)));
                    true
                }
                KeyCode::Left => {
                    let last = options.len().saturating_sub(1);
                    *at = Some(at.map_or(last, |at| at.checked_sub(1).unwrap_or(last)));
                    true
                }
                KeyCode::Char(_) if key.typed().is_some() => {
                    *at = key.typed().and_then(|c| beginning(options, *at, c)).or(*at);
                    true
                }
                _ => false,
            },
            Kind::Many(many) => many.key(key),
            Kind::Pick(many) => many.walk(key),
            Kind::Fixed(_) => false,
        }
    }

    pub(crate) fn paste(&mut self, text: &str) {
        let fits = match &mut self.kind {
            Kind::Text(input) | Kind::Secret(input) | Kind::Number(input) | Kind::Json(input) => {
                input.insert(text)
            }
            Kind::Many(many) | Kind::Pick(many) => {
                many.at = 0;
                many.filter.insert(text)
            }
            _ => return,
        };
        self.error = (!fits).then(|| TOO_LONG.to_owned());
    }

    /// The value to send; an empty text is null.
    pub(crate) fn value(&self) -> Result<Json, String> {
        let said = |text: &str| {
            if text.is_empty() { Json::Null } else { Json::from(text) }
        };
        let value = match &self.kind {
            Kind::Text(input) | Kind::Secret(input) => said(input.text()),
            Kind::Number(input) if input.text().trim().is_empty() => Json::Null,
            Kind::Number(input) => {
                let text = input.text().trim();
                let number: Result<Number, _> = text.parse();
                Json::Number(number.map_err(|_| format!("{text:?} is no number"))?)
            }
            Kind::Json(input) if input.text().trim().is_empty() => Json::Null,
            Kind::Json(input) => {
                serde_json::from_str(input.text()).map_err(|e| format!("this is no JSON: {e}"))?
            }
            Kind::Flag(value) => value.map_or(Json::Null, Json::Bool),
            Kind::One { options, at } => {
                at.and_then(|at| options.get(at)).map_or(Json::Null, |(_, value)| value.clone())
            }
            Kind::Many(many) => many.chosen.iter().map(String::as_str).collect(),
            Kind::Pick(many) => many.value().ok_or("nothing fits what you typed")?,
            Kind::Fixed(_) => Json::Null,
        };
        let empty = value.is_null() || value.as_array().is_some_and(Vec::is_empty);
        if self.required && empty {
            return Err("something must stand here".to_owned());
        }
        Ok(value)
    }
}

/// The next option that begins with this letter.
fn beginning(options: &[(String, Json)], at: Option<usize>, letter: char) -> Option<usize> {
    let begins = |n: &usize| {
        let first = options.get(*n).and_then(|(title, _)| title.chars().next());
        first.is_some_and(|first| first.to_lowercase().eq(letter.to_lowercase()))
    };
    let from = at.map_or(0, |at| at + 1);
    (from..options.len()).chain(0..from.min(options.len())).find(begins)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn one_of_many_is_sought_by_typing() {
        let options = [("Basics", "title"), ("Basics", "html"), ("Shop", "product list")];
        let options = options.map(|(group, name)| (group.to_owned(), name.to_owned())).to_vec();
        let mut field = Field::pick("a", "a", options).required();
        for (key, value) in [("Down", "html"), ("s", "title"), ("h", "product list")] {
            field.key(key.parse().expect("a key"));
            assert_eq!(field.value(), Ok(json!(value)), "{key}");
        }
        assert!(!field.key("Enter".parse().expect("a key")), "Enter is for the form");
        assert_eq!(field.value(), Ok(json!("product list")));
        field.key("x".parse().expect("a key"));
        assert!(field.value().is_err(), "nothing fits");
        assert!(!field.is_changed());
    }

    #[test]
    fn what_is_too_long_to_paste_is_said() {
        let mut field = Field::text("a", "a", "x");
        field.paste(&"x".repeat(super::super::input::LONGEST));
        assert_eq!(field.error.as_deref(), Some(TOO_LONG));
        assert_eq!(field.value(), Ok(json!("x")));
        field.paste("y");
        assert_eq!((field.error.as_deref(), field.value()), (None, Ok(json!("xy"))));
        // A field that takes none keeps what is said of it.
        let mut field = Field::flag("a", "a", true);
        field.error = Some("refused".to_owned());
        field.paste("y");
        assert_eq!(field.error.as_deref(), Some("refused"));
    }

    #[test]
    fn a_choice_knows_its_value_as_number_and_as_text() {
        let options = |n: i64| (1..=n).map(|n| (format!("Form {n}"), json!(n.to_string())));
        for n in [3, 300] {
            for (value, is_option) in [(json!(3), true), (json!("3"), true), (json!("x"), false)] {
                let kind = Kind::choice(options(n).collect(), &value, "no option");
                let mut field = Field::new("a", "a", kind);
                assert_eq!((field.value(), field.is_changed()), (Ok(value.clone()), false));
                let title = match &field.kind {
                    Kind::One { options, at } => options[at.expect("chosen")].0.clone(),
                    Kind::Pick(many) => many.current_option().expect("one").to_owned(),
                    other => panic!("{other:?}"),
                };
                assert_eq!(title.contains("no option"), !is_option, "{title}");
                field.key(if n == 3 { "Left" } else { "Up" }.parse().expect("a key"));
                assert!(field.is_changed());
            }
            let none = Field::new("a", "a", Kind::choice(options(n).collect(), &Json::Null, ""));
            assert_eq!(none.value(), Ok(Json::Null));
        }
        // Of many one is sought; what does not fit is no value.
        let kind = Kind::choice(options(300).collect(), &json!("3"), "");
        let mut field = Field::new("a", "a", kind);
        field.paste("form 277");
        assert_eq!(field.value(), Ok(json!("277")));
        field.paste("x");
        assert!(field.value().is_err());
    }

    #[test]
    fn an_option_is_chosen_by_its_first_letter_and_sent_by_its_value() {
        let options = [("new", 1), ("Negotiated", 2), ("done", 3)];
        let options = options.map(|(title, value)| (title.to_owned(), json!(value))).to_vec();
        let mut field = Field::new("a", "a", Kind::One { options, at: Some(0) });
        for (key, value) in [("n", 2), ("n", 1), ("d", 3), ("x", 3), ("Space", 1), ("Left", 3)] {
            field.key(key.parse().expect("a key"));
            assert_eq!(field.value(), Ok(json!(value)), "{key}");
        }
    }
}
