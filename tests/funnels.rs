//! Funnels: what holds for every graph.

mod random;

use serde_json::{Value as Json, json};

use crate::support::Site;

pub const ACTION: &str = "/api/backend/formfunnel?action";

/// A small funnel with a condition and a mail rule, as it is sent.
pub fn drawn() -> Json {
    let rule = json!({"field": "budget", "op": "greater_or_equal", "value": 5000});
    json!({
        "name": "Leads", "slug": "leads", "start_node_id": -1,
        "nodes": [
            {"client_id": -1, "type": "step", "name": "Who", "config_json": {"fields": [
                {"id": "mail", "type": "email", "required": true},
                {"id": "budget", "type": "number"},
            ]}},
            {"client_id": -2, "type": "condition", "name": "Rich", "config_json": {
                "rules": {"operator": "AND", "rules": [rule]}}},
            {"client_id": -3, "type": "end", "name": "Call"},
            {"client_id": -4, "type": "end", "name": "Sorry", "config_json": {
                "end_kind": "disqualified"}},
        ],
        "edges": [
            {"from_node_id": -1, "to_node_id": -2},
            {"from_node_id": -2, "to_node_id": -3, "branch_label": "true"},
            {"from_node_id": -2, "to_node_id": -4, "branch_label": "false"},
        ],
        "email_routings": [{"recipients": "sales@example.org", "subject": "{{ mail }}"}],
    })
}

/// Makes a funnel.
pub async fn made(site: &Site, funnel: &Json) -> Json {
    let create = site.staff("create", funnel.clone());
    create.expect(201).await.data()
}

/// A funnel as it is drawn.
pub async fn get(site: &Site, funnel: &str) -> Json {
    site.get(&format!("{ACTION}=get&id={funnel}")).await
}

/// What belongs to a site: ids, and what names a funnel.
pub fn without_ids(mut funnel: Json) -> Json {
    let ids: Vec<_> =
        funnel["nodes"].as_array().unwrap().iter().map(|node| node["id"].clone()).collect();
    let place = |id: &Json| json!(ids.iter().position(|one| one == id));
    funnel["start_node_id"] = place(&funnel["start_node_id"]);
    for node in funnel["nodes"].as_array_mut().unwrap() {
        node["id"] = Json::Null;
    }
    for edge in funnel["edges"].as_array_mut().unwrap() {
        edge["id"] = Json::Null;
        edge["from_node_id"] = place(&edge["from_node_id"]);
        edge["to_node_id"] = place(&edge["to_node_id"]);
    }
    for rule in funnel["email_routings"].as_array_mut().unwrap() {
        rule["id"] = Json::Null;
    }
    for member in ["id", "slug", "rev", "status", "version", "published_at"] {
        funnel[member] = Json::Null;
    }
    funnel
}
