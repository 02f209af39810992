//! Conditions of nodes and mail rules: their JSON, and what they read.

use std::collections::{BTreeSet, HashMap, HashSet};

use serde_json::Value as Json;

use super::Findings;
use crate::{
    conditions::{self, AROUND, CheckedConditions, MOST_STATES, Severity, costly},
    funnels::{
        graph::{Branch, Graph, Node, is_asked},
        record::Problem,
        rules::Rule,
    },
    ground::nearest,
};

/// Checks each condition, and the cost of all patterns together.
pub(super) fn check(graph: &Graph, rules: &[Rule], found: &mut Findings) {
    let mut states = 0;
    for node in graph.nodes() {
        let condition = node.condition();
        let at = format!("{}.config_json.rules", node.path());
        let checked = judge(&condition, &at, Some(node.id), found);
        states += allowed(&checked);
        let is_empty = checked.is_good() && checked.stored.is_null();
        if is_empty && graph.edge(node.id, Branch::False).is_some() {
            let message = format!("the condition of {} is empty, so it always holds", node.title());
            found.warnings.push(Problem::new("constant_condition", at, message).of(node.id));
        }
    }
    costs("nodes", states, found);
    states = 0;
    for (at, rule) in rules.iter().enumerate() {
        let path = format!("email_routings[{at}].condition_json");
        let condition = rule.condition.as_ref().unwrap_or(&Json::Null);
        states += allowed(&judge(condition, &path, None, found));
    }
    costs("email_routings", states, found);
}

/// The states of a condition's patterns; 0 for a refused condition, which is not refused for its
/// cost as well.
fn allowed(checked: &CheckedConditions) -> usize {
    if checked.is_good() { checked.states } else { 0 }
}

/// Refuses conditions of one call whose patterns cost too much together.
fn costs(path: &str, states: usize, found: &mut Findings) {
    if states > MOST_STATES {
        let message = costly("searches for the patterns of all conditions cost", states);
        found.errors.push(Problem::new("too_large", path, message));
    }
}

fn judge(condition: &Json, at: &str, node: Option<i64>, found: &mut Findings) -> CheckedConditions {
    let checked = conditions::check(condition);
    if !checked.is_good() {
        let message = "the condition cannot be stored as it is";
        let problem = Problem::new("bad_condition", at, message);
        found.errors.push(Problem { node, ..problem });
    }
    for fault in &checked.problems {
        let code = fault.named();
        let path = match fault.path.as_str() {
            "" => at.to_owned(),
            inner => format!("{at}.{inner}"),
        };
        let problem = Problem { node, ..Problem::new(code, path, fault.message.clone()) };
        match fault.severity {
            Severity::Error => found.errors.push(problem),
            Severity::Warning => found.warnings.push(problem),
        }
    }
    checked
}

/// Warns of conditions that read unknown fields, or fields that may not have been asked before.
pub(super) fn reads(graph: &Graph, rules: &[Rule], found: &mut Findings) {
    // By the id of a field: which nodes a visit may reach without having been asked for the field.
    let mut unasked: HashMap<String, Vec<bool>> = HashMap::new();
    let starts: Vec<_> = graph.start_id().into_iter().collect();
    let mut asking: HashMap<&str, HashSet<i64>> = HashMap::new();
    for node in graph.nodes() {
        for field in node.fields() {
            asking.entry(field.id()).or_default().insert(node.id);
        }
    }
    for (place, node) in graph.nodes().iter().enumerate() {
        let path = format!("{}.config_json.rules", node.path());
        let condition = node.condition();
        let strange = unknown_options(graph, &condition, &path);
        found.warnings.extend(strange.into_iter().map(|problem| problem.of(node.id)));
        for name in fields_of(&condition) {
            let Some(field) = asked_for(graph, &name) else {
                found.warnings.extend(unknown(&name, &path).map(|problem| problem.of(node.id)));
                continue;
            };
            if is_known(graph, field) {
                continue;
            }
            let asks = |id: i64| asking.get(field).is_some_and(|steps| steps.contains(&id));
            let without =
                unasked.entry(field.to_owned()).or_insert_with(|| graph.reached(&starts, asks));
            if without[place] && !asks(node.id) {
                let message = format!(
                    "{} may be reached before {field:?} was asked for: it then counts as blank",
                    node.title()
                );
                let problem = Problem::new("reads_unanswered_field", path.clone(), message);
                found.warnings.push(problem.of(node.id));
            }
        }
    }
    for (at, rule) in rules.iter().enumerate() {
        let path = format!("email_routings[{at}].condition_json");
        if let Some(condition) = &rule.condition {
            found.warnings.extend(unknown_options(graph, condition, &path));
        }
        for name in rule.condition.iter().flat_map(fields_of) {
            if asked_for(graph, &name).is_none() {
                found.warnings.extend(unknown(&name, &path));
            }
        }
    }
}

