//! A condition: read once, evaluated often.

use serde_json::{Map, Value as Json};

use super::{
    Surroundings, Traced,
    group::{Left, Part},
    pattern, trace,
};

/// Levels of groups that are read: JSON that was parsed has fewer.
const LEVELS: usize = 128;
/// Rules and groups that are read: ten times as many as can be saved.
const RULES: usize = 1000;

/// A condition, ready to be evaluated often.
#[derive(Clone, Debug)]
pub struct Condition(Part);

impl Condition {
    /// Reads whatever it is given: `{"operator": "AND" | "OR", "rules": [{"field", "op", "value"?,
    /// "ci"?}], "groups": [..]}`. Null and what has no rules and no groups always holds. A part
    /// that cannot be read never does; [`check`](super::check) tells what is wrong with it.
    #[must_use]
    pub fn read(declared: &Json) -> Self {
        let mut left = Left { members: RULES, patterns: pattern::MOST, unknown: None };
        let part = Part::read(declared, LEVELS, &mut left);
        if let Some(operator) = left.unknown {
            tracing::warn!(?operator, "a condition has an unknown operator");
        }
        // What is not read to its end may say anything.
        Self(if left.members == 0 { Part::Unreadable } else { part })
    }

    /// Whether the condition holds for these answers. Its time grows with answers and rules.
    #[must_use]
    pub fn evaluate(&self, answers: &Map<String, Json>, around: &Surroundings) -> bool {
        self.0.holds(answers, around)
    }

    /// As [`Condition::evaluate`], with what each rule and group said.
    #[must_use]
    pub fn trace(&self, answers: &Map<String, Json>, around: &Surroundings) -> (bool, Vec<Traced>) {
        trace::of(&self.0, answers, around)
    }

    /// The names that its rules read, each once, in their order.
    #[must_use]
    pub fn fields(&self) -> Vec<&str> {
        let mut names = Vec::new();
        self.0.fields(&mut names);
        names
    }
}
