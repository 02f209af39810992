//! The fifteen operators; the value of a rule, prepared for one, and whether an answer fits it.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::{
    Surroundings,
    exact::Exact,
    membership::ValueSet,
    moment::Moment,
    pattern::Pattern,
    scalar::Scalar,
    texts::{Affixes, Needles, Side},
};
use crate::fields::is_blank;

/// What a rule asks of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "ConditionOperator")]
pub enum Operator {
    /// Answer and value say the same.
    Equals,
    /// The complement of `equals`.
    NotEquals,
    /// The answer comes after the value.
    GreaterThan,
    /// The answer comes before the value.
    LessThan,
    /// The answer comes after the value, or ranks equal to it.
    GreaterOrEqual,
    /// The answer comes before the value, or ranks equal to it.
    LessOrEqual,
    /// A text holds the value, a list holds it as an element; all of them for a list of values.
    Contains,
    /// The complement of `contains`.
    NotContains,
    /// A text begins with the value, or with one of a list.
    StartsWith,
    /// A text ends with the value, or with one of a list.
    EndsWith,
    /// A regular expression finds something in the text.
    RegexMatch,
    /// The answer is one of a list; one element is enough for an answer that is a list.
    In,
    /// The complement of `in`.
    NotIn,
    /// The answer is blank.
    IsEmpty,
    /// The complement of `is_empty`.
    IsNotEmpty,
}

impl Operator {
    /// Every operator.
    pub const ALL: [Self; 15] = [
        Self::Equals,
        Self::NotEquals,
        Self::GreaterThan,
        Self::LessThan,
        Self::GreaterOrEqual,
        Self::LessOrEqual,
        Self::Contains,
        Self::NotContains,
        Self::StartsWith,
        Self::EndsWith,
        Self::RegexMatch,
        Self::In,
        Self::NotIn,
        Self::IsEmpty,
        Self::IsNotEmpty,
    ];

    /// Its name in rules.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Equals => "equals",
            Self::NotEquals => "not_equals",
            Self::GreaterThan => "greater_than",
            Self::LessThan => "less_than",
            Self::GreaterOrEqual => "greater_or_equal",
            Self::LessOrEqual => "less_or_equal",
            Self::Contains => "contains",
            Self::NotContains => "not_contains",
            Self::StartsWith => "starts_with",
            Self::EndsWith => "ends_with",
            Self::RegexMatch => "regex_match",
            Self::In => "in",
            Self::NotIn => "not_in",
            Self::IsEmpty => "is_empty",
            Self::IsNotEmpty => "is_not_empty",
        }
    }

    /// The operator of this name.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|operator| operator.name() == name)
    }

    /// Whether it is the complement of another.
    pub(super) fn is_complement(self) -> bool {
        matches!(self, Self::NotEquals | Self::NotContains | Self::NotIn | Self::IsNotEmpty)
    }
}

