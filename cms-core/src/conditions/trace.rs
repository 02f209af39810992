//! Why a condition holds, or does not.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::{Surroundings, group::Part};

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

/// Evaluates every rule, even those that cannot change the result.
pub(super) fn of(
    part: &Part,
    answers: &Map<String, Json>,
    around: &Surroundings,
) -> (bool, Vec<Traced>) {
    let mut traced = Vec::new();
    let result = walk(part, "", answers, around, &mut traced);
    (result, traced)
}

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
