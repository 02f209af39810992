//! Ways through a graph: topological order, cycles, longest ways, reachable nodes. Also the order
//! in which computed fields follow from each other. No function here recurses, and every walk
//! ends, even with cycles.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value as Json};

use super::{Graph, Node};

/// Places of the nodes in topological order: every edge leads onwards. Nodes on cycles, and nodes
/// behind them, are left out.
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
    /// Edges on the longest way from the start to each node, by place; None for a node that
    /// no way reaches.
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

    /// The nodes that a walk from `from` reaches, by place, including `from`. A walk does not go
    /// on from nodes for which `stops` is true.
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

    /// For each place, the places that a walk from it reaches, without the place itself, as bits.
    /// Empty for nodes on cycles.
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

    /// Cycles, each as the ids of its nodes in their order: one for each edge that leads back to a
    /// node of the present walk, at most `most`.
    pub(in crate::funnels) fn cycles(&self, most: usize) -> Vec<Vec<i64>> {
        #[derive(Clone, Copy, PartialEq)]
        enum DfsState {
            Unvisited,
            OnPath,
            Done,
        }
        let mut seen = vec![DfsState::Unvisited; self.nodes.len()];
        let mut cycles = Vec::new();
        for first in 0..self.nodes.len() {
            if seen[first] != DfsState::Unvisited {
                continue;
            }
            // The way so far: places, each with the edges that are still to be followed.
            let mut way = vec![(first, self.next(first).collect::<Vec<_>>())];
            seen[first] = DfsState::OnPath;
            while let Some((place, edges)) = way.last_mut() {
                let Some(to) = edges.pop() else {
                    seen[*place] = DfsState::Done;
                    way.pop();
                    continue;
                };
                match seen[to] {
                    DfsState::Unvisited => {
                        seen[to] = DfsState::OnPath;
                        way.push((to, self.next(to).collect()));
                    }
                    DfsState::OnPath if cycles.len() < most => {
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

    /// Whether the set holds the place.
    pub(in crate::funnels) fn has(&self, place: usize) -> bool {
        self.0[place / 64] & (1 << (place % 64)) != 0
    }
}

/// The places of fields: of the node, and in the node.
type Places = Vec<(usize, usize)>;

/// Computed fields by their ids. Branches that exclude each other may compute the same id.
#[derive(Debug, Default)]
pub(super) struct Computed {
    /// Each field after the fields that it is computed from.
    ordered: Vec<Places>,
    /// Ids of fields that are computed from each other, and of fields computed from such fields.
    circular: Vec<String>,
}

impl Computed {
    pub(super) fn of(nodes: &[Node]) -> Self {
        let mut places: BTreeMap<&str, Places> = BTreeMap::new();
        let mut sources: HashMap<&str, Vec<&str>> = HashMap::new();
        for (place, node) in nodes.iter().enumerate() {
            for (nth, field) in node.fields().enumerate() {
                let Some(names) = field.computed_from() else { continue };
                places.entry(field.id()).or_default().push((place, nth));
                sources.entry(field.id()).or_default().extend(names);
            }
        }
        // For each field, how many computed fields it still waits for, and which
        // fields wait for it.
        let mut waits: HashMap<&str, usize> = places.keys().map(|id| (*id, 0)).collect();
        let mut waiting: HashMap<&str, Vec<&str>> = HashMap::new();
        for (id, names) in &sources {
            for name in names.iter().filter(|name| places.contains_key(*name)) {
                *waits.entry(id).or_default() += 1;
                waiting.entry(name).or_default().push(id);
            }
        }
        let mut order: Vec<&str> = places.keys().copied().filter(|id| waits[id] == 0).collect();
        let mut at = 0;
        while let Some(id) = order.get(at).copied() {
            at += 1;
            for next in waiting.remove(id).unwrap_or_default() {
                let left = waits.entry(next).or_default();
                *left = left.saturating_sub(1);
                if *left == 0 {
                    order.push(next);
                }
            }
        }
        let circular = places.keys().filter(|id| waits[*id] > 0);
        let circular = circular.map(|id| (*id).to_owned()).collect();
        Self { ordered: order.iter().filter_map(|id| places.remove(id)).collect(), circular }
    }
}

impl Graph {
    /// Replaces the values of computed fields, from these answers. When several fields have one
    /// id, the field on the path counts, else the first field.
    pub(in crate::funnels) fn compute(&self, path: &[i64], answers: &mut Map<String, Json>) {
        for places in &self.computed.ordered {
            let is_on_path = |(place, _): &&(usize, usize)| path.contains(&self.nodes[*place].id);
            let place = places.iter().find(is_on_path).or(places.first());
            let field = place.and_then(|(place, nth)| self.nodes[*place].fields().nth(*nth));
            let Some(field) = field else { continue };
            match field.compute(answers) {
                Some(value) => answers.insert(field.id().to_owned(), value),
                None => answers.remove(field.id()),
            };
        }
    }

    /// Ids of computed fields.
    pub(in crate::funnels) fn computed(&self) -> impl Iterator<Item = &str> {
        let places = self.computed.ordered.iter().filter_map(|places| places.first());
        places.filter_map(|(place, nth)| Some(self.nodes[*place].fields().nth(*nth)?.id()))
    }

    /// Ids of computed fields that have no value because they are computed from each other.
    pub(in crate::funnels) fn circular(&self) -> &[String] {
        &self.computed.circular
    }
}
