//! A funnel as Graphviz DOT

use std::fmt::Write as _;

use cms_core::funnels::FunnelDetail;

use super::wording;

pub(super) fn dot(funnel: &FunnelDetail) -> String {
    let mut text = format!("digraph {} {{\n", quoted(&funnel.funnel.slug));
    text += "  rankdir=LR;\n  node [fontname=\"sans-serif\"];\n";
    for node in &funnel.nodes {
        let shape = match node.kind.as_str() {
            "step" => "box",
            "condition" => "diamond",
            _ => "oval",
        };
        let about = wording::about(node);
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

/// A text in quotes. Only these characters mean anything there.
fn quoted(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("\"{escaped}\"")
}
