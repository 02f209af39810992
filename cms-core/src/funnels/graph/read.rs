//! JSON → graph, with every fault at once. All parts without a fault are read, so that later
//! checks find more faults.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value as Json};

use super::{Branch, Edge, End, EndKind, Graph, Node, NodeKind, Step, shown};
use crate::{Address, fields::Fields, funnels::record::Problem, ground::plain};

/// Maximum number of nodes in a funnel.
const MOST_NODES: usize = 500;
/// Maximum number of edges in a funnel.
const MOST_EDGES: usize = 2000;
/// Maximum number of fields in a step.
const MOST_FIELDS: usize = 100;
/// Maximum characters of a node's name.
const NAME: usize = 200;

/// A funnel as it is sent and stored.
#[derive(Clone, Copy, Debug)]
pub(in crate::funnels) struct GraphInput<'a> {
    pub(in crate::funnels) start: Option<i64>,
    pub(in crate::funnels) nodes: &'a [Json],
    pub(in crate::funnels) edges: &'a [Json],
}

/// Reads a funnel. A node has its id in `client_id` or `id`; edges need no id.
pub(in crate::funnels) fn read(drawn: GraphInput<'_>) -> (Graph, Vec<Problem>) {
    let mut problems = Vec::new();
    for (list, most, named) in
        [(drawn.nodes, MOST_NODES, "nodes"), (drawn.edges, MOST_EDGES, "edges")]
    {
        if list.len() > most {
            let message = format!("at most {most} {named} are expected");
            problems.push(Problem::new("too_large", named, message));
        }
    }
    if !problems.is_empty() {
        return (Graph::new(drawn.start, Vec::new(), Vec::new()), problems);
    }
    let (mut nodes, mut known) = (Vec::new(), HashSet::new());
    for (listed, one) in drawn.nodes.iter().enumerate() {
        let mut faults = Faults { path: format!("nodes[{listed}]"), node: None, found: Vec::new() };
        let id = id_of(one, &mut faults);
        if id.is_some_and(|id| !known.insert(id)) {
            faults.add("duplicate_id", ".client_id", "an earlier node has this id");
        } else if let Some(id) = id {
            faults.node = Some(id);
            nodes.extend(node(id, listed, one, &mut faults));
        }
        problems.extend(faults.found);
    }
    let readable: HashSet<_> = nodes.iter().map(|node| node.id).collect();
    let (mut edges, mut numbered) = (Vec::new(), HashSet::new());
    for (listed, one) in drawn.edges.iter().enumerate() {
        let mut faults = Faults { path: format!("edges[{listed}]"), node: None, found: Vec::new() };
        let found = edge(listed, one, &known, &mut faults);
        problems.extend(faults.found);
        let Some(edge) = found else { continue };
        if edge.id != 0 && !numbered.insert(edge.id) {
            let path = format!("edges[{listed}].client_id");
            problems.push(Problem::new("duplicate_id", path, "an earlier edge has this id"));
        } else if readable.contains(&edge.from) && readable.contains(&edge.to) {
            edges.push(edge);
        }
    }
    // New ones come after stored ones, in the order in which they were sent.
    nodes.sort_by_key(|node| (node.sort_order, node.id <= 0, node.id.max(0), node.listed));
    edges.sort_by_key(|edge| (edge.sort_order, edge.id <= 0, edge.id.max(0), edge.listed));
    (Graph::new(drawn.start, nodes, edges), problems)
}

/// The faults of one node or edge.
struct Faults {
    path: String,
    node: Option<i64>,
    found: Vec<Problem>,
}

impl Faults {
    fn add(&mut self, code: &'static str, at: &str, message: impl Into<String>) {
        let problem = Problem::new(code, format!("{}{at}", self.path), message);
        self.found.push(Problem { node: self.node, ..problem });
    }
}

fn given<'a>(one: &'a Json, name: &str) -> Option<&'a Json> {
    one.get(name).filter(|value| !value.is_null())
}

fn id_of(one: &Json, faults: &mut Faults) -> Option<i64> {
    if !one.is_object() {
        faults.add("bad_config", "", "an object is expected");
        return None;
    }
    let id = given(one, "client_id").or(given(one, "id")).and_then(Json::as_i64);
    let id = id.filter(|id| *id != 0);
    if id.is_none() {
        let message = "the id of a stored node is expected, or a negative number for a new one";
        faults.add("bad_id", ".client_id", message);
    }
    id
}

fn node(id: i64, listed: usize, one: &Json, faults: &mut Faults) -> Option<Node> {
    let name = text(one, "name", faults);
    if name.chars().count() > NAME || plain::problem("", &name).is_some() {
        let message = format!("up to {NAME} characters are expected, no control characters");
        faults.add("bad_config", ".name", message);
    }
    let position = |axis: &str, faults: &mut Faults| match given(one, axis) {
        None => 0.0,
        Some(value) => value.as_f64().filter(|at| at.is_finite()).unwrap_or_else(|| {
            faults.add("bad_config", &format!(".{axis}"), "a number is expected");
            0.0
        }),
    };
    let (position_x, position_y) = (position("position_x", faults), position("position_y", faults));
    let sort_order = sort_order(listed, one, faults);
    let config = match given(one, "config_json") {
        None => Map::new(),
        Some(Json::Object(config)) => config.clone(),
        Some(_) => {
            faults.add("bad_config", ".config_json", "an object is expected");
            Map::new()
        }
    };
    let kind = match given(one, "type").and_then(Json::as_str) {
        Some("step") => NodeKind::Step(step(&config, faults)),
        Some("condition") => NodeKind::Condition,
        Some("end") => NodeKind::End(end(&config, faults)),
        _ => {
            faults.add("unknown_node_type", ".type", "step, condition or end is expected");
            return None;
        }
    };
    if config.get("rules").is_some_and(Json::is_object) && config.contains_key("groups") {
        let message = "groups stand within rules, or rules is a list beside them";
        faults.add("bad_condition", ".config_json.groups", message);
    }
    let shown = shown(id, kind.name(), &name, &config);
    Some(Node { id, name, kind, config, position_x, position_y, sort_order, listed, shown })
}

