//! A funnel as text and as Graphviz DOT, and how its parts are shown

use std::fmt::Write as _;

use cms_core::funnels::{EmailRouting, FunnelDetail, FunnelEdge, FunnelNode};
use serde_json::Value as Json;

/// The nodes in the order of a walk from the start; unreachable nodes come last.
pub(super) fn drawn(funnel: &FunnelDetail) -> String {
    let head = &funnel.funnel;
    let version = head.version.map(|version| format!(", version {version}")).unwrap_or_default();
    let mut text = format!("{} ({}), {}{version}\n", head.name, head.slug, head.status);
    for node in walk(funnel) {
        let mark = if head.start_node_id == Some(node.id) { '▶' } else { ' ' };
        text += &format!("\n{mark} {}\n", node_line(node));
        for edge in funnel.edges.iter().filter(|edge| edge.from_node_id == node.id) {
            let to = funnel.nodes.iter().find(|other| other.id == edge.to_node_id);
            let name = to.map(|to| format!(" {:?}", to.name)).unwrap_or_default();
            let label = match edge.branch_label.as_str() {
                "default" => String::new(),
                label => format!("{label} "),
            };
            text += &format!("    {label}→ {}{name}\n", edge.to_node_id);
        }
    }
    for (at, rule) in funnel.email_routings.iter().enumerate() {
        let gap = if at == 0 { "\n" } else { "" };
        text += &format!("{gap}✉ {}\n", rule_line(rule));
    }
    text
}

fn walk(funnel: &FunnelDetail) -> Vec<&FunnelNode> {
    let find = |id: i64| funnel.nodes.iter().find(|node| node.id == id);
    let mut order: Vec<&FunnelNode> =
        funnel.funnel.start_node_id.and_then(find).into_iter().collect();
    let mut at = 0;
    while let Some(node) = order.get(at).copied() {
        at += 1;
        for edge in funnel.edges.iter().filter(|edge| edge.from_node_id == node.id) {
            let next = find(edge.to_node_id);
            order.extend(next.filter(|next| order.iter().all(|seen| seen.id != next.id)));
        }
    }
    let rest = funnel.nodes.iter().filter(|node| order.iter().all(|seen| seen.id != node.id));
    let rest: Vec<_> = rest.collect();
    order.extend(rest);
    order
}

pub(super) fn dot(funnel: &FunnelDetail) -> String {
    let mut text = format!("digraph {} {{\n", quoted(&funnel.funnel.slug));
    text += "  rankdir=LR;\n  node [fontname=\"sans-serif\"];\n";
    for node in &funnel.nodes {
        let shape = match node.kind.as_str() {
            "step" => "box",
            "condition" => "diamond",
            _ => "oval",
        };
        let about = about_node(node);
        let label =
            if about.is_empty() { node.name.clone() } else { format!("{}\n{about}", node.name) };
        let bold = if funnel.funnel.start_node_id == Some(node.id) { ", style=bold" } else { "" };
        let _ = writeln!(text, "  n{} [shape={shape}, label={}{bold}];", node.id, quoted(&label));
    }
    for edge in &funnel.edges {
        let label = match edge.branch_label.as_str() {
            "default" => String::new(),
            label => format!(" [label={}]", quoted(label)),
        };
        let _ = writeln!(text, "  n{} -> n{}{label};", edge.from_node_id, edge.to_node_id);
    }
    text + "}\n"
}

/// A text in quotes. DOT gives only these characters a meaning there.
fn quoted(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("\"{escaped}\"")
}

/// Shows nodes, edges and mail rules, a line for each.
pub(super) fn cell(funnel: &FunnelDetail, column: &str) -> Option<String> {
    let lines: Vec<_> = match column {
        "nodes" => funnel.nodes.iter().map(node_line).collect(),
        "edges" => funnel.edges.iter().map(edge_line).collect(),
        "email_routings" => funnel.email_routings.iter().map(rule_line).collect(),
        _ => return None,
    };
    Some(lines.join("\n"))
}

/// A node in a line: `17 step "Who": mail (email)`.
fn node_line(node: &FunnelNode) -> String {
    let about = about_node(node);
    let about = if about.is_empty() { about } else { format!(": {about}") };
    format!("{} {} {:?}{about}", node.id, node.kind, node.name)
}

/// What a step asks, what a condition reads, how an end ends.
fn about_node(node: &FunnelNode) -> String {
    let config = &node.config_json;
    let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
    match node.kind.as_str() {
        "step" => {
            let fields = config["fields"].as_array().into_iter().flatten();
            let name = |field: &Json| format!("{} ({})", text(&field["id"]), text(&field["type"]));
            fields.map(name).collect::<Vec<_>>().join(", ")
        }
        "end" => config.get("end_kind").or(config.get("kind")).map(text).unwrap_or_default(),
        _ => condition_text(&config["rules"], 0),
    }
}

/// A condition as readable text. Leaves out groups that are nested deeper than stored ones can be.
fn condition_text(condition: &Json, depth: usize) -> String {
    let list = |name: &str| condition[name].as_array().cloned().unwrap_or_default();
    let rules = list("rules");
    let rule = |rule: &Json| {
        let value = rule.get("value").map(|value| format!(" {value}")).unwrap_or_default();
        let text = |name: &str| rule[name].as_str().unwrap_or_default().to_owned();
        format!("{} {}{value}", text("field"), text("op"))
    };
    let groups = if depth < 8 { list("groups") } else { Vec::new() };
    let groups = groups.iter().map(|group| format!("({})", condition_text(group, depth + 1)));
    let parts: Vec<_> = rules.iter().map(rule).chain(groups).collect();
    let joint = if condition["operator"] == "OR" { " or " } else { " and " };
    if parts.is_empty() { "always".to_owned() } else { parts.join(joint) }
}

fn edge_line(edge: &FunnelEdge) -> String {
    format!("{} → {} ({})", edge.from_node_id, edge.to_node_id, edge.branch_label)
}

/// A mail rule in a line.
pub(super) fn rule_line(rule: &EmailRouting) -> String {
    let when =
        rule.condition_json.as_ref().map_or("always".to_owned(), |one| condition_text(one, 0));
    let off = if rule.is_active == 0 { ", off" } else { "" };
    let reply = if rule.auto_reply_enabled == 0 { "" } else { ", with a reply" };
    let to = rule.recipients.split_whitespace().collect::<Vec<_>>().join(" ");
    format!("{} {}, {when}: {to}{reply}{off}", rule.id, rule.trigger_event)
}
