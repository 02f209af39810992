//! Random funnels. Each step asks for two things, some share a field with a step that excludes
//! them, some name a hidden field.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json, json};

/// SplitMix64.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % end as u64) as usize
    }

    pub fn one_in(&mut self, many: usize) -> bool {
        self.below(many) == 0
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Step,
    Condition,
    End,
}

/// When a node takes its way `true`.
#[derive(Clone, Debug)]
pub enum Rule {
    AtLeast(String, i64),
    /// Holds also for an answer that is missing.
    Not(String, i64),
    Hidden(&'static str),
}

#[derive(Clone, Debug)]
pub struct Node {
    pub kind: Kind,
    /// The ids of the fields that a visitor answers: all take 0 to 3, the first may be required.
    pub fields: Vec<String>,
    pub required: bool,
    pub hidden: bool,
    pub rule: Option<Rule>,
    /// Where `true`, `false` and `default` lead.
    pub ways: [Option<usize>; 3],
}

#[derive(Clone, Debug)]
pub struct Drawn {
    pub slug: String,
    pub nodes: Vec<Node>,
}

impl Drawn {
    pub fn random(random: &mut Random, slug: String) -> Self {
        let count = 3 + random.below(9);
        let mut nodes: Vec<Node> = (0..count).map(|at| node(random, at, count)).collect();
        let beyond: Vec<Vec<bool>> = (0..count).map(|at| reached(&nodes, at)).collect();
        // No two of these lie on one way.
        let mut apart = |takes: &mut dyn FnMut(&mut Node)| {
            let mut taken: Vec<usize> = Vec::new();
            for at in 0..count {
                let is_alone = taken.iter().all(|one| !beyond[*one][at] && !beyond[at][*one]);
                if nodes[at].kind == Kind::Step && is_alone && random.one_in(2) {
                    takes(&mut nodes[at]);
                    taken.push(at);
                }
            }
        };
        apart(&mut |node| node.fields.push("shared".to_owned()));
        apart(&mut |node| node.hidden = true);
        Self { slug, nodes }
    }

    /// As its author sends it: node 0 has the id -1.
    pub fn json(&self) -> Json {
        let id = |at: usize| -(at as i64) - 1;
        let nodes = self.nodes.iter().enumerate().map(|(at, node)| {
            let kind = match node.kind {
                Kind::Step => "step",
                Kind::Condition => "condition",
                Kind::End => "end",
            };
            let mut config = Map::new();
            if node.kind == Kind::Step {
                let fields = node.fields.iter().enumerate().map(|(place, id)| {
                    json!({"id": id, "type": "number", "min": 0, "max": 3,
                           "required": node.required && place == 0})
                });
                let hidden = json!({"id": "source", "type": "hidden", "default": "none"});
                let fields = fields.chain(node.hidden.then_some(hidden));
                config.insert("fields".to_owned(), fields.collect());
            }
            if let Some(rule) = &node.rule {
                let (field, op, value) = match rule {
                    Rule::AtLeast(field, value) => {
                        (field.as_str(), "greater_or_equal", json!(value))
                    }
                    Rule::Not(field, value) => (field.as_str(), "not_equals", json!(value)),
                    Rule::Hidden(value) => ("source", "equals", json!(value)),
                };
                let rule = json!({"rules": [{"field": field, "op": op, "value": value}]});
                config.insert("rules".to_owned(), rule);
            }
            json!({"client_id": id(at), "type": kind, "name": format!("n{at}"),
                   "config_json": config, "sort_order": at})
        });
        let edges = self.nodes.iter().enumerate().flat_map(|(at, node)| {
            let labelled = ["true", "false", "default"].into_iter().zip(node.ways);
            labelled.filter_map(move |(label, to)| {
                let to = id(to?);
                Some(json!({"from_node_id": id(at), "to_node_id": to, "branch_label": label}))
            })
        });
        json!({
            "name": self.slug, "slug": self.slug, "start_node_id": -1, "save_abandoned": 1,
            "nodes": nodes.collect::<Vec<_>>(), "edges": edges.collect::<Vec<_>>(),
        })
    }

    /// The nodes that are left on the way from an answered node, and the next step or end.
    pub fn follow(
        &self,
        from: usize,
        answers: &BTreeMap<String, Json>,
    ) -> (Vec<usize>, Option<usize>) {
        let node = &self.nodes[from];
        let number = |field: &String| answers.get(field).and_then(Json::as_i64);
        let holds = node.rule.as_ref().map(|rule| match rule {
            Rule::AtLeast(field, value) => number(field).is_some_and(|answer| answer >= *value),
            Rule::Not(field, value) => number(field) != Some(*value),
            Rule::Hidden(value) => answers.get("source").is_some_and(|source| source == value),
        });
        let labelled = holds.and_then(|holds| node.ways[usize::from(!holds)]);
        let Some(to) = labelled.or(node.ways[2]) else { return (Vec::new(), None) };
        let (mut left, next) = match self.nodes[to].kind {
            Kind::Condition => self.follow(to, answers),
            _ => (Vec::new(), Some(to)),
        };
        left.insert(0, from);
        (left, next)
    }
}

fn node(random: &mut Random, at: usize, count: usize) -> Node {
    let kind = match random.below(10) {
        _ if at == 0 => Kind::Step,
        _ if at + 1 == count => Kind::End,
        0 => Kind::End,
        1..=3 => Kind::Condition,
        _ => Kind::Step,
    };
    let branches = kind == Kind::Condition || (kind == Kind::Step && random.one_in(4));
    let rule = branches.then(|| {
        let field = format!("a{}", random.below(at + 1));
        let value = random.below(4) as i64;
        match random.below(6) {
            0 => Rule::Hidden(["spring", "none"][random.below(2)]),
            1 => Rule::Not("shared".to_owned(), value),
            2 => Rule::Not(field, value),
            3 => Rule::AtLeast("shared".to_owned(), value),
            _ => Rule::AtLeast(field, value),
        }
    });
    let mut way = |always: bool| {
        // Some ways lead nowhere, which is an end too.
        let leads = kind != Kind::End && (always || !random.one_in(8));
        leads.then(|| at + 1 + random.below(count - at - 1))
    };
    let (holds, fails) = if branches { (way(false), way(false)) } else { (None, None) };
    let ways = [holds, fails, way(kind == Kind::Condition)];
    let fields = match kind {
        Kind::Step => vec![format!("a{at}"), format!("b{at}")],
        _ => Vec::new(),
    };
    Node { kind, fields, required: at % 2 == 1, hidden: false, rule, ways }
}

/// The nodes that some way leads to from a node.
fn reached(nodes: &[Node], from: usize) -> Vec<bool> {
    let mut reached = vec![false; nodes.len()];
    let mut open = vec![from];
    while let Some(at) = open.pop() {
        for to in nodes[at].ways.into_iter().flatten() {
            if !std::mem::replace(&mut reached[to], true) {
                open.push(to);
            }
        }
    }
    reached
}
