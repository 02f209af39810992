//! A funnel as text, as DOT, exported and edited

use cms_core::funnels::{FunnelDetail, NewFunnel};
use serde_json::{Value as Json, json};

use super::{
    drawn::{dot, drawn},
    edit::{self, exported},
};

fn funnel() -> FunnelDetail {
    let node = |id: i64, kind: &str, name: &str, config: Json| {
        json!({"id": id, "type": kind, "name": name, "config_json": config, "position_x": 0.5,
               "position_y": 0.0, "sort_order": id})
    };
    let edge = |id: i64, from: i64, to: i64, label: &str| {
        json!({"id": id, "from_node_id": from, "to_node_id": to, "branch_label": label,
               "sort_order": 0})
    };
    let rule = |field: &str, value: i64| json!({"field": field, "op": "less_than", "value": value});
    let inner = json!({"operator": "OR", "rules": [rule("age", 9), rule("age", 1)]});
    let condition = json!({"rules": {"rules": [rule("budget", 5)], "groups": [inner]}});
    let fields = json!({"fields": [{"id": "mail", "type": "email"}, {"id": "age", "type": "nps"}]});
    let mail = json!({
        "id": 70, "condition_json": null, "recipients": "a@example.org,\nb@example.org", "cc": "",
        "bcc": "", "subject": "", "body_html": "", "auto_reply_enabled": 1,
        "auto_reply_subject": "", "auto_reply_body_html": "", "trigger_event": "completed",
        "sort_order": 0, "is_active": 0,
    });
    let funnel = json!({
        "id": 3, "name": "Leads", "slug": "leads", "status": "published", "start_node_id": 8,
        "save_abandoned": 0, "abandon_after_min": 60, "settings_json": {}, "base_id": 1,
        "language_short": "en", "rev": 5, "version": 2, "published_at": "2026-11-21T09:30:00Z",
        "created_at": "2026-11-21T09:30:00Z", "updated_at": "2026-11-21T09:30:00Z",
        "nodes": [
            node(7, "end", "Far \"away\"", json!({"end_kind": "redirect"})),
            node(8, "step", "Who", fields),
            node(9, "condition", "", condition),
            node(11, "end", "Lost", json!({})),
        ],
        "edges": [edge(20, 8, 9, "default"), edge(21, 9, 7, "true")],
        "email_routings": [mail],
    });
    serde_json::from_value(funnel).expect("a funnel")
}

#[test]
fn a_funnel_is_drawn_as_text() {
    let expected = "\
Leads (leads), published, version 2

▶ 8 step \"Who\": mail (email), age (nps)
    → 9 \"\"

  9 condition \"\": budget less_than 5 and (age less_than 9 or age less_than 1)
    true → 7 \"Far \\\"away\\\"\"

  7 end \"Far \\\"away\\\"\": redirect

  11 end \"Lost\"

✉ 70 completed, always: a@example.org, b@example.org, with a reply, off
";
    assert_eq!(drawn(&funnel()), expected);
}

#[test]
fn a_funnel_is_drawn_as_dot() {
    let text = dot(&funnel());
    for line in [
        "digraph \"leads\" {",
        "  n8 [shape=box, label=\"Who\\nmail (email), age (nps)\", style=bold];",
        "  n7 [shape=oval, label=\"Far \\\"away\\\"\\nredirect\"];",
        "  n8 -> n9;",
        "  n9 -> n7 [label=\"true\"];",
    ] {
        assert!(text.lines().any(|one| one == line), "{line}: {text}");
    }
}

#[test]
fn what_is_exported_can_be_made_again() {
    let json = exported(&funnel()).expect("exported");
    assert_eq!(json["start_node_id"], -2);
    let ids: Vec<_> = json["nodes"].as_array().expect("nodes").iter().collect();
    let ids: Vec<_> = ids.iter().map(|node| &node["client_id"]).collect();
    assert_eq!(ids, [&json!(-1), &json!(-2), &json!(-3), &json!(-4)]);
    assert_eq!(
        (&json["edges"][1]["from_node_id"], &json["edges"][1]["to_node_id"]),
        (&json!(-3), &json!(-1))
    );
    for member in ["id", "rev", "status", "version", "base_id", "created_at"] {
        assert_eq!(json.get(member), None, "{member}");
    }
    assert!(!json.to_string().contains("\"id\":70") && json["nodes"][0].get("id").is_none());
    let new: NewFunnel = serde_json::from_value(json).expect("a new funnel");
    assert_eq!((new.nodes.len(), &new.members["slug"]), (4, &json!("leads")));
}

#[test]
fn what_is_edited_is_a_save_of_the_state_that_was_read() {
    let found = funnel();
    let text = edit::editable(&found).expect("editable").to_string();
    let saved = edit::read(&text, &found).expect("a save");
    assert_eq!(
        (saved.rev, saved.nodes.expect("nodes")[1]["client_id"].clone()),
        (Some(5), json!(8))
    );
    assert_eq!(saved.funnel["name"], "Leads");
    assert_eq!(saved.funnel.get("id"), None);
    let saved = edit::read("{\"nodes\": []}", &found).expect("a save");
    assert_eq!((saved.rev, saved.edges), (Some(5), None));
    assert!(edit::read("{\"node\": []}", &found).is_err());
    assert!(edit::read("[", &found).is_err());
}
