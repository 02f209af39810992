//! The way of a visit as the staff reads it, step by step, and why. For authors: a step as visitors
//! see it, where its answers lead, and why; nothing is stored.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::{
    moves::{Decision, Walk},
    session::{Session, Status},
    sql,
    trial::{Simulator, TriedFault},
    visit::Visit,
};
use crate::{
    Error, Millis, Result,
    conditions::Traced,
    db::args,
    fields::Answer,
    funnels::{
        Funnels,
        definitions::Drawing,
        graph::{Edge, Node, is_asked},
        record::WhichFunnel,
    },
};

/// A node that a visitor saw.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PassedFunnelNode")]
#[non_exhaustive]
pub struct PassedNode {
    /// Its id.
    pub id: i64,
    /// `step` or `end`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Its settings in the version that the visit keeps.
    pub config: Json,
    /// What was answered there.
    pub answers: Vec<Answer>,
    /// The edges that led on from there; none while it is not answered.
    pub ways: Vec<PassedEdge>,
}

/// An edge that a visit took.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PassedFunnelEdge")]
#[non_exhaustive]
pub struct PassedEdge {
    /// Its id.
    pub edge_id: i64,
    /// Where it begins: the step, or a condition behind it.
    pub from_node_id: i64,
    /// The name of that node.
    pub from_name: String,
    /// Where it leads.
    pub to_node_id: i64,
    /// The name of that node.
    pub to_name: String,
    /// `default`, `true` or `false`.
    pub branch_label: String,
    /// Whether the condition held; null where none decides.
    pub result: Option<bool>,
    /// What its rules said.
    pub rules: Vec<Traced>,
    /// All of this as a sentence.
    pub words: String,
}

/// A visit as the staff reads it.
pub(in crate::funnels) struct VisitDetail {
    pub(in crate::funnels) answers: Vec<Answer>,
    pub(in crate::funnels) path: Vec<i64>,
    pub(in crate::funnels) passed: Vec<PassedNode>,
    pub(in crate::funnels) started_at: Millis,
    /// Until when the visit may go on; None: it is over.
    pub(in crate::funnels) open_until: Option<Millis>,
}

/// The parts of a visit that exports add to what lists show.
pub(in crate::funnels) struct NotesAndAnswers {
    pub(in crate::funnels) notes: String,
    pub(in crate::funnels) answers: Vec<Answer>,
}

impl Funnels {
    /// The notes and answers of submissions, by their ids.
    pub(in crate::funnels) async fn notes_and_answers(
        &self,
        ids: &[i64],
    ) -> Result<HashMap<i64, NotesAndAnswers>> {
        let mut told = HashMap::with_capacity(ids.len());
        for ids in ids.chunks(sql::BATCH_SIZE) {
            for sql::SessionWithNotes { notes, session } in
                sql::by_ids(self.0.base.db(), ids).await?
            {
                let version = self.version(session.version).await?;
                let visit = self.visit_of(version, session.uuid.clone());
                let around = visit.around(&session);
                let answers = visit.walk(&around).answers(session.answered(), &session.answers);
                told.insert(session.id, NotesAndAnswers { notes, answers });
            }
        }
        Ok(told)
    }

    /// The way and the answers of a submission; None: it is gone.
    pub(in crate::funnels) async fn visit_detail(&self, id: i64) -> Result<Option<VisitDetail>> {
        let found: Option<Session> = self.0.base.db().optional(sql::BY_ID, args![id]).await?;
        let Some(session) = found else { return Ok(None) };
        let visit = self.visit_of(self.version(session.version).await?, session.uuid.clone());
        let around = visit.around(&session);
        let walk = visit.walk(&around);
        let answers = walk.answers(session.answered(), &session.answers);
        let passed = passed_nodes(&visit, &walk, &session);
        let is_open = session.status != Status::Completed;
        Ok(Some(VisitDetail {
            answers,
            passed,
            started_at: session.started_at,
            open_until: is_open.then_some(session.expires_at),
            path: session.path,
        }))
    }
}

fn passed_nodes(visit: &Visit, walk: &Walk<'_>, session: &Session) -> Vec<PassedNode> {
    let graph = &visit.version.graph;
    let answered = session.answered();
    let nodes = session.path.iter().enumerate();
    let nodes = nodes.filter_map(|(at, id)| Some((at, graph.node(*id)?)));
    let told = nodes.map(|(at, node)| {
        // The answers up to this node decided the way.
        let counting = walk.effective(&answered[..answered.len().min(at + 1)], &session.answers);
        let is_left = node.step().is_some() && at < answered.len();
        PassedNode {
            id: node.id,
            kind: node.kind.name().to_owned(),
            name: node.name.clone(),
            config: Json::Object(node.config.clone()),
            answers: answers_at(node, &counting),
            ways: if is_left { passed_edges(walk, node, &counting) } else { Vec::new() },
        }
    });
    told.collect()
}

fn answers_at(node: &Node, counting: &Map<String, Json>) -> Vec<Answer> {
    let asked = node.fields().filter(|field| is_asked(field));
    asked.flat_map(|field| field.answered(counting)).collect()
}

fn passed_edges(walk: &Walk<'_>, node: &Node, counting: &Map<String, Json>) -> Vec<PassedEdge> {
    let taken = walk.traced(node.id, counting).decisions.into_iter();
    taken
        .filter_map(|taken| Some(passed_edge(walk, taken.edge?, taken.result, taken.rules)))
        .collect()
}

fn passed_edge(
    walk: &Walk<'_>,
    edge: &Edge,
    result: Option<bool>,
    rules: Vec<Traced>,
) -> PassedEdge {
    let name = |id: i64| walk.graph.node(id).map(|node| node.name.clone()).unwrap_or_default();
    let title = |id: i64| walk.graph.node(id).map(Node::title).unwrap_or_default();
    let (from, to) = (title(edge.from), title(edge.to));
    let words = match result {
        None => format!("From {from} to {to}."),
        Some(holds) => {
            let said: Vec<_> = rules.iter().filter_map(rule_in_words).collect();
            let why =
                if said.is_empty() { String::new() } else { format!(": {}", said.join("; ")) };
            let holds = if holds { "holds" } else { "does not hold" };
            format!("From {from} to {to}, because its condition {holds}{why}.")
        }
    };
    PassedEdge {
        edge_id: edge.id,
        from_node_id: edge.from,
        from_name: name(edge.from),
        to_node_id: edge.to,
        to_name: name(edge.to),
        branch_label: edge.branch.as_str().to_owned(),
        result,
        rules,
        words,
    }
}

/// A rule with its answer, in words.
fn rule_in_words(rule: &Traced) -> Option<String> {
    let yes = |result: bool| if result { "yes" } else { "no" };
    match rule {
        Traced::Rule { field, op, value, answer, result, .. } => {
            let value = value.as_ref().map(|value| format!(" {value}")).unwrap_or_default();
            let answer = if answer.is_null() { "nothing".to_owned() } else { answer.to_string() };
            let op = op.replace('_', " ");
            Some(format!("{field} {op}{value}? {}, it is {answer}", yes(*result)))
        }
        Traced::Group { .. } => None,
        Traced::Unreadable { .. } => Some("a part of it cannot be read".to_owned()),
    }
}

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
