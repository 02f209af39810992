//! Conditions of nodes and mail rules, judged one by one.

use serde_json::Value as Json;

use super::Findings;
use crate::{
    conditions::{self, Severity},
    funnels::{
        graph::{Branch, Graph},
        problem::Problem,
        rules::Rule,
    },
};

pub(super) fn check(graph: &Graph, rules: &[Rule], found: &mut Findings) {
    for node in graph.nodes() {
        let condition = node.condition();
        let at = format!("{}.config_json.rules", node.path());
        judge(&condition, &at, Some(node.id), found);
        let checked = conditions::check(&condition);
        let is_empty = checked.is_good() && checked.stored.is_null();
        if is_empty && graph.edge(node.id, Branch::False).is_some() {
            let message = format!("the condition of {} is empty, so it always holds", node.title());
            found.warnings.push(Problem::new("constant_condition", at, message).of(node.id));
        }
    }
    for (at, rule) in rules.iter().enumerate() {
        let path = format!("email_routings[{at}].condition_json");
        judge(rule.condition.as_ref().unwrap_or(&Json::Null), &path, None, found);
    }
}

fn judge(condition: &Json, at: &str, node: Option<i64>, found: &mut Findings) {
    let checked = conditions::check(condition);
    if !checked.is_good() {
        let message = "the condition cannot be stored as it is";
        let problem = Problem::new("bad_condition", at, message);
        found.errors.push(Problem { node, ..problem });
    }
    for fault in checked.problems {
        let code = fault.named();
        let path = match fault.path.as_str() {
            "" => at.to_owned(),
            inner => format!("{at}.{inner}"),
        };
        let problem = Problem { node, ..Problem::new(code, path, fault.message) };
        match fault.severity {
            Severity::Error => found.errors.push(problem),
            Severity::Warning => found.warnings.push(problem),
        }
    }
}
