//! Whether a value is one of many, without comparing it with each.

use std::collections::HashSet;

use serde_json::Value as Json;

use super::{
    exact::Exact,
    scalar::{Scalar, truth_of},
};

/// Up to this many values are compared one by one.
const FEW: usize = 16;

/// Values to look for.
#[derive(Clone, Debug)]
pub(super) struct ValueSet<'a> {
    all: Vec<Scalar<'a>>,
    index: Option<HashSet<Key>>,
}

/// A form in which a listed value is looked up.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Key {
    Text(String),
    Number(Exact<'static>),
    /// A text that is a number.
    NumberText(Exact<'static>),
    Truth(bool),
    /// A word for yes or no.
    TruthText(bool),
    /// 1 or 0.
    TruthNumber(bool),
    Whole(String),
}

impl<'a> ValueSet<'a> {
    pub(super) fn of(values: impl IntoIterator<Item = &'a Json>, ci: bool) -> Self {
        Self::new(values.into_iter().map(|value| Scalar::of(value, ci)).collect())
    }

    pub(super) fn new(all: Vec<Scalar<'a>>) -> Self {
        let index = (all.len() > FEW).then(|| all.iter().flat_map(keys).collect());
        Self { all, index }
    }

    pub(super) fn into_owned(self) -> ValueSet<'static> {
        let all = self.all.into_iter().map(Scalar::into_owned).collect();
        ValueSet { all, index: self.index }
    }

    pub(super) fn all(&self) -> &[Scalar<'a>] {
        &self.all
    }

    pub(super) fn holds(&self, value: &Scalar<'_>) -> bool {
        match &self.index {
            Some(index) => lookup_keys(value).iter().any(|key| index.contains(key)),
            None => self.all.iter().any(|one| one.is_same(value)),
        }
    }
}

/// The keys under which a listed value is found.
fn keys(value: &Scalar<'_>) -> Vec<Key> {
    match value {
        Scalar::Text(text) => {
            let number = Exact::parse(text).map(|number| Key::NumberText(number.into_owned()));
            let truth = truth_of(text).map(Key::TruthText);
            [Key::Text(text.to_string())].into_iter().chain(number).chain(truth).collect()
        }
        Scalar::Number(number) => {
            let truth = number.truth().map(Key::TruthNumber);
            [Key::Number(number.clone().into_owned())].into_iter().chain(truth).collect()
        }
        Scalar::Truth(truth) => vec![Key::Truth(*truth)],
        Scalar::Whole(text) => vec![Key::Whole(text.clone())],
    }
}

/// The keys under which the same value may be listed.
fn lookup_keys(value: &Scalar<'_>) -> Vec<Key> {
    match value {
        Scalar::Text(text) => {
            let number = Exact::parse(text).map(|number| Key::Number(number.into_owned()));
            let truth = truth_of(text).map(Key::Truth);
            [Key::Text(text.to_string())].into_iter().chain(number).chain(truth).collect()
        }
        Scalar::Number(number) => {
            let own = number.clone().into_owned();
            let truth = number.truth().map(Key::Truth);
            [Key::Number(own.clone()), Key::NumberText(own)].into_iter().chain(truth).collect()
        }
        Scalar::Truth(truth) => {
            vec![Key::Truth(*truth), Key::TruthText(*truth), Key::TruthNumber(*truth)]
        }
        Scalar::Whole(text) => vec![Key::Whole(text.clone())],
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn many_are_looked_up_as_few_are_compared() {
        let values = [
            json!("a"),
            json!("A"),
            json!("1"),
            json!("1.0"),
            json!(1),
            json!(1.0),
            json!("0"),
            json!(0),
            json!("true"),
            json!(true),
            json!(false),
            json!("false"),
            json!("05"),
            json!(5),
            json!(null),
            json!({"a": [1, 2]}),
            json!({"a": [2, 1, 1]}),
            json!({"a": ["2", 1]}),
            json!([]),
            json!(""),
            json!(9_007_199_254_740_993_i64),
            json!("9007199254740993"),
        ];
        let filler: Vec<_> = (0..FEW).map(|at| json!(format!("filler {at}"))).collect();
        for one in &values {
            let few = ValueSet::of([one], false);
            let many = ValueSet::of(filler.iter().chain([one]), false);
            for other in &values {
                let other = Scalar::of(other, false);
                assert_eq!(few.holds(&other), many.holds(&other), "{one} {other:?}");
            }
        }
    }
}
