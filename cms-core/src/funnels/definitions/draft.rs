//! A funnel as it would be after a save: stored and sent parts, judged as a whole. A [`Candidate`]
//! without errors is written as rows, with its conditions tidied; unchanged rows cost nothing. A
//! [`Drawing`] is a funnel before it is published: simulators walk through it.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::Serialize;
use serde_json::{Map, Value as Json};

use super::{missing, sql};
use crate::{
    Change, Code, Error, FieldError, Result,
    change::Reader,
    conditions::check,
    db::args,
    funnels::{
        Funnels,
        checks::{self, Findings},
        graph::{Edge, Graph, GraphInput, Node, read},
        header::Header,
        record::{EmailRouting, Funnel, FunnelEdge, FunnelNode, Problem, Warning, WhichFunnel},
        rules::{self, Rule},
    },
    ground::html::sanitize,
};

/// Maximum bytes of a funnel.
const MOST_BYTES: usize = 1 << 20;

/// The stored parts of a funnel beside its header.
#[derive(Debug, Default)]
pub(super) struct Stored {
    pub(super) nodes: Vec<FunnelNode>,
    pub(super) edges: Vec<FunnelEdge>,
    pub(super) rules: Vec<EmailRouting>,
}

impl Stored {
    pub(super) async fn read(from: impl Into<Reader<'_>>, funnel: i64) -> Result<Self> {
        let mut reader = from.into();
        Ok(Self {
            nodes: reader.all(sql::NODES, args![funnel]).await?,
            edges: reader.all(sql::EDGES, args![funnel]).await?,
            rules: sql::rules(reader, funnel).await?,
        })
    }
}

/// The header of a stored funnel.
pub(super) fn header_of(funnel: &Funnel) -> Result<Header> {
    let mut header = Header::default();
    let members = serde_json::to_value(funnel).map_err(Error::internal)?;
    header.merge(members.as_object().ok_or_else(|| missing(&WhichFunnel::Id(funnel.id)))?);
    Ok(header)
}

/// Rows in the form in which authors send them.
pub(super) fn json<T: Serialize>(rows: &[T]) -> Vec<Json> {
    rows.iter().map(|row| serde_json::to_value(row).unwrap_or_default()).collect()
}

/// A funnel as it would be after a save.
#[derive(Debug, Default)]
pub(super) struct Candidate {
    pub(super) header: Header,
    pub(super) nodes: Vec<Json>,
    pub(super) edges: Vec<Json>,
    pub(super) rules: Vec<Json>,
    /// What is wrong with the header.
    pub(super) problems: Vec<Problem>,
}

/// A candidate without errors.
#[derive(Debug)]
pub(super) struct ValidFunnel {
    pub(super) header: Header,
    pub(super) graph: Graph,
    pub(super) rules: Vec<Rule>,
    pub(super) warnings: Vec<Warning>,
}

impl Candidate {
    /// Judges the candidate. Returns its parts and everything that is wrong with them.
    pub(super) fn judge(self, stored: &Stored) -> (Header, Graph, Vec<Rule>, Findings) {
        let Self { header, nodes, edges, rules, mut problems } = self;
        let size = |list: &Vec<Json>| list.iter().map(|one| one.to_string().len()).sum::<usize>();
        if [&nodes, &edges, &rules].map(size).iter().sum::<usize>() > MOST_BYTES {
            let message = format!("at most {MOST_BYTES} bytes are expected in all");
            problems.push(Problem::new("too_large", "nodes", message));
        }
        let drawn = GraphInput { start: header.start_node_id, nodes: &nodes, edges: &edges };
        let (graph, faults) = read(drawn);
        problems.extend(faults);
        refuse_foreign_ids(&graph, stored, &mut problems);
        let (rules, faults) = rules::read(&rules, "email_routings");
        problems.extend(faults);
        let known: HashSet<_> = stored.rules.iter().map(|rule| rule.id).collect();
        let mut seen = HashSet::new();
        for (at, rule) in rules.iter().enumerate().filter(|(_, rule)| rule.id > 0) {
            let path = format!("email_routings[{at}].id");
            if !known.contains(&rule.id) {
                let message = "no mail rule of this funnel has this id: leave it out for a new one";
                problems.push(Problem::new("bad_id", path, message));
            } else if !seen.insert(rule.id) {
                let message = "an earlier rule has this id";
                problems.push(Problem::new("duplicate_id", path, message));
            }
        }
        let findings = checks::check(&graph, &rules, &header.settings, problems);
        (header, graph, rules, findings)
    }

