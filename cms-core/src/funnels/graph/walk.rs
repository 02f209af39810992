//! Ways through a graph: an order in which every edge leads onwards, cycles, longest ways, what is
//! reached. Nothing here recurses, and every walk ends, cycles or not.

use super::{Branch, Edge, Graph, Node};

/// Places of the nodes so that every edge leads onwards. Nodes on cycles, and those behind them,
/// are left out.
fn order(graph: &Graph) -> Vec<usize> {
    let mut before = vec![0_usize; graph.nodes.len()];
    for place in 0..graph.nodes.len() {
        graph.next(place).for_each(|to| before[to] += 1);
    }
    let mut order: Vec<_> = (0..before.len()).filter(|place| before[*place] == 0).collect();
    let mut at = 0;
    while let Some(place) = order.get(at).copied() {
        at += 1;
        for to in graph.next(place) {
            before[to] -= 1;
            if before[to] == 0 {
                order.push(to);
            }
        }
    }
    order
}

/// Steps on the longest way after each node, by place.
pub(super) fn steps_after(graph: &Graph) -> Vec<usize> {
    let mut after = vec![0; graph.nodes.len()];
    for place in order(graph).into_iter().rev() {
        let longest = graph.next(place).map(|to| {
            let is_step = graph.nodes[to].step().is_some();
            after[to] + usize::from(is_step)
        });
        after[place] = longest.max().unwrap_or_default();
    }
    after
}

impl Graph {
    /// The edges from a step to the next step or end: condition nodes are passed. `holds` judges
    /// the condition of a node that decides. Nothing where no edge leads on.
    pub(in crate::funnels) fn onwards(
        &self,
        from: i64,
        mut holds: impl FnMut(&Node) -> bool,
    ) -> Vec<&Edge> {
        let (mut way, mut at) = (Vec::new(), self.node(from));
        // Graphs have no cycles, but a walk ends whatever is stored.
        for _ in &self.nodes {
            let Some(node) = at else { break };
            let branch = match self.branches(node.id).then(|| holds(node)) {
                None => Branch::Default,
                Some(true) => Branch::True,
                Some(false) => Branch::False,
            };
            let edge = self.edge(node.id, branch);
            let Some(edge) = edge.or_else(|| self.edge(node.id, Branch::Default)) else { break };
            way.push(edge);
            at = self.node(edge.to).filter(|next| next.kind.is_condition());
        }
        way
    }

    /// Edges on the longest way from the start to each node, by place; none where no way leads.
    pub(in crate::funnels) fn depths(&self) -> Vec<Option<i64>> {
        let mut depths = vec![None; self.nodes.len()];
        if let Some(start) = self.start.and_then(|start| self.place(start)) {
            depths[start] = Some(0);
        }
        for place in order(self) {
            let Some(depth) = depths[place] else { continue };
            for to in self.next(place) {
                depths[to] = depths[to].max(Some(depth + 1));
            }
        }
        depths
    }

    /// Which nodes a walk from `from` comes to, by place, itself included. A walk does not go on
    /// from nodes that `stops` names.
    pub(in crate::funnels) fn reached(
        &self,
        from: &[i64],
        stops: impl Fn(i64) -> bool,
    ) -> Vec<bool> {
        let mut reached = vec![false; self.nodes.len()];
        let mut waiting: Vec<_> = from.iter().filter_map(|id| self.place(*id)).collect();
        waiting.iter().for_each(|place| reached[*place] = true);
        while let Some(place) = waiting.pop() {
            if stops(self.nodes[place].id) {
                continue;
            }
            for to in self.next(place) {
                if !std::mem::replace(&mut reached[to], true) {
                    waiting.push(to);
                }
            }
        }
        reached
    }

    /// For each place the places that a walk comes to from it, itself not included, as bits.
    /// Nothing for nodes on cycles.
    pub(in crate::funnels) fn beyond(&self) -> Vec<Bits> {
        let mut beyond = vec![Bits::of(self.nodes.len()); self.nodes.len()];
        for place in order(self).into_iter().rev() {
            let mut bits = Bits::of(self.nodes.len());
            for to in self.next(place) {
                bits.add(&beyond[to]);
                bits.set(to);
            }
            beyond[place] = bits;
        }
        beyond
    }

    /// Cycles, each as the ids of its nodes in their order: one for each edge that leads back on a
    /// walk through the graph, at most `most`.
    pub(in crate::funnels) fn cycles(&self, most: usize) -> Vec<Vec<i64>> {
        #[derive(Clone, Copy, PartialEq)]
        enum Seen {
            Not,
            OnTheWay,
            Done,
        }
        let mut seen = vec![Seen::Not; self.nodes.len()];
        let mut cycles = Vec::new();
        for first in 0..self.nodes.len() {
            if seen[first] != Seen::Not {
                continue;
            }
            // The way so far: places, each with the edges that are still to be followed.
            let mut way = vec![(first, self.next(first).collect::<Vec<_>>())];
            seen[first] = Seen::OnTheWay;
            while let Some((place, edges)) = way.last_mut() {
                let Some(to) = edges.pop() else {
                    seen[*place] = Seen::Done;
                    way.pop();
                    continue;
                };
                match seen[to] {
                    Seen::Not => {
                        seen[to] = Seen::OnTheWay;
                        way.push((to, self.next(to).collect()));
                    }
                    Seen::OnTheWay if cycles.len() < most => {
                        let on_it = way.iter().skip_while(|(place, _)| *place != to);
                        cycles.push(on_it.map(|(place, _)| self.nodes[*place].id).collect());
                    }
                    _ => {}
                }
            }
        }
        cycles
    }
}

/// A set of places.
#[derive(Clone, Debug)]
pub(in crate::funnels) struct Bits(Vec<u64>);

impl Bits {
    fn of(size: usize) -> Self {
        Self(vec![0; size.div_ceil(64)])
    }

    fn set(&mut self, place: usize) {
        self.0[place / 64] |= 1 << (place % 64);
    }

    fn add(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(own, other)| *own |= other);
    }

    /// Whether the place belongs to it.
    pub(in crate::funnels) fn has(&self, place: usize) -> bool {
        self.0[place / 64] & (1 << (place % 64)) != 0
    }
}
