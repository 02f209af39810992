//! What may be saved. The evaluator accepts everything; this check reports what is wrong.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::{
    MOST_STATES, Operator,
    operand::{Ordered, elements, list},
    pattern,
};
use crate::{FieldError, fields::is_blank};

/// Levels of groups at most.
const LEVELS: usize = 8;
const RULES: usize = 100;
/// Bytes of the name of a field at most.
const NAME: usize = 128;
/// Bytes of a condition at most.
const SIZE: usize = 32 << 10;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "ConditionProblemSeverity")]
#[non_exhaustive]
pub enum Severity {
    /// The condition cannot be saved.
    Error,
    /// The condition probably does not mean what its author intends.
    Warning,
}

/// A fault of a condition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ConditionProblem")]
#[non_exhaustive]
pub struct Problem {
    /// A stable code.
    pub code: String,
    /// Its place, such as `groups[0].rules[2].value`; empty for the whole.
    pub path: String,
    /// How to mend it.
    pub message: String,
    /// How bad it is.
    pub severity: Severity,
}

/// Every code.
const CODES: [&str; 17] = [
    "ci_shape", "condition_is_string", "condition_shape", "condition_too_large",
    "constant_condition", "field_required", "regex_invalid", "regex_too_large",
    "regex_unsupported", "rule_shape", "unknown_group_operator", "unknown_operator",
    "use_is_empty", "value_blank", "value_not_orderable", "value_required", "value_shape",
];

impl Problem {
    /// Its code, as a name that outlives the problem.
    pub(crate) fn named(&self) -> &'static str {
        CODES.into_iter().find(|code| *code == self.code).unwrap_or("bad_condition")
    }
}

impl From<&Problem> for FieldError {
    fn from(problem: &Problem) -> Self {
        // A fault of the whole condition has no path, but an error needs the name of a field.
        let field = if problem.path.is_empty() { "condition" } else { problem.path.as_str() };
        let (field, message) = (field.to_owned(), problem.message.clone());
        Self { field, code: problem.named(), message }
    }
}

/// A condition as it is stored, and what is wrong with it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CheckedConditions {
    /// Operators in upper case, lists of `in` as arrays, no values that nothing reads, no empty
    /// groups. Null for a condition that always holds.
    pub stored: Json,
    /// All faults, in their order.
    pub problems: Vec<Problem>,
    /// What searches for its patterns cost, in states.
    pub(crate) states: usize,
}

impl CheckedConditions {
    /// Whether it may be saved.
    #[must_use]
    pub fn is_good(&self) -> bool {
        self.problems.iter().all(|problem| problem.severity == Severity::Warning)
    }
}

/// Judges a condition as an author sent it.
///
/// ```
/// use cms_core::conditions::check;
/// use serde_json::json;
///
/// let rule = json!({"field": "country", "op": "in", "value": "DE, AT"});
/// let checked = check(&json!({"rules": [rule]}));
/// assert!(checked.is_good());
/// assert_eq!(checked.stored["rules"][0]["value"], json!(["DE", "AT"]));
/// let checked = check(&json!({"rules": [{"field": "a", "op": "contains", "value": ""}]}));
/// assert_eq!((&*checked.problems[0].code, &*checked.problems[0].path),
///     ("value_blank", "rules[0].value"));
/// ```
#[must_use]
pub fn check(declared: &Json) -> CheckedConditions {
    let mut judge = Judge { problems: Vec::new(), patterns: 0, states: 0 };
    let fits = |json: &Json| serde_json::to_string(json).is_ok_and(|text| text.len() <= SIZE);
    let is_small = levels(declared) <= LEVELS && rules(declared, LEVELS) <= RULES && fits(declared);
    let stored = is_small.then(|| judge.group(declared, "")).flatten();
    // A list written as one text grows when it is split.
    let is_large = !is_small || judge.patterns > pattern::MOST || !stored.iter().all(fits);
    if is_large {
        let (most, patterns) = (SIZE >> 10, pattern::MOST);
        let message = format!(
            "at most {LEVELS} levels, {RULES} rules, {patterns} patterns and {most} KiB are \
             expected"
        );
        judge.error("condition_too_large", "", message);
    } else if judge.states > MOST_STATES {
        let message = costly("searches for its patterns cost", judge.states);
        judge.error("condition_too_large", "", message);
    }
    let Judge { problems, states, .. } = judge;
    CheckedConditions { stored: stored.unwrap_or_default(), problems, states }
}

