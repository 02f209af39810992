//! How the parts of a funnel are shown

use cms_core::funnels::{EmailRouting, FunnelDetail, FunnelEdge, FunnelNode};
use serde_json::Value as Json;

/// Shows nodes, edges and mail rules, a line for each.
pub(super) fn cell(funnel: &FunnelDetail, column: &str) -> Option<String> {
    let lines: Vec<_> = match column {
        "nodes" => funnel.nodes.iter().map(node).collect(),
        "edges" => funnel.edges.iter().map(edge).collect(),
        "email_routings" => funnel.email_routings.iter().map(rule).collect(),
        _ => return None,
    };
    Some(lines.join("\n"))
}

/// A node in a line: `17 step "Who": mail (email)`.
pub(super) fn node(node: &FunnelNode) -> String {
    let about = about(node);
    let about = if about.is_empty() { about } else { format!(": {about}") };
    format!("{} {} {:?}{about}", node.id, node.kind, node.name)
}

/// What a step asks, what a condition reads, how an end ends.
pub(super) fn about(node: &FunnelNode) -> String {
    let config = &node.config_json;
    let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
    match node.kind.as_str() {
        "step" => {
            let fields = config["fields"].as_array().into_iter().flatten();
            let name = |field: &Json| format!("{} ({})", text(&field["id"]), text(&field["type"]));
            fields.map(name).collect::<Vec<_>>().join(", ")
        }
        "end" => config.get("end_kind").or(config.get("kind")).map(text).unwrap_or_default(),
        _ => condition(&config["rules"], 0),
    }
}

/// A condition as people read it. Deeper groups than any that is stored are left out.
pub(super) fn condition(condition: &Json, depth: usize) -> String {
    let list = |name: &str| condition[name].as_array().cloned().unwrap_or_default();
    let rules = list("rules");
    let rule = |rule: &Json| {
        let value = rule.get("value").map(|value| format!(" {value}")).unwrap_or_default();
        let text = |name: &str| rule[name].as_str().unwrap_or_default().to_owned();
        format!("{} {}{value}", text("field"), text("op"))
    };
    let groups = if depth < 8 { list("groups") } else { Vec::new() };
    let groups = groups.iter().map(|group| format!("({})", self::condition(group, depth + 1)));
    let parts: Vec<_> = rules.iter().map(rule).chain(groups).collect();
    let joint = if condition["operator"] == "OR" { " or " } else { " and " };
    if parts.is_empty() { "always".to_owned() } else { parts.join(joint) }
}

fn edge(edge: &FunnelEdge) -> String {
    format!("{} → {} ({})", edge.from_node_id, edge.to_node_id, edge.branch_label)
}

/// A mail rule in a line.
pub(super) fn rule(rule: &EmailRouting) -> String {
    let when = rule.condition_json.as_ref().map_or("always".to_owned(), |one| condition(one, 0));
    let off = if rule.is_active == 0 { ", off" } else { "" };
    let reply = if rule.auto_reply_enabled == 0 { "" } else { ", with a reply" };
    let to = rule.recipients.split_whitespace().collect::<Vec<_>>().join(" ");
    format!("{} {}, {when}: {to}{reply}{off}", rule.id, rule.trigger_event)
}
