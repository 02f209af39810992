//! A step as visitors see it, where its answers lead, and why. Nothing is stored.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::{moves::Decision, simulator::Simulator, trial::TriedFault};
use crate::{
    Error, Result,
    conditions::Traced,
    funnels::{Funnels, definitions::Drawing, record::WhichFunnel},
};

/// Which step is looked at, of a stored funnel or of one that is only drawn, and with which
/// answers.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "PreviewFunnel")]
#[schemars(extend("examples" = [{"funnel_id": 1, "answers": {"mail": "ada@example.org"}}]))]
pub struct Previewed {
    /// The funnel by its id or slug, as it is drawn.
    #[serde(default)]
    pub funnel_id: Option<WhichFunnel>,
    /// A funnel that is not stored: `start_node_id`, `nodes`, `edges`.
    #[serde(default)]
    pub definition: Option<Map<String, Json>>,
    /// The node; the start by default.
    #[serde(default)]
    pub node_id: Option<i64>,
    /// Answers by the ids of fields, those of earlier steps too.
    #[serde(default)]
    pub answers: Map<String, Json>,
}

/// A step as visitors see it, and where its answers lead.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "FunnelPreview")]
#[non_exhaustive]
pub struct Preview {
    /// The node as visitors see it.
    pub node: Json,
    /// `step`, `condition` or `end`.
    pub node_type: String,
    /// Answers of this step that visitors would be refused with.
    pub errors: Vec<RefusedAnswer>,
    /// Where the answers lead: a step or an end; null where the visit ends, and with errors.
    pub next: Option<Json>,
    /// `step` or `end`.
    pub next_type: Option<String>,
    /// Whether the visit could be completed now.
    pub can_complete: bool,
    /// The edges on the way there, and why they were taken.
    pub trace: Vec<TakenEdge>,
}

/// An answer that is refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct RefusedAnswer {
    /// The id of the field.
    pub field: String,
    /// Why.
    pub code: String,
    /// What is expected.
    pub message: String,
}

/// An edge that was taken.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct TakenEdge {
    /// The edge; 0 when it is not stored.
    pub edge_id: i64,
    /// The node that it leaves.
    pub from_node_id: i64,
    /// Where it leads.
    pub to_node_id: i64,
    /// `default`, `true` or `false`.
    pub branch_label: String,
    /// Whether the node's condition holds; null where none decides.
    pub result: Option<bool>,
    /// What its rules say.
    pub rules: Vec<Traced>,
}

impl TakenEdge {
    fn of(decision: Decision<'_>) -> Option<Self> {
        let edge = decision.edge?;
        Some(Self {
            edge_id: edge.id,
            from_node_id: edge.from,
            to_node_id: edge.to,
            branch_label: edge.branch.as_str().to_owned(),
            result: decision.result,
            rules: decision.rules,
        })
    }
}

impl Funnels {
    /// A step of a funnel as visitors see it, and where `answers` lead from there.
    ///
    /// # Errors
    /// `not_found` for a funnel that is missing; `validation_failed` for a node that is not in the
    /// funnel, and for a definition that cannot be read.
    pub async fn preview(&self, asked: Previewed) -> Result<Preview> {
        let drawing = match (&asked.definition, &asked.funnel_id) {
            (Some(members), _) => Drawing::sent(members)?,
            (None, Some(which)) => self.drawing(which).await?,
            (None, None) => {
                let expected = "a funnel, or a definition of one";
                return Err(Error::invalid_field("funnel_id", "required", expected));
            }
        };
        let simulator = Simulator::new(&self.0.base, drawing);
        let graph = &simulator.graph;
        let id = asked.node_id.or(graph.start_id());
        let node = id.and_then(|id| graph.node(id)).ok_or_else(|| {
            Error::invalid_field("node_id", "unknown", "the id of one of the funnel's nodes")
        })?;
        let (answers, faults) = simulator.answers_at(node, &asked.answers);
        let errors: Vec<_> = faults
            .into_iter()
            .map(|TriedFault { field, code, message }| RefusedAnswer { field, code, message })
            .collect();
        let way = (errors.is_empty() && node.end().is_none())
            .then(|| simulator.walk().traced(node.id, &answers));
        let next = way.as_ref().and_then(|way| way.to);
        let trace = way.into_iter().flat_map(|way| way.decisions).filter_map(TakenEdge::of);
        let ends = node.end().is_some() || next.is_none_or(|next| next.end().is_some());
        Ok(Preview {
            node: node.shown.clone(),
            node_type: node.kind.name().to_owned(),
            can_complete: errors.is_empty() && ends,
            errors,
            next: next.map(|next| next.shown.clone()),
            next_type: next.map(|next| next.kind.name().to_owned()),
            trace: trace.collect(),
        })
    }
}