/// A value, prepared for its operator. The complement of an operator has the same operand.
#[derive(Clone, Debug)]
pub(super) enum Operand {
    /// A blank value: only blank answers equal it.
    Blank,
    /// The elements, and whether the value was a list.
    Same(ValueSet<'static>, bool),
    /// Which orders fit, and the value to compare with.
    Order(fn(std::cmp::Ordering) -> bool, Ordered),
    Contain {
        texts: Option<Needles>,
        elements: ValueSet<'static>,
    },
    Affixes(Affixes),
    Pattern(Arc<Pattern>),
    Among(ValueSet<'static>),
    /// A value that nothing fits.
    Never,
}

/// A value that has an order.
#[derive(Clone, Debug)]
pub(super) enum Ordered {
    Number(Exact<'static>),
    Moment(Moment),
}

impl Ordered {
    pub(super) fn of_value(value: &Json) -> Option<Self> {
        match single(value)? {
            Json::Number(number) => Some(Self::Number(Exact::of(number))),
            Json::String(text) => match Exact::parse(text) {
                Some(number) => Some(Self::Number(number.into_owned())),
                None => Moment::of_value(text).map(Self::Moment),
            },
            _ => None,
        }
    }

    fn compare(&self, answer: &Json, around: &Surroundings) -> Option<std::cmp::Ordering> {
        match (self, single(answer)?) {
            (Self::Number(own), Json::Number(number)) => Some(Exact::of(number).cmp(own)),
            (Self::Number(own), Json::String(text)) => Exact::parse(text).map(|read| read.cmp(own)),
            (Self::Moment(own), Json::String(text)) => {
                Moment::of_answer(text)?.compare(own, around)
            }
            _ => None,
        }
    }
}

/// The value itself, or the only element of a list.
fn single(value: &Json) -> Option<&Json> {
    match value {
        Json::Array(items) => match items.as_slice() {
            [only] => Some(only),
            _ => None,
        },
        _ => Some(value),
    }
}

/// The elements of a list, or the value as the only one.
pub(super) fn elements(value: &Json) -> &[Json] {
    match value {
        Json::Array(items) => items,
        _ => std::slice::from_ref(value),
    }
}

/// The elements of the value of `in`: a text is taken apart at its commas.
pub(super) fn list(value: &Json) -> Vec<Json> {
    let parts = match value {
        Json::String(text) => text.split(',').map(|part| part.trim().into()).collect(),
        Json::Object(_) => Vec::new(),
        _ => elements(value).to_vec(),
    };
    parts.into_iter().filter(|part: &Json| !is_blank(part)).collect()
}

impl Operand {
    pub(super) fn read(operator: Operator, value: &Json, ci: bool) -> Self {
        match operator {
            Operator::Equals | Operator::NotEquals if is_blank(value) => Self::Blank,
            Operator::Equals | Operator::NotEquals => {
                Self::Same(ValueSet::of(elements(value), ci).into_owned(), value.is_array())
            }
            Operator::GreaterThan => order(std::cmp::Ordering::is_gt, value),
            Operator::LessThan => order(std::cmp::Ordering::is_lt, value),
            Operator::GreaterOrEqual => order(std::cmp::Ordering::is_ge, value),
            Operator::LessOrEqual => order(std::cmp::Ordering::is_le, value),
            Operator::Contains | Operator::NotContains => contain(value, ci),
            Operator::StartsWith => affixes(Side::Start, value, ci),
            Operator::EndsWith => affixes(Side::End, value, ci),
            Operator::RegexMatch => {
                let pattern = value.as_str().and_then(|text| Pattern::new(text, ci));
                pattern.map_or(Self::Never, |pattern| Self::Pattern(Arc::new(pattern)))
            }
            Operator::In | Operator::NotIn => {
                Self::Among(ValueSet::of(&list(value), ci).into_owned())
            }
            Operator::IsEmpty | Operator::IsNotEmpty => Self::Blank,
        }
    }

    /// Whether the answer fits.
    pub(super) fn fits(&self, answer: &Json, ci: bool, around: &Surroundings) -> bool {
        if is_blank(answer) {
            return matches!(self, Self::Blank);
        }
        let mut scalars = elements(answer).iter().map(|element| Scalar::of(element, ci));
        match self {
            Self::Blank | Self::Never => false,
            Self::Same(value, is_list) => is_same(answer, value, *is_list, ci),
            Self::Order(fits, own) => own.compare(answer, around).is_some_and(fits),
            Self::Contain { texts, elements: sought } => match answer {
                Json::Array(items) => holds_all(items, sought, ci),
                _ => match (texts, Scalar::of(answer, ci).text()) {
                    (Some(texts), Some(text)) => texts.are_in(&text),
                    _ => false,
                },
            },
            Self::Affixes(affixes) => {
                scalars.any(|one| one.text().is_some_and(|text| affixes.fit(&text)))
            }
            Self::Pattern(pattern) => elements(answer).iter().any(|element| match element {
                Json::String(text) => pattern.occurs(text),
                Json::Number(number) => pattern.occurs(&Exact::of(number).to_string()),
                _ => false,
            }),
            Self::Among(list) => scalars.any(|one| list.holds(&one)),
        }
    }
}

fn order(fits: fn(std::cmp::Ordering) -> bool, value: &Json) -> Operand {
    Ordered::of_value(value).map_or(Operand::Never, |own| Operand::Order(fits, own))
}

/// A blank text occurs nowhere.
fn contain(value: &Json, ci: bool) -> Operand {
    let sought = elements(value);
    if sought.is_empty() || sought.iter().any(is_blank) {
        return Operand::Never;
    }
    let elements = ValueSet::of(sought, ci).into_owned();
    let texts = elements.all().iter().map(|one| one.text().map(|text| text.into_owned()));
    let texts: Option<Vec<_>> = texts.collect();
    Operand::Contain { texts: texts.and_then(Needles::new), elements }
}

/// A blank text is no beginning and no end.
fn affixes(side: Side, value: &Json, ci: bool) -> Operand {
    let texts = elements(value).iter().filter(|one| !is_blank(one));
    let texts = texts.filter_map(|one| Scalar::of(one, ci).text().map(|text| text.into_owned()));
    Operand::Affixes(Affixes::new(side, &texts.collect::<Vec<_>>()))
}

/// Two lists are the same with the same elements, in any order. A list with one element is the same
/// as that element.
fn is_same(answer: &Json, value: &ValueSet<'_>, is_list: bool, ci: bool) -> bool {
    match (elements(answer), value.all()) {
        ([own], [value]) => Scalar::of(own, ci).is_same(value),
        (own, values) if is_list && answer.is_array() => {
            let own = ValueSet::of(own, ci);
            own.all().iter().all(|one| value.holds(one)) && values.iter().all(|one| own.holds(one))
        }
        _ => false,
    }
}

/// Whether every sought value is an element.
fn holds_all(items: &[Json], sought: &ValueSet<'_>, ci: bool) -> bool {
    match sought.all() {
        [only] => items.iter().any(|item| Scalar::of(item, ci).is_same(only)),
        all => {
            let own = ValueSet::of(items, ci);
            all.iter().all(|one| own.holds(one))
        }
    }
}
