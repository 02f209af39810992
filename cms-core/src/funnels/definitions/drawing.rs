//! A funnel as its author draws it, before it is published. Simulators walk through it.

use serde_json::{Map, Value as Json};

use super::{
    create::header_of,
    draft::{Stored, json, refused},
    sql::Source,
};
use crate::{
    Code, Result,
    funnels::{
        Funnels,
        graph::{Graph, GraphInput, read},
        header::Header,
        record::{EmailRouting, WhichFunnel},
    },
};

/// A funnel as it is drawn, including its faults.
pub(in crate::funnels) struct Drawing {
    pub(in crate::funnels) header: Header,
    pub(in crate::funnels) graph: Graph,
    pub(in crate::funnels) rules: Vec<EmailRouting>,
}

impl Funnels {
    /// The stored drawing of a funnel.
    pub(in crate::funnels) async fn drawing(&self, which: &WhichFunnel) -> Result<Drawing> {
        let mut from = Source::Db(self.0.base.db());
        let funnel = self.find(&mut from, which).await?;
        let header = header_of(&funnel)?;
        let Stored { nodes, edges, rules } = Stored::read(&mut from, funnel.id).await?;
        let (nodes, edges) = (json(&nodes), json(&edges));
        let drawn = GraphInput { start: header.start_node_id, nodes: &nodes, edges: &edges };
        let (graph, _) = read(drawn);
        Ok(Drawing { header, graph, rules })
    }
}

impl Drawing {
    /// A drawing that is not stored: a header's members, `nodes` and `edges`.
    pub(in crate::funnels) fn sent(members: &Map<String, Json>) -> Result<Self> {
        let list = |name: &str| members.get(name).and_then(Json::as_array).cloned();
        let (nodes, edges) = (list("nodes").unwrap_or_default(), list("edges").unwrap_or_default());
        let mut header = Header::default();
        let others = ["nodes", "edges", "email_routings"];
        let own = members.iter().filter(|(name, _)| !others.contains(&name.as_str()));
        let own: Map<_, _> = own.map(|(name, value)| (name.clone(), value.clone())).collect();
        let mut problems = header.merge(&own);
        let drawn = GraphInput { start: header.start_node_id, nodes: &nodes, edges: &edges };
        let (graph, faults) = read(drawn);
        problems.extend(faults);
        if problems.is_empty() {
            Ok(Self { header, graph, rules: Vec::new() })
        } else {
            Err(refused(Code::ValidationFailed, "shown", problems))
        }
    }
}
