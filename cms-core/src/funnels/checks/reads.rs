//! What conditions read, and whether that was asked before.

use std::collections::{BTreeSet, HashMap, HashSet};

use serde_json::Value as Json;

use super::Findings;
use crate::{
    conditions::AROUND,
    funnels::{
        graph::{Graph, is_asked},
        problem::Problem,
        rules::Rule,
    },
};

pub(super) fn check(graph: &Graph, rules: &[Rule], found: &mut Findings) {
    // By the id of a field: which nodes a visit may come to without having been asked for it.
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
        for name in fields_of(&node.condition()) {
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
        for name in rule.condition.iter().flat_map(fields_of) {
            if asked_for(graph, &name).is_none() {
                found.warnings.extend(unknown(&name, &path));
            }
        }
    }
}

/// Whether its value does not wait for a step: it came with the visitor, or is computed.
fn is_known(graph: &Graph, field: &str) -> bool {
    graph.field(field).is_some_and(|(_, field)| !is_asked(field))
}

/// Names that begin with `_` are the service's own.
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

/// The field that a name in a condition or a token leads to. Ids have no points.
pub(super) fn asked_for<'a>(graph: &Graph, name: &'a str) -> Option<&'a str> {
    let id = name.split_once('.').map_or(name, |(id, _)| id);
    graph.field(id).map(|_| id)
}

/// The names that a condition reads. Nothing of it is compiled for that.
fn fields_of(condition: &Json) -> BTreeSet<String> {
    let list = |group: &Json, name: &str| {
        group.get(name).and_then(Json::as_array).cloned().unwrap_or_default()
    };
    let (mut names, mut waiting) = (BTreeSet::new(), vec![condition.clone()]);
    while let Some(group) = waiting.pop() {
        let rules = list(&group, "rules");
        let read = rules.iter().filter_map(|rule| rule.get("field")?.as_str());
        names.extend(read.map(str::to_owned));
        waiting.extend(list(&group, "groups"));
    }
    names
}
