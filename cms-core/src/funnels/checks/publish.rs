//! What visitors would be stranded by.

use super::Findings;
use crate::funnels::{
    graph::{Branch, Graph},
    problem::Problem,
};

pub(super) fn check(graph: &Graph, found: &mut Findings) {
    let blockers = &mut found.blockers;
    if !graph.nodes().iter().any(|node| node.step().is_some()) {
        blockers.push(Problem::new("no_step", "nodes", "at least one step is expected"));
    }
    if !graph.nodes().iter().any(|node| node.end().is_some()) {
        blockers.push(Problem::new("no_end", "nodes", "at least one end is expected"));
    }
    if graph.start_id().is_none() {
        let message = "the step that a visit begins with is expected";
        blockers.push(Problem::new("no_start", "funnel.start_node_id", message));
    }
    for node in graph.nodes() {
        for field in node.fields().filter(|field| field.type_name() == "payment") {
            let message = format!("funnels take no payments yet: leave {:?} out", field.id());
            let path = node.path_of(field);
            blockers.push(Problem::new("unknown_field_type", path, message).of(node.id));
        }
        for field in node.fields() {
            let Some(lacks) = field.unanswerable() else { continue };
            let message = format!("nobody can answer {:?}, which is required: {lacks}", field.id());
            let path = node.path_of(field);
            blockers.push(Problem::new("bad_config", path, message).of(node.id));
        }
    }
    for node in graph.nodes().iter().filter(|node| node.kind.is_condition()) {
        let has = |branch| graph.edge(node.id, branch).is_some();
        let leads_on = has(Branch::Default) || (has(Branch::True) && has(Branch::False));
        if !leads_on {
            let message = format!(
                "{} needs an edge for true and one for false, or one by default",
                node.title()
            );
            blockers.push(Problem::new("missing_branch", node.path(), message).of(node.id));
        }
    }
}