    /// Refuses a candidate with errors; `strict` makes warnings errors.
    pub(super) fn validate(self, stored: &Stored, strict: bool) -> Result<ValidFunnel> {
        let (header, graph, rules, findings) = self.judge(stored);
        let Findings { mut errors, warnings, .. } = findings;
        if strict {
            errors.extend(warnings.iter().cloned());
        }
        if !errors.is_empty() {
            return Err(refused(Code::ValidationFailed, "stored", errors));
        }
        let warnings = warnings.into_iter().map(Warning::from).collect();
        Ok(ValidFunnel { header, graph, rules, warnings })
    }

    /// Gives nodes negative ids and removes the ids of edges and mail rules, because none of these
    /// rows is stored yet. Returns the new ids of nodes by the sent ids.
    pub(super) fn renumber(&mut self) -> BTreeMap<i64, i64> {
        let mut ids = BTreeMap::new();
        for (at, node) in self.nodes.iter_mut().enumerate() {
            let Some(members) = node.as_object_mut() else { continue };
            let given = members.get("client_id").filter(|id| !id.is_null()).or(members.get("id"));
            let Some(given) = given.and_then(Json::as_i64).filter(|id| *id != 0) else { continue };
            let next = -1 - i64::try_from(at).unwrap_or_default();
            members.insert("client_id".to_owned(), (*ids.entry(given).or_insert(next)).into());
        }
        // An id of no node must not become the id of a node by chance.
        let new = |id: i64| ids.get(&id).copied().unwrap_or(i64::MIN);
        for edge in self.edges.iter_mut().filter_map(Json::as_object_mut) {
            edge.remove("client_id");
            edge.remove("id");
            for end in ["from_node_id", "to_node_id"] {
                if let Some(id) = edge.get(end).and_then(Json::as_i64) {
                    edge.insert(end.to_owned(), new(id).into());
                }
            }
        }
        for rule in self.rules.iter_mut().filter_map(Json::as_object_mut) {
            rule.remove("id");
            rule.remove("client_id");
        }
        self.header.start_node_id = self.header.start_node_id.map(new);
        ids
    }
}

/// All problems as one error.
pub(super) fn refused(code: Code, what: &str, problems: Vec<Problem>) -> Error {
    let number = problems.len();
    let word = if number == 1 { "problem" } else { "problems" };
    let detail = format!("The funnel cannot be {what}: {number} {word}. Nothing was changed.");
    let nodes = problems.iter().map(|problem| problem.node).collect();
    let fields = problems.into_iter().map(FieldError::from).collect();
    Error::new(code, detail).with_fields(fields).in_nodes(nodes)
}

/// Replaces the ids of new nodes in warnings by their stored ids.
pub(super) fn with_stored_ids(
    mut warnings: Vec<Warning>,
    ids: &BTreeMap<i64, i64>,
) -> Vec<Warning> {
    for warning in &mut warnings {
        warning.node = warning.node.map(|node| ids.get(&node).copied().unwrap_or(node));
    }
    warnings
}

/// Refuses ids of stored rows that are not rows of this funnel.
fn refuse_foreign_ids(graph: &Graph, stored: &Stored, problems: &mut Vec<Problem>) {
    let nodes: HashSet<_> = stored.nodes.iter().map(|node| node.id).collect();
    for node in graph.nodes().iter().filter(|node| node.id > 0 && !nodes.contains(&node.id)) {
        let message = "no node of this funnel has this id: new nodes have negative ones";
        let path = format!("{}.client_id", node.path());
        problems.push(Problem::new("foreign_node", path, message).of(node.id));
    }
    let edges: HashSet<_> = stored.edges.iter().map(|edge| edge.id).collect();
    for edge in graph.edges().iter().filter(|edge| edge.id > 0 && !edges.contains(&edge.id)) {
        let message = "no edge of this funnel has this id: leave it out for a new one";
        let path = format!("{}.client_id", edge.path());
        problems.push(Problem::new("bad_id", path, message).of(edge.from));
    }
}

