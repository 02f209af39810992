//! Checks fields: fields that are asked twice, addresses in settings, and the sources of
//! computed fields.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::Findings;
use crate::{
    events,
    fields::{Field, broken_links},
    funnels::{
        graph::{Graph, Node},
        problem::Problem,
    },
};

/// Refuses fields that are asked twice, where one answer would overwrite another, and invalid
/// addresses in settings.
pub(super) fn check(graph: &Graph, found: &mut Findings) {
    let mut asked: BTreeMap<&str, Vec<(usize, &Node, &Field)>> = BTreeMap::new();
    for (place, node) in graph.nodes().iter().enumerate() {
        for field in node.fields() {
            asked.entry(field.id()).or_default().push((place, node, field));
        }
    }
    let beyond = graph.beyond();
    for (id, steps) in asked {
        for (index, (place, node, field)) in steps.iter().enumerate() {
            let clash = steps[..index].iter().find_map(|(before, first, earlier)| {
                let follows = beyond[*before].has(*place) || beyond[*place].has(*before);
                let differs = earlier.type_name() != field.type_name();
                (follows || differs).then(|| match follows {
                    true => format!("{} asks for {id:?} on the same way", first.title()),
                    false => format!("{} asks for {id:?} with another type", first.title()),
                })
            });
            if let Some(message) = clash {
                let path = node.path_of(field);
                found.errors.push(Problem::new("duplicate_field", path, message).of(node.id));
            }
        }
        let (_, node, field) = steps[0];
        if id.starts_with('_') {
            let message = "ids that begin with _ are the service's own";
            let path = format!("{}.id", node.path_of(field));
            found.errors.push(Problem::new("bad_id", path, message).of(node.id));
        }
        if events::is_removed(id) {
            let message = format!(
                "receivers of webhooks that read answers by their ids lose {id:?}: the payload \
                 filter removes such names"
            );
            let path = format!("{}.id", node.path_of(field));
            let problem = Problem::new("field_id_stripped_by_webhook_filter", path, message);
            found.warnings.push(problem.of(node.id));
        }
    }
    for node in graph.nodes().iter().filter(|node| node.step().is_some()) {
        for fault in broken_links(node.config.get("fields").unwrap_or(&Json::Null)) {
            let path = format!("{}.config_json.fields{}", node.path(), fault.field);
            found.errors.push(Problem::new(fault.code, path, fault.message).of(node.id));
        }
    }
}

/// Maximum number of computed fields of a funnel: each answered step computes them again.
const MOST: usize = 100;

/// Checks computed fields: each source must be a field that is asked for, or one that can be
/// computed itself.
pub(super) fn computed(graph: &Graph, found: &mut Findings) {
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
