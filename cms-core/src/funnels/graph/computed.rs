//! Computed fields of a funnel: in which order they follow from each other.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value as Json};

use super::{Graph, Node};

/// The places of fields: of the node, and in the node.
type Places = Vec<(usize, usize)>;

/// Computed fields by their ids. Branches that exclude each other may compute the same id.
#[derive(Debug, Default)]
pub(super) struct Computed {
    /// Each after those that it counts on.
    ordered: Vec<Places>,
    /// Ids that count on each other, and those that count on these.
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
        // How many computed fields each of them still waits for, and who waits for it.
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
    /// Replaces what is computed from these answers. Of fields with one id that counts which
    /// stands on the path, else the first.
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

    /// Ids of computed fields that have no value because they count on each other.
    pub(in crate::funnels) fn circular(&self) -> &[String] {
        &self.computed.circular
    }
}
