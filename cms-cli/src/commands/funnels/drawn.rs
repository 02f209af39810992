//! A funnel as text: each node with the ways that leave it

use cms_core::funnels::{FunnelDetail, FunnelNode};

use super::wording;

/// The nodes in the order of a walk from the start; those that no way leads to come last.
pub(super) fn drawn(funnel: &FunnelDetail) -> String {
    let head = &funnel.funnel;
    let version = head.version.map(|version| format!(", version {version}")).unwrap_or_default();
    let mut text = format!("{} ({}), {}{version}\n", head.name, head.slug, head.status);
    for node in walk(funnel) {
        let mark = if head.start_node_id == Some(node.id) { '▶' } else { ' ' };
        text += &format!("\n{mark} {}\n", wording::node(node));
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
        text += &format!("{gap}✉ {}\n", wording::rule(rule));
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
