//! A good draft → rows. Rows that stay as they are cost nothing.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::Value as Json;

use super::{
    draft::{Good, Stored},
    sql, tidy,
};
use crate::{
    Change, Result,
    funnels::{
        graph::{Edge, Node},
        record::{FunnelEdge, FunnelNode},
        rules::Rule,
    },
};

/// Writes the draft over what is stored. Returns the ids of new nodes by those that were sent.
pub(super) async fn write(
    change: &mut Change,
    funnel: i64,
    stored: &Stored,
    good: &Good,
) -> Result<BTreeMap<i64, i64>> {
    let kept: HashSet<_> = good.graph.nodes().iter().map(|node| node.id).collect();
    let before: HashMap<_, _> = stored.nodes.iter().map(|node| (node.id, node)).collect();
    let mut ids = BTreeMap::new();
    // In the order in which they were sent, so that their ids grow in it.
    let mut nodes: Vec<_> = good.graph.nodes().iter().collect();
    nodes.sort_by_key(|node| node.listed());
    for node in nodes {
        let config = Json::Object(tidy::config(&node.config, &node.condition()));
        if before.get(&node.id).is_some_and(|before| is_same_node(before, node, &config)) {
            continue;
        }
        let id = sql::put_node(change, funnel, node, &config).await?;
        if node.id < 0 {
            ids.insert(node.id, id);
        }
    }
    edges(change, funnel, stored, good, &ids).await?;
    for gone in stored.nodes.iter().filter(|node| !kept.contains(&node.id)) {
        sql::delete_node(change, gone.id).await?;
    }
    rules(change, funnel, stored, &good.rules).await?;
    let mut header = good.header.clone();
    header.start_node_id = header.start_node_id.map(|id| ids.get(&id).copied().unwrap_or(id));
    sql::update(change, funnel, &header).await?;
    Ok(ids)
}

fn is_same_node(before: &FunnelNode, node: &Node, config: &Json) -> bool {
    *before
        == FunnelNode {
            id: node.id,
            kind: node.kind.name().to_owned(),
            name: node.name.clone(),
            position_x: node.position_x,
            position_y: node.position_y,
            config_json: config.clone(),
            sort_order: node.sort_order,
        }
}

/// An edge without an id that leads as a stored one does is that one.
async fn edges(
    change: &mut Change,
    funnel: i64,
    stored: &Stored,
    good: &Good,
    ids: &BTreeMap<i64, i64>,
) -> Result<()> {
    let mapped = |id: i64| ids.get(&id).copied().unwrap_or(id);
    let mut edges: Vec<Edge> = good.graph.edges().to_vec();
    edges.sort_by_key(Edge::listed);
    let mut claimed: HashSet<i64> = edges.iter().map(|edge| edge.id).filter(|id| *id > 0).collect();
    let mut placed = Vec::new();
    for mut edge in edges {
        (edge.from, edge.to) = (mapped(edge.from), mapped(edge.to));
        let way = (edge.from, edge.to, edge.branch.as_str());
        let same =
            |row: &&FunnelEdge| (row.from_node_id, row.to_node_id, &*row.branch_label) == way;
        let id = match edge.id {
            id if id > 0 => Some(id),
            _ => stored.edges.iter().filter(same).map(|row| row.id).find(|id| claimed.insert(*id)),
        };
        placed.push((id, edge));
    }
    for gone in stored.edges.iter().filter(|row| !claimed.contains(&row.id)) {
        sql::delete_edge(change, gone.id).await?;
    }
    for (id, edge) in placed {
        let row = id.map(|id| FunnelEdge {
            id,
            from_node_id: edge.from,
            to_node_id: edge.to,
            branch_label: edge.branch.as_str().to_owned(),
            sort_order: edge.sort_order,
        });
        if row.is_none_or(|row| !stored.edges.contains(&row)) {
            sql::put_edge(change, funnel, id, &edge).await?;
        }
    }
    Ok(())
}

/// Replaces the mail rules.
pub(super) async fn rules(
    change: &mut Change,
    funnel: i64,
    stored: &Stored,
    rules: &[Rule],
) -> Result<()> {
    let kept: HashSet<_> = rules.iter().map(|rule| rule.id).collect();
    for gone in stored.rules.iter().filter(|row| !kept.contains(&row.id)) {
        sql::delete_rule(change, gone.id).await?;
    }
    for rule in rules {
        let rule = tidy::rule(rule);
        let before = stored.rules.iter().find(|row| row.id == rule.id && rule.id > 0);
        if before.is_none_or(|before| Rule::from(before.clone()) != rule) {
            sql::put_rule(change, funnel, &rule).await?;
        }
    }
    Ok(())
}
