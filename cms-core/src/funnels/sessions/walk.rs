//! How a visit goes on: which edges it takes, which answers count. Pure.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value as Json};

use super::super::graph::{Branch, Graph, Node, Step, is_asked};
use crate::{
    conditions::{Condition, Surroundings},
    fields::{Answer, Field},
};

/// A funnel with what its conditions see around the answers.
#[derive(Clone, Copy)]
pub(in crate::funnels) struct Walk<'a> {
    pub(in crate::funnels) graph: &'a Graph,
    /// By the ids of the nodes that branch.
    pub(in crate::funnels) conditions: &'a HashMap<i64, Condition>,
    pub(in crate::funnels) around: &'a Surroundings,
}

/// The way from an answered step.
#[derive(Clone, Debug)]
pub(in crate::funnels) struct Way<'a> {
    /// The ids of the edges, and of the nodes that they leave.
    pub(in crate::funnels) edges: Vec<(i64, i64)>,
    /// The next step or the end; none where no edge leads on, which is an end too.
    pub(in crate::funnels) to: Option<&'a Node>,
}

impl<'a> Walk<'a> {
    /// The way on from a step. Condition nodes are passed.
    pub(in crate::funnels) fn next(&self, from: i64, answers: &Map<String, Json>) -> Way<'a> {
        let (mut way, mut at) = (Way { edges: Vec::new(), to: None }, from);
        // Graphs have no cycles, but a walk ends whatever is stored.
        for _ in self.graph.nodes() {
            let labelled = self.branch(at, answers).and_then(|label| self.graph.edge(at, label));
            let edge = labelled.or_else(|| self.graph.edge(at, Branch::Default));
            let Some(edge) = edge else { break };
            way.edges.push((edge.id, at));
            match self.graph.node(edge.to) {
                Some(node) if node.kind.is_condition() => at = node.id,
                to => {
                    way.to = to;
                    break;
                }
            }
        }
        way
    }

    /// What the node's condition says, if it decides.
    fn branch(&self, node: i64, answers: &Map<String, Json>) -> Option<Branch> {
        let condition = self.graph.branches(node).then(|| self.conditions.get(&node)).flatten()?;
        let holds = condition.evaluate(answers, self.around);
        Some(if holds { Branch::True } else { Branch::False })
    }

    /// The answers that count: those of steps on the path, those that came with the visitor, and
    /// what is computed from them.
    pub(in crate::funnels) fn effective(
        &self,
        path: &[i64],
        stored: &Map<String, Json>,
    ) -> Map<String, Json> {
        let mut counting = Map::new();
        for (node, step) in self.steps() {
            let is_on_path = path.contains(&node.id);
            let counts = |field: &&Field| match field.type_name() {
                "hidden" => true,
                "calculated" => false,
                _ => is_on_path,
            };
            for field in step.fields.iter().filter(counts) {
                for name in field.names() {
                    if let Some((name, value)) = stored.get_key_value(&name) {
                        counting.insert(name.clone(), value.clone());
                    }
                }
            }
        }
        self.graph.compute(path, &mut counting);
        counting
    }

    /// The answers of steps on the path, in its order, then those that nobody gives.
    pub(in crate::funnels) fn answers(
        &self,
        path: &[i64],
        stored: &Map<String, Json>,
    ) -> Vec<Answer> {
        let counting = self.effective(path, stored);
        let on_path = || path.iter().filter_map(|id| self.graph.node(*id)?.step());
        let asked = on_path().flat_map(|step| step.fields.iter().filter(|field| is_asked(field)));
        let others = on_path().chain(self.steps().map(|(_, step)| step));
        let others = others.flat_map(|step| step.fields.iter().filter(|field| !is_asked(field)));
        let mut told = HashSet::new();
        let fields = asked.chain(others).filter(|field| told.insert(field.id()));
        fields.flat_map(|field| field.answered(&counting)).collect()
    }

    fn steps(&self) -> impl Iterator<Item = (&'a Node, &'a Step)> {
        self.graph.nodes().iter().filter_map(|node| Some((node, node.step()?)))
    }

    /// Steps that may still come, with this node.
    pub(in crate::funnels) fn remaining(&self, node: Option<&Node>) -> usize {
        let Some(node) = node else { return 0 };
        self.graph.steps_after(node.id) + usize::from(node.step().is_some())
    }
}
