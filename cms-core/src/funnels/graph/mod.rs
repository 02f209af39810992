//! A funnel as a graph: its nodes, what visitors see of them, its edges, and what follows. Pure.
//!
//! ```text
//! read   JSON → graph, with every fault
//! walk   orders, cycles, longest ways, which computed field follows from which
//! ```

mod read;
#[cfg(test)]
mod tests;
mod walk;

use std::collections::HashMap;

use serde_json::{Map, Value as Json, json};

pub(super) use read::{GraphInput, read};

use crate::{
    conditions::Condition,
    fields::{self, Field, Fields},
    ground::html::sanitize,
};

/// A funnel's nodes and edges. Every edge leads from one of these nodes to another.
#[derive(Debug)]
pub(crate) struct Graph {
    start: Option<i64>,
    nodes: Vec<Node>,
    edges: Vec<Edge>,
    /// The place of each node in `nodes`, by its id.
    at: HashMap<i64, usize>,
    /// The places in `edges` of the edges that leave each node.
    out: Vec<Vec<usize>>,
    /// Steps on the longest way after each node.
    after: Vec<usize>,
    /// By the id of a field: the first step that asks for it, and its place in that step.
    asked: HashMap<String, (usize, usize)>,
    computed: walk::Computed,
}

impl Graph {
    /// `nodes` and `edges` are in their order, ids of nodes are unique, and every edge
    /// has both ends.
    fn new(start: Option<i64>, nodes: Vec<Node>, edges: Vec<Edge>) -> Self {
        let at: HashMap<_, _> = nodes.iter().enumerate().map(|(at, node)| (node.id, at)).collect();
        let mut out = vec![Vec::new(); nodes.len()];
        for (place, edge) in edges.iter().enumerate() {
            out[at[&edge.from]].push(place);
        }
        let mut asked = HashMap::new();
        for (place, node) in nodes.iter().enumerate() {
            for (nth, field) in node.fields().enumerate() {
                asked.entry(field.id().to_owned()).or_insert((place, nth));
            }
        }
        let computed = walk::Computed::of(&nodes);
        let mut graph = Self { start, nodes, edges, at, out, after: Vec::new(), asked, computed };
        graph.after = walk::steps_after(&graph);
        graph
    }

    /// The node that a visit begins with.
    pub(crate) fn start(&self) -> Option<&Node> {
        self.node(self.start?)
    }

    /// The id of the start node, even when no such node exists.
    pub(crate) fn start_id(&self) -> Option<i64> {
        self.start
    }

    /// The node of this id.
    pub(crate) fn node(&self, id: i64) -> Option<&Node> {
        self.at.get(&id).map(|at| &self.nodes[*at])
    }

    /// The nodes, in their order.
    pub(crate) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The edges, in their order.
    pub(crate) fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// The edges that leave a node, in their order.
    pub(crate) fn out(&self, id: i64) -> impl Iterator<Item = &Edge> {
        let places = self.at.get(&id).map_or(&[][..], |at| &self.out[*at]);
        places.iter().map(|place| &self.edges[*place])
    }

    /// The edge that a visit takes on this branch: the first one with this label.
    pub(crate) fn edge(&self, from: i64, branch: Branch) -> Option<&Edge> {
        self.out(from).find(|edge| edge.branch == branch)
    }

    /// Whether the node's condition decides which edge a visit takes.
    pub(crate) fn branches(&self, id: i64) -> bool {
        let is_condition = self.node(id).is_some_and(|node| node.kind.is_condition());
        is_condition || self.out(id).any(|edge| edge.branch != Branch::Default)
    }

    /// The conditions that decide, by the ids of their nodes.
    pub(super) fn conditions(&self) -> HashMap<i64, Condition> {
        let deciding = self.nodes.iter().filter(|node| self.branches(node.id));
        deciding.map(|node| (node.id, Condition::read(&node.condition()))).collect()
    }

    /// Steps on the longest way after this node, without the node itself.
    pub(crate) fn steps_after(&self, id: i64) -> usize {
        self.at.get(&id).map_or(0, |at| self.after[*at])
    }

    /// The first step that asks for the field of this id.
    pub(crate) fn field(&self, id: &str) -> Option<(&Node, &Field)> {
        let (place, nth) = self.asked.get(id)?;
        let node = &self.nodes[*place];
        Some((node, node.fields().nth(*nth)?))
    }

    /// The place of a node among the nodes.
    fn place(&self, id: i64) -> Option<usize> {
        self.at.get(&id).copied()
    }

    /// The places of the nodes that a node's edges lead to.
    fn next(&self, place: usize) -> impl Iterator<Item = usize> {
        self.out[place].iter().map(|edge| self.at[&self.edges[*edge].to])
    }
}

/// The way from a node to the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Edge {
    pub(crate) id: i64,
    pub(crate) from: i64,
    pub(crate) to: i64,
    pub(crate) branch: Branch,
    pub(crate) sort_order: i64,
    /// Its place in the list that it was read from.
    pub(crate) listed: usize,
}

impl Edge {
    /// Its path in the list that it was read from.
    pub(super) fn path(&self) -> String {
        format!("edges[{}]", self.listed)
    }
}

/// When an edge is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Branch {
    /// When no condition decides, or no edge has the label of its result.
    Default,
    /// When the node's condition holds.
    True,
    /// When the node's condition does not hold.
    False,
}

impl Branch {
    pub(crate) const ALL: [Self; 3] = [Self::Default, Self::True, Self::False];

