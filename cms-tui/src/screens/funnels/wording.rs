//! Nodes, edges and conditions of a funnel in words.

use crate::screens::prelude::*;

/// Nested groups of conditions that are told; none that is stored is deeper.
const DEEPEST: usize = 8;

/// The sign of a node.
pub(super) fn sign(node: &Json) -> char {
    match node["type"].as_str() {
        Some("step") => '■',
        Some("condition") => '◆',
        _ => '●',
    }
}

/// A condition as people read it.
pub(super) fn condition(of: &Json, depth: usize) -> String {
    let list = |name: &str| items(&of[name]);
    let rule = |rule: &Json| {
        let value = rule.get("value").map(|value| format!(" {value}")).unwrap_or_default();
        let op = plain_text(&rule["op"]).replace('_', " ");
        format!("{} {op}{value}", plain_text(&rule["field"]))
    };
    let groups = if depth < DEEPEST { list("groups") } else { &[] };
    let groups = groups.iter().map(|group| format!("({})", condition(group, depth + 1)));
    let parts: Vec<_> = list("rules").iter().map(rule).chain(groups).collect();
    let joint = if of["operator"] == "OR" { " or " } else { " and " };
    if parts.is_empty() { "always".to_owned() } else { parts.join(joint) }
}

/// What a branch is called.
pub(super) fn branch(edge: &Json) -> &'static str {
    match edge["branch_label"].as_str() {
        Some("true") => "yes",
        Some("false") => "no",
        _ => "",
    }
}

/// What a step asks, what a condition reads, how an end ends.
pub(super) fn about(node: &Json, cells: usize) -> Lines {
    let config = &node["config_json"];
    let plain = |line: String| (Role::Plain, line);
    match node["type"].as_str() {
        Some("step") => {
            let fields = items(&config["fields"]).iter();
            let line = |field: &Json| {
                let [id, kind, label] =
                    ["id", "type", "label"].map(|name| plain_text(&field[name]));
                let needed = if field["required"] == true { " *" } else { "" };
                plain(format!("{id:<16} {kind:<14} {label}{needed}"))
            };
            fields.map(line).collect()
        }
        Some("condition") => {
            let said = condition(&config["rules"], 0);
            paragraph(Role::Plain, "", &safe(&said), cells)
        }
        _ => {
            let kind = config.get("end_kind").or(config.get("kind")).map(plain_text);
            let kind = kind.filter(|kind| !kind.is_empty()).unwrap_or("thank_you".to_owned());
            let mut lines = vec![plain(kind.replace('_', " "))];
            let to = plain_text(&config["redirect_url"]);
            lines.extend((!to.is_empty()).then(|| plain(format!("leads to {to}"))));
            lines
        }
    }
}

/// A mail rule in a line.
pub(super) fn rule(rule: &Json) -> String {
    let when = match &rule["condition_json"] {
        Json::Null => "always".to_owned(),
        of => condition(of, 0),
    };
    let off = if rule["is_active"] == 0 { ", off" } else { "" };
    let reply = if rule["auto_reply_enabled"] == 0 { "" } else { ", with a reply" };
    let trigger = plain_text(&rule["trigger_event"]);
    format!("✉ {trigger}, {when}: {}{reply}{off}", plain_text(&rule["recipients"]))
}