/// Writes the funnel over the stored rows. Returns the ids of new nodes by the sent ids.
pub(super) async fn write(
    change: &mut Change,
    funnel: i64,
    stored: &Stored,
    good: &ValidFunnel,
) -> Result<BTreeMap<i64, i64>> {
    let kept: HashSet<_> = good.graph.nodes().iter().map(|node| node.id).collect();
    let before: HashMap<_, _> = stored.nodes.iter().map(|node| (node.id, node)).collect();
    let mut ids = BTreeMap::new();
    // In the order in which they were sent, so that new ids grow in that order.
    let mut nodes: Vec<_> = good.graph.nodes().iter().collect();
    nodes.sort_by_key(|node| node.listed);
    for node in nodes {
        let config = Json::Object(tidied_config(&node.config, &node.condition()));
        if before.get(&node.id).is_some_and(|before| is_same_node(before, node, &config)) {
            continue;
        }
        let id = sql::put_node(change, funnel, node, &config).await?;
        if node.id < 0 {
            ids.insert(node.id, id);
        }
    }
    write_edges(change, funnel, stored, good, &ids).await?;
    for gone in stored.nodes.iter().filter(|node| !kept.contains(&node.id)) {
        change.run_one(sql::DELETE_NODE, args![gone.id]).await?;
    }
    write_rules(change, funnel, stored, &good.rules).await?;
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

/// Writes the edges. An edge without an id takes the row of a stored edge with the same
/// ends and label.
async fn write_edges(
    change: &mut Change,
    funnel: i64,
    stored: &Stored,
    good: &ValidFunnel,
    ids: &BTreeMap<i64, i64>,
) -> Result<()> {
    let mapped = |id: i64| ids.get(&id).copied().unwrap_or(id);
    let mut edges: Vec<Edge> = good.graph.edges().to_vec();
    edges.sort_by_key(|edge| edge.listed);
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
        change.run_one(sql::DELETE_EDGE, args![gone.id]).await?;
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
pub(super) async fn write_rules(
    change: &mut Change,
    funnel: i64,
    stored: &Stored,
    rules: &[Rule],
) -> Result<()> {
    let kept: HashSet<_> = rules.iter().map(|rule| rule.id).collect();
    for gone in stored.rules.iter().filter(|row| !kept.contains(&row.id)) {
        change.run_one(sql::DELETE_RULE, args![gone.id]).await?;
    }
    for rule in rules {
        let rule = tidied_rule(rule);
        let before = stored.rules.iter().find(|row| row.id == rule.id && rule.id > 0);
        if before.is_none_or(|before| Rule::from(before.clone()) != rule) {
            sql::put_rule(change, funnel, &rule).await?;
        }
    }
    Ok(())
}

/// The settings of a node, with its condition tidied: operators in upper case, lists as lists,
/// no empty parts.
fn tidied_config(config: &Map<String, Json>, condition: &Json) -> Map<String, Json> {
    let mut config = config.clone();
    if !condition.is_null() || config.contains_key("rules") {
        for beside in ["operator", "groups"] {
            config.remove(beside);
        }
        config.insert("rules".to_owned(), check(condition).stored);
    }
    let fields = config.get_mut("fields").and_then(Json::as_array_mut);
    for field in fields.into_iter().flatten().filter(|field| field["type"] == "statement") {
        if let Some(Json::String(html)) = field.get_mut("html") {
            *html = sanitize(html);
        }
    }
    config
}

/// A mail rule with its condition tidied. Its HTML was sanitized when the rule was read.
fn tidied_rule(rule: &Rule) -> Rule {
    let condition = rule.condition.as_ref().map(|one| check(one).stored);
    Rule { condition: condition.filter(|one| !one.is_null()), ..rule.clone() }
}

/// A funnel as it is drawn, including its faults.
pub(in crate::funnels) struct Drawing {
    pub(in crate::funnels) header: Header,
    pub(in crate::funnels) graph: Graph,
    pub(in crate::funnels) rules: Vec<EmailRouting>,
}

impl Funnels {
    /// The stored drawing of a funnel.
    pub(in crate::funnels) async fn drawing(&self, which: &WhichFunnel) -> Result<Drawing> {
        let db = self.0.base.db();
        let funnel = self.find(db, which).await?;
        let header = header_of(&funnel)?;
        let Stored { nodes, edges, rules } = Stored::read(db, funnel.id).await?;
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
