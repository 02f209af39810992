//! Which mail rule writes. Pure.

use serde_json::{Map, Value as Json};

use crate::{
    conditions::{Condition, Surroundings, Traced},
    funnels::rules::{Rule, Trigger},
};

/// A rule that was considered.
pub(in crate::funnels) struct Considered<'a> {
    pub(in crate::funnels) rule: &'a Rule,
    pub(in crate::funnels) matches: bool,
    pub(in crate::funnels) trace: Vec<Traced>,
}

/// The first active rule for this event whose condition holds; a rule without one always matches.
pub(in crate::funnels) fn choose<'a>(
    rules: &'a [Rule],
    trigger: Trigger,
    answers: &Map<String, Json>,
    around: &Surroundings,
) -> Option<&'a Rule> {
    candidates(rules, trigger).find(|rule| read(rule).evaluate(answers, around))
}

/// Every active rule for this event, with what its condition says.
pub(in crate::funnels) fn consider<'a>(
    rules: &'a [Rule],
    trigger: Trigger,
    answers: &Map<String, Json>,
    around: &Surroundings,
) -> Vec<Considered<'a>> {
    let one = |rule: &'a Rule| {
        let (matches, trace) = read(rule).trace(answers, around);
        Considered { rule, matches, trace }
    };
    candidates(rules, trigger).map(one).collect()
}

fn candidates(rules: &[Rule], trigger: Trigger) -> impl Iterator<Item = &Rule> {
    rules.iter().filter(move |rule| rule.is_active && rule.trigger == trigger)
}

fn read(rule: &Rule) -> Condition {
    Condition::read(rule.condition.as_ref().unwrap_or(&Json::Null))
}