/// The message for a search that costs too much, and how to mend it.
pub(crate) fn costly(what: &str, states: usize) -> String {
    format!(
        "{what} {states} states, at most {MOST_STATES} are expected: begin with ^, write smaller \
         numbers in {{m,n}} and fewer *, + and ?, or use in, contains, starts_with or ends_with"
    )
}

fn groups(declared: &Json) -> &[Json] {
    declared.get("groups").and_then(Json::as_array).map_or(&[], Vec::as_slice)
}

/// Nesting depth of groups; counting stops just beyond the limit.
fn levels(declared: &Json) -> usize {
    fn from(declared: &Json, left: usize) -> usize {
        let deeper = groups(declared).iter().map(|nested| match left {
            0 => 0,
            left => from(nested, left - 1),
        });
        1 + deeper.max().unwrap_or(0)
    }
    from(declared, LEVELS)
}

fn rules(declared: &Json, left: usize) -> usize {
    let own = declared.get("rules").and_then(Json::as_array).map_or(0, Vec::len);
    let nested = groups(declared).iter().filter(|_| left > 0).map(|group| rules(group, left - 1));
    own + nested.sum::<usize>()
}

struct Judge {
    problems: Vec<Problem>,
    patterns: usize,
    states: usize,
}

impl Judge {
    fn report(&mut self, severity: Severity, code: &str, path: &str, message: String) {
        debug_assert!(CODES.contains(&code), "{code}");
        let (code, path) = (code.to_owned(), path.to_owned());
        self.problems.push(Problem { code, path, message, severity });
    }

    fn error(&mut self, code: &str, path: &str, message: impl Into<String>) {
        self.report(Severity::Error, code, path, message.into());
    }

    fn warn(&mut self, code: &str, path: &str, message: impl Into<String>) {
        self.report(Severity::Warning, code, path, message.into());
    }

    /// The group as it is stored; None for an empty one.
    fn group(&mut self, declared: &Json, at: &str) -> Option<Json> {
        let members = match declared {
            Json::Null => return None,
            Json::Array(items) if items.is_empty() => return None,
            Json::Object(members) => members,
            Json::String(_) => {
                self.error(
                    "condition_is_string",
                    at,
                    "the object itself is expected, not its text",
                );
                return None;
            }
            _ => {
                self.error("condition_shape", at, "an object with rules and groups is expected");
                return None;
            }
        };
        let operator = match members.get("operator") {
            None | Some(Json::Null) => "AND".to_owned(),
            Some(Json::String(name)) if is_joint(name) => name.to_ascii_uppercase(),
            Some(_) => {
                let path = place(at, "operator");
                self.error("unknown_group_operator", &path, "AND or OR is expected");
                return None;
            }
        };
        let rules = self.list(members, "rules", at);
        let rules = rules
            .iter()
            .enumerate()
            .filter_map(|(index, rule)| self.rule(rule, &place(at, &format!("rules[{index}]"))));
        let rules: Vec<_> = rules.collect();
        if operator == "OR" {
            self.warn_if_constant(&rules, at);
        }
        let groups = self.list(members, "groups", at);
        let groups = groups.iter().enumerate().filter_map(|(index, group)| {
            self.group(group, &place(at, &format!("groups[{index}]")))
        });
        let groups: Vec<_> = groups.collect();
        if rules.is_empty() && groups.is_empty() {
            return None;
        }
        let mut stored = Map::from_iter([
            ("operator".to_owned(), operator.into()),
            ("rules".to_owned(), rules.into()),
        ]);
        if !groups.is_empty() {
            stored.insert("groups".to_owned(), groups.into());
        }
        Some(stored.into())
    }

