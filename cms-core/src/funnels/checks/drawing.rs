//! Checks the drawing itself: faults that keep a funnel from being stored, faults that would
//! strand visitors, and ways that lead nowhere.

use std::collections::HashMap;

use super::Findings;
use crate::{
    fields::OTHER,
    funnels::{
        graph::{Branch, EndKind, Graph},
        problem::Problem,
    },
};

/// Maximum number of cycles that are reported.
const CYCLES: usize = 20;

/// Faults that keep a funnel from being stored: an invalid start, edges that leave an end, cycles.
pub(super) fn structure(graph: &Graph, found: &mut Findings) {
    let errors = &mut found.errors;
    let start = "funnel.start_node_id";
    // Nodes that could not be read are reported already.
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

/// Faults that would strand visitors.
pub(super) fn publish(graph: &Graph, found: &mut Findings) {
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
        // Where allow_other is set, the ids of options end with its own.
        let is_twice = |ids: Vec<&str>| ids.iter().filter(|id| **id == OTHER).count() > 1;
        for field in node.fields().filter(|field| field.options(None).is_some_and(is_twice)) {
            let message = format!(
                "{OTHER:?} is the id of answers of one's own, which {:?} allows: give the option \
                 another id",
                field.id()
            );
            let path = format!("{}.options", node.path_of(field));
            blockers.push(Problem::new("bad_config", path, message).of(node.id));
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

/// Warns of nodes that no visit reaches, of ways and ends that lead nowhere, and of edges that
/// are never taken.
pub(super) fn ways(graph: &Graph, found: &mut Findings) {
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
        let end = node.end().filter(|end| end.kind == EndKind::Redirect);
        if end.is_some_and(|end| end.redirect_url.is_none()) {
            let message =
                format!("{} is a redirect to nowhere: name the page in redirect_url", node.title());
            let path = format!("{}.config_json.redirect_url", node.path());
            warnings.push(Problem::new("redirect_without_url", path, message).of(node.id));
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