    /// The value of `branch_label`.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::True => "true",
            Self::False => "false",
        }
    }

    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|branch| branch.as_str() == name)
    }
}

/// A node of a funnel.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) id: i64,
    pub(crate) name: String,
    pub(crate) kind: NodeKind,
    /// Its settings as declared.
    pub(crate) config: Map<String, Json>,
    pub(crate) position_x: f64,
    pub(crate) position_y: f64,
    pub(crate) sort_order: i64,
    /// Its place in the list that it was read from.
    pub(crate) listed: usize,
    /// As visitors see it: without conditions and without internal settings.
    pub(crate) shown: Json,
}

/// What a node is.
#[derive(Debug)]
pub(crate) enum NodeKind {
    /// Asks.
    Step(Step),
    /// Decides; visitors never see it.
    Condition,
    /// Ends the visit.
    End(End),
}

/// What a step asks.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) fields: Fields,
}

/// How a visit ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct End {
    pub(crate) kind: EndKind,
    /// Where to lead the visitor.
    pub(crate) redirect_url: Option<String>,
}

/// What an end tells the visitor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum EndKind {
    /// Thanks.
    #[default]
    ThankYou,
    /// Another page.
    Redirect,
    /// That the offer is not for this visitor.
    Disqualified,
    /// A calendar to choose a time from.
    Booking,
}

impl EndKind {
    pub(crate) const ALL: [Self; 4] =
        [Self::ThankYou, Self::Redirect, Self::Disqualified, Self::Booking];
    /// The values of `end_kind`.
    pub(crate) const NAMES: [&'static str; 4] = [
        Self::ThankYou.as_str(),
        Self::Redirect.as_str(),
        Self::Disqualified.as_str(),
        Self::Booking.as_str(),
    ];

    /// The value of `end_kind`.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::ThankYou => "thank_you",
            Self::Redirect => "redirect",
            Self::Disqualified => "disqualified",
            Self::Booking => "booking",
        }
    }
}

impl NodeKind {
    /// The value of `type`.
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Step(_) => "step",
            Self::Condition => "condition",
            Self::End(_) => "end",
        }
    }

    pub(crate) const fn is_condition(&self) -> bool {
        matches!(self, Self::Condition)
    }
}

impl Node {
    /// The step, when the node is one.
    pub(crate) const fn step(&self) -> Option<&Step> {
        match &self.kind {
            NodeKind::Step(step) => Some(step),
            _ => None,
        }
    }

    /// The fields that it asks for.
    pub(crate) fn fields(&self) -> impl Iterator<Item = &Field> {
        self.step().into_iter().flat_map(|step| step.fields.iter())
    }

    /// The end, when the node is one.
    pub(crate) const fn end(&self) -> Option<&End> {
        match &self.kind {
            NodeKind::End(end) => Some(end),
            _ => None,
        }
    }

    /// Its condition; null when it has none. The member `rules` holds a whole condition, or only
    /// the rules of a condition whose other members are beside `rules`.
    pub(crate) fn condition(&self) -> Json {
        match self.config.get("rules") {
            Some(condition @ (Json::Object(_) | Json::String(_))) => condition.clone(),
            None | Some(Json::Null) if !self.config.contains_key("groups") => Json::Null,
            _ => {
                let is_part = |name: &str| ["operator", "rules", "groups"].contains(&name);
                Json::Object(chosen(&self.config, is_part))
            }
        }
    }

    /// How messages name it.
    pub(crate) fn title(&self) -> String {
        match self.name.as_str() {
            "" => format!("the {} {}", self.kind.name(), self.id),
            name => format!("{name:?}"),
        }
    }

    /// Its path in the list that it was read from.
    pub(super) fn path(&self) -> String {
        format!("nodes[{}]", self.listed)
    }

    /// The path of one of its fields in that list.
    pub(super) fn path_of(&self, field: &Field) -> String {
        format!("{}.config_json.fields[{}]", self.path(), field.listed())
    }
}

/// The members of settings whose names are chosen.
fn chosen(config: &Map<String, Json>, is_chosen: impl Fn(&str) -> bool) -> Map<String, Json> {
    let members = config.iter().filter(|(name, _)| is_chosen(name));
    members.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// Whether the visitor answers the field at its step. Hidden fields come with the visitor, and
/// computed fields are computed.
pub(crate) fn is_asked(field: &Field) -> bool {
    !matches!(field.type_name(), "hidden" | "calculated")
}

/// Members of a node's settings that visitors see, beside the fields of a step; `public` holds
/// whatever the page needs. Visitors see no other members.
const PUBLIC: [&str; 6] = ["title", "text", "html", "button_label", "media_id", "public"];
/// Further members of an end that visitors see.
const OF_ENDS: [&str; 4] = ["end_kind", "kind", "redirect_url", "url"];

/// The node as visitors see it. Each field has all settings of its type except the internal ones.
fn shown(id: i64, kind: &str, name: &str, config: &Map<String, Json>) -> Json {
    let is_public = |name: &str| match kind {
        "step" => PUBLIC.contains(&name) || name == "fields",
        "end" => PUBLIC.contains(&name) || OF_ENDS.contains(&name),
        _ => false,
    };
    let mut config = chosen(config, is_public);
    if let Some(Json::String(html)) = config.get_mut("html") {
        *html = sanitize(html);
    }
    if let Some(Json::Array(fields)) = config.get_mut("fields") {
        for declared in fields {
            *declared = fields::for_visitors(declared);
        }
    }
    json!({"id": id, "type": kind, "name": name, "config": config})
}
