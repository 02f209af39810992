//! A funnel as a graph: its nodes, its edges, and what follows from them. Pure.
//!
//! ```text
//! node   a node, what its settings say, what visitors see of it
//! read   JSON → graph, with every fault
//! walk   orders, cycles, longest ways, which computed field follows from which
//! ```

mod node;
mod read;
#[cfg(test)]
mod tests;
mod walk;

use std::collections::HashMap;

pub(crate) use node::{End, EndKind, Node, NodeKind, Step, is_asked};
pub(super) use read::{GraphInput, read};

use crate::{conditions::Condition, fields::Field};

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