/// Whether the field has a value without a step: hidden fields come with the visitor, others
/// are computed.
fn is_known(graph: &Graph, field: &str) -> bool {
    graph.field(field).is_some_and(|(_, field)| !is_asked(field))
}

/// The problem of a name that no step asks for. Names that begin with `_` are the service's own.
fn unknown(name: &str, path: &str) -> Option<Problem> {
    if AROUND.contains(&name) {
        return None;
    }
    let message = match name.starts_with('_') {
        true => format!("{name:?} is always blank: {} are known", AROUND.join(", ")),
        false => format!("no step asks for {name:?}: it always counts as blank"),
    };
    Some(Problem::new("unknown_field", path, message))
}

/// The id of the field that a name in a condition or a token refers to. Ids have no dots.
pub(super) fn asked_for<'a>(graph: &Graph, name: &'a str) -> Option<&'a str> {
    let id = name.split_once('.').map_or(name, |(id, _)| id);
    graph.field(id).map(|_| id)
}

/// The rules of a condition and of its groups, without compiling the condition.
fn rules_of(condition: &Json) -> Vec<&Json> {
    fn list<'a>(group: &'a Json, name: &str) -> &'a [Json] {
        group.get(name).and_then(Json::as_array).map(Vec::as_slice).unwrap_or_default()
    }
    let (mut rules, mut waiting) = (Vec::new(), vec![condition]);
    while let Some(group) = waiting.pop() {
        rules.extend(list(group, "rules"));
        waiting.extend(list(group, "groups"));
    }
    rules
}

/// The names that a condition reads.
fn fields_of(condition: &Json) -> BTreeSet<String> {
    let names = rules_of(condition).into_iter().filter_map(|rule| rule.get("field")?.as_str());
    names.map(str::to_owned).collect()
}

/// Warns of values that no answer to a choice can equal.
fn unknown_options(graph: &Graph, condition: &Json, path: &str) -> Vec<Problem> {
    let mut found = Vec::new();
    for rule in rules_of(condition) {
        let Some(name) = rule.get("field").and_then(Json::as_str) else { continue };
        let Some(options) = options_of(graph, name) else { continue };
        let is_ci = rule.get("ci") == Some(&true.into());
        for value in compared(rule) {
            let says = |option: &&str| match is_ci {
                true => option.to_lowercase() == value.to_lowercase(),
                false => **option == *value,
            };
            if options.iter().any(says) {
                continue;
            }
            let meant = nearest(&value, options.iter().copied());
            let meant = meant.map(|meant| format!(": {meant:?} is one")).unwrap_or_default();
            let message = format!("{value:?} is not an option of {name:?}{meant}");
            found.push(Problem::new("unknown_option", path, message));
        }
    }
    found
}

/// The only texts that answers to a name in a condition may have; None: any text.
fn options_of<'a>(graph: &'a Graph, name: &str) -> Option<Vec<&'a str>> {
    let (id, row) = match name.split_once('.') {
        Some((id, row)) => (id, Some(row)),
        None => (name, None),
    };
    let fields = graph.nodes().iter().flat_map(Node::fields).filter(|field| field.id() == id);
    let mut options = Vec::new();
    let mut is_asked = false;
    for field in fields {
        is_asked = true;
        options.extend(field.options(row)?);
    }
    is_asked.then_some(options)
}

/// The values that a rule compares an answer with as a whole.
fn compared(rule: &Json) -> Vec<String> {
    let op = rule.get("op").and_then(Json::as_str).unwrap_or_default().to_ascii_lowercase();
    let is_list = matches!(op.as_str(), "in" | "not_in");
    if !is_list && !matches!(op.as_str(), "equals" | "not_equals") {
        return Vec::new();
    }
    let values = match rule.get("value") {
        Some(Json::Array(values)) => values.iter().collect(),
        Some(Json::String(text)) if is_list => {
            return text.split(',').map(|one| one.trim().to_owned()).collect();
        }
        Some(value) => vec![value],
        None => Vec::new(),
    };
    let text = |value: &Json| match value {
        Json::String(text) => Some(text.clone()),
        Json::Number(number) => Some(number.to_string()),
        _ => None,
    };
    values.into_iter().filter_map(text).filter(|text| !text.trim().is_empty()).collect()
}
