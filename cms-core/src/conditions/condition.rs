//! A condition: read once, evaluated often.

use serde_json::{Map, Value as Json};

use super::{
    Surroundings, Traced,
    group::{Budget, Part},
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
    /// Reads any JSON: `{"operator": "AND" | "OR", "rules": [{"field", "op", "value"?, "ci"?}],
    /// "groups": [..]}`. Null always holds, and so does a condition without rules and groups. A
    /// part that cannot be read never holds; [`check`](super::check) reports its faults.
    #[must_use]
    pub fn read(declared: &Json) -> Self {
        let mut budget = Budget { members: RULES, patterns: pattern::MOST, unknown: None };
        let part = Part::read(declared, LEVELS, &mut budget);
        if let Some(operator) = budget.unknown {
            tracing::warn!(?operator, "a condition has an unknown operator");
        }
        // A condition that was not read to its end could mean anything.
        Self(if budget.members == 0 { Part::Unreadable } else { part })
    }

    /// Whether the condition holds for these answers. The time grows with answers and rules.
    #[must_use]
    pub fn evaluate(&self, answers: &Map<String, Json>, around: &Surroundings) -> bool {
        self.0.holds(answers, around)
    }

    /// As [`Condition::evaluate`], with the result of each rule and group.
    #[must_use]
    pub fn trace(&self, answers: &Map<String, Json>, around: &Surroundings) -> (bool, Vec<Traced>) {
        trace::of(&self.0, answers, around)
    }

    /// The names that its rules read, each once, in order.
    #[must_use]
    pub fn fields(&self) -> Vec<&str> {
        let mut names = Vec::new();
        self.0.fields(&mut names);
        names
    }
}
