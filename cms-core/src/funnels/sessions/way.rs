//! A visit as the staff reads it: the way that it took, step by step, and why.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::{
    moves::Walk,
    session::{Session, Status},
    sql,
    visit::Visit,
};
use crate::{
    Millis, Result,
    conditions::Traced,
    fields::Answer,
    funnels::{
        Funnels,
        graph::{Edge, Node, is_asked},
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
        let Some(session) = sql::by_id(self.0.base.db(), id).await? else { return Ok(None) };
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
