//! A step as visitors see it, where its answers lead, and why. Nothing is stored.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::{
    create::header_of,
    draft::{Stored, json, refused},
    sql::From,
};
use crate::{
    Code, Error, Result,
    conditions::{Condition, Surroundings, Traced},
    fields::Context,
    funnels::{
        Funnels,
        graph::{Drawn, Graph, Node, read},
        header::Header,
        record::WhichFunnel,
    },
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
    pub trace: Vec<Taken>,
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
#[schemars(rename = "TakenEdge")]
#[non_exhaustive]
pub struct Taken {
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

/// A funnel to look at.
struct Looked {
    header: Header,
    graph: Graph,
}

impl Funnels {
    /// A step of a funnel as visitors see it, and where `answers` lead from there.
    ///
    /// # Errors
    /// `not_found` for a funnel that is missing; `validation_failed` for a node that is none of it,
    /// and for a definition that cannot be read.
    pub async fn preview(&self, asked: Previewed) -> Result<Preview> {
        let Looked { header, graph } = self.looked(&asked).await?;
        let id = asked.node_id.or(graph.start_id());
        let node = id.and_then(|id| graph.node(id)).ok_or_else(|| {
            Error::invalid_field("node_id", "unknown", "the id of one of the funnel's nodes")
        })?;
        let base = &self.0.base;
        let zone = header.settings.timezone.as_ref().unwrap_or(base.zone());
        let now = base.clock().now();
        let context = Context::at(now).zone(zone.clone()).arriving();
        let context = context.language(&header.language_short);
        let around = Surroundings::at(now).zone(zone.clone()).language(&header.language_short);
        let (answers, errors) = taken(&graph, node, &asked.answers, &context);
        let trace = if errors.is_empty() && node.end().is_none() {
            trace(&graph, node, &answers, &around)
        } else {
            Vec::new()
        };
        let next = trace.last().and_then(|edge| graph.node(edge.to_node_id));
        let next = next.filter(|next| !next.kind.is_condition());
        let ends = node.end().is_some() || next.is_none_or(|next| next.end().is_some());
        Ok(Preview {
            node: node.shown().clone(),
            node_type: node.kind.name().to_owned(),
            can_complete: errors.is_empty() && ends,
            errors,
            next: next.map(|next| next.shown().clone()),
            next_type: next.map(|next| next.kind.name().to_owned()),
            trace,
        })
    }

    async fn looked(&self, asked: &Previewed) -> Result<Looked> {
        let expected =
            || Error::invalid_field("funnel_id", "required", "a funnel, or a definition of one");
        let Some(members) = &asked.definition else {
            let mut from = From::Db(self.0.base.db());
            let which = asked.funnel_id.as_ref().ok_or_else(expected)?;
            let funnel = self.find(&mut from, which).await?;
            let (header, stored) = (header_of(&funnel)?, Stored::read(&mut from, funnel.id).await?);
            let (nodes, edges) = (json(&stored.nodes), json(&stored.edges));
            let drawn = Drawn { start: header.start_node_id, nodes: &nodes, edges: &edges };
            let (graph, _) = read(drawn);
            return Ok(Looked { header, graph });
        };
        let list = |name: &str| members.get(name).and_then(Json::as_array).cloned();
        let (nodes, edges) = (list("nodes").unwrap_or_default(), list("edges").unwrap_or_default());
        let mut header = Header::default();
        let drawing = ["nodes", "edges", "email_routings"];
        let own = members.iter().filter(|(name, _)| !drawing.contains(&name.as_str()));
        let own: Map<_, _> = own.map(|(name, value)| (name.clone(), value.clone())).collect();
        let mut problems = header.take(&own);
        let drawn = Drawn { start: header.start_node_id, nodes: &nodes, edges: &edges };
        let (graph, faults) = read(drawn);
        problems.extend(faults);
        if !problems.is_empty() {
            return Err(refused(Code::ValidationFailed, "shown", problems));
        }
        Ok(Looked { header, graph })
    }
}

/// The answers in their stored form, and those of this step that are refused.
fn taken(
    graph: &Graph,
    node: &Node,
    given: &Map<String, Json>,
    context: &Context,
) -> (Map<String, Json>, Vec<RefusedAnswer>) {
    // Only the service computes, and only a provider says that something was paid.
    let own = |name: &&String| {
        let kind = graph.field(name).map(|(_, field)| field.type_name());
        !matches!(kind, Some("calculated" | "payment"))
    };
    let sent = given.iter().filter(|(name, _)| own(name));
    let mut answers: Map<_, _> = sent.map(|(name, value)| (name.clone(), value.clone())).collect();
    let mut errors = Vec::new();
    for step in graph.nodes().iter().filter(|other| other.step().is_some()) {
        for field in step.step().into_iter().flat_map(|step| step.fields.iter()) {
            match field.take(given, context) {
                Ok(taken) => answers.extend(taken),
                Err(fault) if step.id == node.id => errors.push(RefusedAnswer {
                    field: fault.field,
                    code: fault.code.to_owned(),
                    message: fault.message,
                }),
                Err(_) => {}
            }
        }
    }
    graph.compute(&[node.id], &mut answers);
    (answers, errors)
}

fn trace(
    graph: &Graph,
    node: &Node,
    answers: &Map<String, Json>,
    around: &Surroundings,
) -> Vec<Taken> {
    let mut judged = Vec::new();
    let way = graph.onwards(node.id, |deciding| {
        let (holds, rules) = Condition::read(&deciding.condition()).trace(answers, around);
        judged.push((deciding.id, holds, rules));
        holds
    });
    let taken = way.into_iter().map(|edge| {
        let said = judged.iter().find(|(id, ..)| *id == edge.from);
        Taken {
            edge_id: edge.id,
            from_node_id: edge.from,
            to_node_id: edge.to,
            branch_label: edge.branch.as_str().to_owned(),
            result: said.map(|(_, holds, _)| *holds),
            rules: said.map(|(.., rules)| rules.clone()).unwrap_or_default(),
        }
    });
    taken.collect()
}
