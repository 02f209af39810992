//! Nodes that no visit comes to, ways that end nowhere, edges that nobody takes.

use std::collections::HashMap;

use super::Findings;
use crate::funnels::{graph::Graph, problem::Problem};

pub(super) fn check(graph: &Graph, found: &mut Findings) {
    let warnings = &mut found.warnings;
    let starts: Vec<_> = graph.start_id().into_iter().collect();
    let reached = graph.reached(&starts, |_| false);
    for (place, node) in graph.nodes().iter().enumerate() {
        if !starts.is_empty() && !reached[place] {
            let message = format!("no way leads from the start to {}", node.title());
            warnings.push(Problem::new("unreachable_node", node.path(), message).of(node.id));
        }
        if node.step().is_some() && graph.out(node.id).next().is_none() {
            let message =
                format!("no edge leaves {}: the visit ends there without an end", node.title());
            warnings.push(Problem::new("dead_end_step", node.path(), message).of(node.id));
        }
    }
    if let Some(start) = graph.start() {
        let is_end = |place: usize| graph.nodes()[place].end().is_some();
        let comes_to_end = (0..reached.len()).any(|place| reached[place] && is_end(place));
        if !comes_to_end && (0..reached.len()).any(is_end) {
            let message = format!("no way leads from {} to an end", start.title());
            warnings.push(Problem::new("end_not_reachable", start.path(), message).of(start.id));
        }
    }
    let mut taken = HashMap::new();
    for edge in graph.edges() {
        if taken.insert((edge.from, edge.branch), edge.id).is_some() {
            let label = edge.branch.as_str();
            let message = format!(
                "an earlier edge of this node has the label {label}: nobody takes this one"
            );
            warnings.push(Problem::new("shadowed_edge", edge.path(), message).of(edge.from));
        }
    }
}
