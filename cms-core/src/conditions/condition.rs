//! A condition: read once, evaluated often, and why it holds or does not.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::{
    Surroundings,
    group::{Budget, Part},
    pattern,
};

/// Levels of groups that are read: JSON that was parsed has fewer.
const LEVELS: usize = 128;
/// Rules and groups that are read: ten times as many as can be saved.
const RULES: usize = 1000;
/// Characters of a text, and elements of a list, that are shown.
const SHOWN: usize = 200;

/// What a rule or a group said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "ConditionTrace")]
pub enum Traced {
    /// A rule.
    Rule {
        /// Its place, such as `groups[0].rules[2]`.
        path: String,
        /// What it reads.
        field: String,
        /// Its operator.
        op: String,
        /// What the answer is compared with.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        value: Option<Json>,
        /// The answer that it found; null when there is none. Long ones are cut.
        answer: Json,
        /// Whether it holds.
        result: bool,
    },
    /// A nested group; what is in it follows.
    Group {
        /// Its place, such as `groups[0]`.
        path: String,
        /// `AND` or `OR`.
        operator: String,
        /// Whether it holds.
        result: bool,
    },
    /// What cannot be read.
    Unreadable {
        /// Its place; empty for the whole.
        path: String,
        /// Always false.
        result: bool,
    },
}

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
        let mut traced = Vec::new();
        let result = walk(&self.0, "", answers, around, &mut traced);
        (result, traced)
    }

    /// The names that its rules read, each once, in order.
    #[must_use]
    pub fn fields(&self) -> Vec<&str> {
        let mut names = Vec::new();
        self.0.fields(&mut names);
        names
    }
}

/// Evaluates every rule, even those that cannot change the result.
fn walk(
    part: &Part,
    at: &str,
    answers: &Map<String, Json>,
    around: &Surroundings,
    traced: &mut Vec<Traced>,
) -> bool {
    let Part::Group(group) = part else {
        traced.push(Traced::Unreadable { path: at.to_owned(), result: false });
        return false;
    };
    let under = |name: &str, index: usize| {
        let point = if at.is_empty() { "" } else { "." };
        format!("{at}{point}{name}[{index}]")
    };
    let own = traced.len();
    let mut said = Vec::new();
    for (index, rule) in group.rules.iter().enumerate() {
        let path = under("rules", index);
        let Some(rule) = rule else {
            traced.push(Traced::Unreadable { path, result: false });
            said.push(false);
            continue;
        };
        let answer = rule.answer(answers, around);
        let result = rule.holds(&answer, around);
        said.push(result);
        let (field, op) = (rule.field.clone(), rule.name.clone());
        let (value, answer) = (rule.value.as_ref().map(shown), shown(&answer));
        traced.push(Traced::Rule { path, field, op, value, answer, result });
    }
    for (index, nested) in group.groups.iter().enumerate() {
        said.push(walk(nested, &under("groups", index), answers, around, traced));
    }
    let result = group.joins(said.into_iter());
    if !at.is_empty() {
        let operator = if group.is_any { "OR" } else { "AND" }.to_owned();
        traced.insert(own, Traced::Group { path: at.to_owned(), operator, result });
    }
    result
}

/// A value that is not too long to be shown.
fn shown(value: &Json) -> Json {
    match value {
        Json::String(text) => match text.char_indices().nth(SHOWN) {
            Some((end, _)) => format!("{}…", &text[..end]).into(),
            None => value.clone(),
        },
        Json::Array(items) => items.iter().take(SHOWN).map(short).collect(),
        Json::Object(_) => short(value),
        _ => value.clone(),
    }
}

/// A member that is not too long to be shown.
fn short(value: &Json) -> Json {
    match value {
        Json::String(_) => shown(value),
        Json::Array(_) | Json::Object(_) if value.to_string().len() > SHOWN => "…".into(),
        _ => value.clone(),
    }
}
