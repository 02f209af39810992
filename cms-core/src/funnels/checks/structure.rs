//! What no funnel may be stored with: a start that is none, edges out of ends, cycles.

use super::Findings;
use crate::funnels::{graph::Graph, problem::Problem};

/// Cycles that are told at most.
const CYCLES: usize = 20;

pub(super) fn check(graph: &Graph, found: &mut Findings) {
    let errors = &mut found.errors;
    let start = "funnel.start_node_id";
    // Nodes that could not be read were told of.
    let is_read = errors.iter().all(|problem| !problem.path.starts_with("nodes["));
    match (graph.start_id(), graph.start()) {
        (Some(_), None) if is_read => {
            let message = "the id of one of the funnel's nodes is expected";
            errors.push(Problem::new("start_missing", start, message));
        }
        (Some(id), Some(node)) if node.step().is_none() => {
            let message = format!("a step is expected, {} is none", node.title());
            errors.push(Problem::new("start_not_step", start, message).of(id));
        }
        _ => {}
    }
    for edge in graph.edges() {
        if let Some(node) = graph.node(edge.from).filter(|node| node.end().is_some()) {
            let message = format!("{} is an end: no edge leaves it", node.title());
            errors.push(Problem::new("edge_from_end", edge.path(), message).of(node.id));
        }
    }
    for cycle in graph.cycles(CYCLES) {
        let title = |id: &i64| graph.node(*id).map(|node| node.title()).unwrap_or_default();
        let names = cycle.iter().chain(cycle.first()).map(title).collect::<Vec<_>>().join(" → ");
        let ids = cycle.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
        let message = format!("a visit would never end: {names} (nodes {ids})");
        let problem = Problem::new("cycle", "edges", message);
        errors.push(match cycle.first() {
            Some(first) => problem.of(*first),
            None => problem,
        });
    }
}
