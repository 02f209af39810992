//! Computed fields: what they count on must be asked for or be computable itself.

use super::Findings;
use crate::funnels::{
    graph::{Graph, Node},
    problem::Problem,
};

/// Computed fields of a funnel at most: each answered step computes them again.
const MOST: usize = 100;

pub(super) fn check(graph: &Graph, found: &mut Findings) {
    let computed = |node: &Node| node.fields().filter(|f| f.computed_from().is_some()).count();
    let count: usize = graph.nodes().iter().map(computed).sum();
    if count > MOST {
        let message = format!("at most {MOST} computed fields are expected, not {count}");
        return found.errors.push(Problem::new("too_large", "nodes", message));
    }
    for node in graph.nodes() {
        for field in node.fields() {
            let Some(names) = field.computed_from() else { continue };
            let path = format!("{}.expression", node.path_of(field));
            let mut wrong = |message: String| {
                let problem = Problem::new("bad_config", path.clone(), message);
                found.errors.push(problem.of(node.id));
            };
            for name in names.into_iter().filter(|name| graph.field(name).is_none()) {
                wrong(format!("no step asks for {name:?}"));
            }
            if graph.circular().iter().any(|id| id == field.id()) {
                wrong(format!("{:?} counts on itself, or on a field that does", field.id()));
            }
        }
    }
}