fn text(one: &Json, name: &str, faults: &mut Faults) -> String {
    match given(one, name) {
        None => String::new(),
        Some(Json::String(text)) => text.clone(),
        Some(_) => {
            faults.add("bad_config", &format!(".{name}"), "a text is expected");
            String::new()
        }
    }
}

fn sort_order(listed: usize, one: &Json, faults: &mut Faults) -> i64 {
    let otherwise = i64::try_from(listed).unwrap_or_default();
    match given(one, "sort_order") {
        None => otherwise,
        Some(value) => value.as_i64().unwrap_or_else(|| {
            faults.add("bad_config", ".sort_order", "a whole number is expected");
            otherwise
        }),
    }
}

fn step(config: &Map<String, Json>, faults: &mut Faults) -> Step {
    let declared = config.get("fields").cloned().unwrap_or(Json::Null);
    let mut list = match declared {
        Json::Null => Vec::new(),
        Json::Array(list) => list,
        _ => {
            faults.add("bad_config", ".config_json.fields", "a list of fields is expected");
            Vec::new()
        }
    };
    if list.len() > MOST_FIELDS {
        let message = format!("at most {MOST_FIELDS} fields are expected in a step");
        faults.add("too_large", ".config_json.fields", message);
        list.clear();
    }
    // Fields with the id of an earlier field are reported apart from fields with a wrong id.
    let (mut seen, mut twice) = (HashMap::new(), HashSet::new());
    for (at, one) in list.iter_mut().enumerate() {
        let Some(id) = one.get("id").and_then(Json::as_str).map(str::to_owned) else { continue };
        if let Some(first) = seen.insert(id.clone(), at) {
            let path = format!(".config_json.fields[{at}]");
            let message = format!("{id:?} is the id of field {first} of this step");
            faults.add("duplicate_field", &path, message);
            twice.insert(format!("[{at}]"));
            *one = Json::Null;
        }
    }
    let (fields, wrong) = Fields::read_good(&list.into());
    for fault in wrong.into_iter().filter(|fault| !twice.contains(&fault.field)) {
        let path = format!(".config_json.fields{}", fault.field);
        faults.add(fault.code, &path, fault.message);
    }
    Step { fields }
}

fn end(config: &Map<String, Json>, faults: &mut Faults) -> End {
    let member = |names: [&'static str; 2]| {
        let found = names.into_iter().find_map(|name| Some((name, config.get(name)?)));
        found.filter(|(_, value)| !value.is_null())
    };
    let kind = match member(["end_kind", "kind"]) {
        None => EndKind::default(),
        Some((name, value)) => {
            let found = EndKind::ALL.into_iter().find(|kind| *value == kind.as_str());
            found.unwrap_or_else(|| {
                let names = EndKind::NAMES.join(", ");
                let message = format!("one of {names} is expected");
                faults.add("bad_config", &format!(".config_json.{name}"), message);
                EndKind::default()
            })
        }
    };
    let redirect_url = member(["redirect_url", "url"]).and_then(|(name, value)| {
        let text = value.as_str().filter(|text| !text.is_empty());
        if let Some(message) = Address::Redirect.problem(value.as_str().unwrap_or_default())
            && (text.is_some() || !value.is_string())
        {
            faults.add("bad_config", &format!(".config_json.{name}"), message);
        }
        // A wrong address is kept: older published versions must lead where they did.
        text.map(str::to_owned)
    });
    End { kind, redirect_url }
}

fn edge(listed: usize, one: &Json, known: &HashSet<i64>, faults: &mut Faults) -> Option<Edge> {
    if !one.is_object() {
        faults.add("bad_config", "", "an object is expected");
        return None;
    }
    let id = match given(one, "client_id").or(given(one, "id")) {
        None => 0,
        Some(id) => id.as_i64().filter(|id| *id != 0).unwrap_or_else(|| {
            let message = "the id of a stored edge is expected, or a negative number for a new one";
            faults.add("bad_id", ".client_id", message);
            0
        }),
    };
    let mut ends = [0, 0];
    for (end, name) in ends.iter_mut().zip(["from_node_id", "to_node_id"]) {
        match given(one, name).and_then(Json::as_i64).filter(|id| known.contains(id)) {
            Some(id) => *end = id,
            None => {
                let message = "the id of one of the funnel's nodes is expected";
                faults.add("edge_missing_node", &format!(".{name}"), message);
            }
        }
    }
    let label = match given(one, "branch_label") {
        None => Some(Branch::Default),
        Some(Json::Bool(true)) => Some(Branch::True),
        Some(Json::Bool(false)) => Some(Branch::False),
        Some(label) => label.as_str().and_then(Branch::named),
    };
    if label.is_none() {
        faults.add("bad_label", ".branch_label", "default, true or false is expected");
    }
    let sort_order = sort_order(listed, one, faults);
    let [from, to] = ends;
    if from == 0 || to == 0 {
        return None;
    }
    if from == to {
        faults.node = Some(from);
        faults.add("self_loop", "", "an edge leads to another node");
        return None;
    }
    Some(Edge { id, from, to, branch: label?, sort_order, listed })
}