    fn list<'a>(&mut self, members: &'a Map<String, Json>, name: &str, at: &str) -> &'a [Json] {
        match members.get(name) {
            None | Some(Json::Null) => &[],
            Some(Json::Array(items)) => items,
            Some(_) => {
                self.error("condition_shape", &place(at, name), "a list is expected");
                &[]
            }
        }
    }

    /// Reports two `not_equals` rules of one field joined by OR: an answer always differs from
    /// one of the two values.
    fn warn_if_constant(&mut self, rules: &[Json], at: &str) {
        let of = |rule: &Json| (rule["field"].clone(), rule["value"].clone());
        let differs = |rule: &&Json| rule["op"] == "not_equals";
        let all: Vec<_> = rules.iter().filter(differs).map(of).collect();
        let is_constant = all.iter().enumerate().any(|(index, (field, value))| {
            all[..index].iter().any(|(other, seen)| other == field && seen != value)
        });
        if is_constant {
            let message = "it always holds: an answer differs from one of two values; did you mean \
                           AND, or not_in?";
            self.warn("constant_condition", at, message);
        }
    }

    /// The rule as it is stored.
    fn rule(&mut self, declared: &Json, at: &str) -> Option<Json> {
        let Some(members) = declared.as_object() else {
            self.error("rule_shape", at, "an object with field, op and value is expected");
            return None;
        };
        let field = members.get("field").and_then(Json::as_str).unwrap_or_default();
        if field.is_empty() || field.len() > NAME {
            let message = format!("the id of a field of up to {NAME} bytes is expected");
            self.error("field_required", &place(at, "field"), message);
        }
        if members.get("ci").is_some_and(|ci| !ci.is_boolean()) {
            self.error("ci_shape", &place(at, "ci"), "true or false is expected");
        }
        let mut stored = members.clone();
        let name = members.get("op").and_then(Json::as_str).unwrap_or_default();
        match Operator::find(name) {
            None => {
                let names: Vec<_> = Operator::ALL.iter().map(|operator| operator.name()).collect();
                let message = format!("one of {} is expected", names.join(", "));
                self.error("unknown_operator", &place(at, "op"), message);
            }
            Some(Operator::IsEmpty | Operator::IsNotEmpty) => drop(stored.remove("value")),
            Some(operator) => {
                self.value(operator, members, &place(at, "value"));
                if matches!(operator, Operator::In | Operator::NotIn)
                    && let Some(value) = stored.get_mut("value").filter(|value| !value.is_array())
                {
                    *value = list(value).into();
                }
            }
        }
        Some(stored.into())
    }

    fn value(&mut self, operator: Operator, members: &Map<String, Json>, at: &str) {
        let Some(value) = members.get("value") else {
            return self.error("value_required", at, "a value is expected");
        };
        let is_scalar = |value: &Json| !value.is_array() && !value.is_object();
        let is_flat =
            is_scalar(value) || (value.is_array() && elements(value).iter().all(is_scalar));
        match operator {
            Operator::Equals | Operator::NotEquals if is_blank(value) => {
                self.warn("use_is_empty", at, "is_empty and is_not_empty ask for a blank answer");
            }
            Operator::Equals | Operator::NotEquals => {}
            Operator::GreaterThan
            | Operator::LessThan
            | Operator::GreaterOrEqual
            | Operator::LessOrEqual => {
                if !is_scalar(value) {
                    self.error("value_shape", at, "one value is expected");
                } else if Ordered::of_value(value).is_none() {
                    let message = "a number, a date, a time or @today is expected: nothing else \
                                   has an order";
                    self.warn("value_not_orderable", at, message);
                }
            }
            Operator::RegexMatch => self.pattern(members, value, at),
            _ if !is_flat => self.error("value_shape", at, "a value or a list of them is expected"),
            Operator::In | Operator::NotIn if list(value).is_empty() => {
                self.error("value_blank", at, "at least one value is expected");
            }
            Operator::In | Operator::NotIn => {}
            _ if is_blank(value) || elements(value).iter().any(is_blank) => {
                self.error("value_blank", at, "a text that is not blank is expected");
            }
            _ => {}
        }
    }

    /// Patterns beyond the limits are not compiled.
    fn pattern(&mut self, members: &Map<String, Json>, value: &Json, at: &str) {
        let ci = members.get("ci").and_then(Json::as_bool).unwrap_or(false);
        match value.as_str() {
            None if is_blank(value) => self.error("value_blank", at, "a pattern is expected"),
            None => self.error("value_shape", at, "a text with a pattern is expected"),
            Some(text) if is_blank(&text.into()) => {
                self.error("value_blank", at, "a pattern is expected");
            }
            Some(text) => {
                self.patterns += 1;
                if self.patterns > pattern::MOST || self.states > MOST_STATES {
                    return;
                }
                match pattern::states(text, ci) {
                    Some(states) if states > MOST_STATES => {
                        self.error("regex_too_large", at, costly("a search for it costs", states));
                    }
                    states => {
                        self.states += states.unwrap_or_default();
                        if let Err(bad) = pattern::compile(text, ci) {
                            self.error(bad.code, at, bad.message);
                        }
                    }
                }
            }
        }
    }
}

fn is_joint(name: &str) -> bool {
    name.eq_ignore_ascii_case("and") || name.eq_ignore_ascii_case("or")
}

fn place(at: &str, name: &str) -> String {
    if at.is_empty() { name.to_owned() } else { format!("{at}.{name}") }
}
